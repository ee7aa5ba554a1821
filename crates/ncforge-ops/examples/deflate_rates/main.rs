//! How fast deflate encodes and decodes chunks, and how small it makes them, compared with zlib and libdeflate.
//!
//! ```text
//! cargo run --release -p ncforge-ops --example deflate_rates -- [FIELD…|FILE.nc…] [--levels 1,4] [--chunk 1048576]
//!     [--bytes 8388608] [--no-shuffle] [--sizes] [--json]
//! ```
//! For every generated kind of field (or those whose names begin with FIELD), and every variable of the files:
//! the size of all chunks in parts of zlib's at the same level, and the rates in MB of raw data a second of this
//! thread's processor time, the three encoders by turns, best of a few rounds. `--sizes` leaves the rates out.

#[path = "../../../ncforge-codec/tests/fields/mod.rs"]
mod fields;

use std::io::{Read, Write};

use fields::FIELDS;
use flate2::Compression;
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use ncforge::codec::{CodecChain, filters};
use ncforge::{Dataset, Hyperslab};

const ROUNDS: usize = 5;

struct Options {
    levels: Vec<u32>,
    chunk: usize,
    bytes: usize,
    shuffle: bool,
    sizes: bool,
    json: bool,
    names: Vec<String>,
}

fn main() -> ncforge::Result<()> {
    let options = options();
    if !options.json {
        println!(
            "{:<28} {:>2} {:>10} {:>8} | {:>7} {:>7} {:>7} MB/s in | {:>7} {:>7} MB/s out (ours, zlib's stream)",
            "data", "L", "ratio", "of zlib", "ours", "zlib", "libdefl", "ours", "zlib's"
        );
    }
    let files = options.names.iter().filter(|n| std::path::Path::new(n).is_file());
    let kinds: Vec<_> = options.names.iter().filter(|n| !std::path::Path::new(n).is_file()).collect();
    for field in FIELDS {
        let asked = kinds.iter().any(|k| field.name.starts_with(k.as_str()));
        if asked || options.names.is_empty() {
            report(field.name, &(field.make)(options.bytes / field.size), field.size, &options)?;
        }
    }
    for file in files {
        let data = Dataset::open(file)?;
        let schema = data.schema();
        for var in schema.var_ids() {
            let Some(size) = schema.fixed_size(schema.var(var).dtype) else { continue };
            let slab = Hyperslab::all(&schema.shape(var));
            let mut bytes = vec![0; slab.len() as usize * size];
            data.read_bytes(var, &slab, &mut bytes)?;
            bytes.truncate(options.bytes);
            if bytes.len() < 1024 {
                continue;
            }
            let stem = std::path::Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
            let name: String = format!("{stem}{}", schema.var_path(var)).chars().take(28).collect();
            report(&name, &bytes, size, &options)?;
        }
    }
    Ok(())
}

fn options() -> Options {
    let mut options = Options {
        levels: vec![1, 4],
        chunk: 1 << 20,
        bytes: 8 << 20,
        shuffle: true,
        sizes: false,
        json: false,
        names: Vec::new(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|n| n.parse().ok()).unwrap_or_else(|| usage());
        match arg.as_str() {
            "--chunk" => options.chunk = number(),
            "--bytes" => options.bytes = number(),
            "--levels" => {
                let list = args.next().unwrap_or_default();
                options.levels = list.split(',').map(|l| l.parse().unwrap_or_else(|_| usage())).collect();
            }
            "--no-shuffle" => options.shuffle = false,
            "--sizes" => options.sizes = true,
            "--json" => options.json = true,
            _ if arg.starts_with('-') => usage(),
            _ => options.names.push(arg),
        }
    }
    options
}

fn usage() -> ! {
    eprintln!(
        "usage: deflate_rates [FIELD|FILE.nc]… [--levels 1,4] [--chunk BYTES] [--bytes BYTES] [--no-shuffle] \
         [--sizes] [--json]"
    );
    std::process::exit(2);
}

fn report(name: &str, raw: &[u8], size: usize, options: &Options) -> ncforge::Result<()> {
    let shuffle = options.shuffle && size > 1;
    let chunks: Vec<&[u8]> = raw.chunks((options.chunk / size * size).max(size)).collect();
    let shuffled = CodecChain::new(&[filters::shuffle(size)], size)?;
    let planes: Vec<Vec<u8>> = if shuffle {
        chunks.iter().map(|c| Ok(shuffled.encode(c)?.0)).collect::<ncforge::Result<_>>()?
    } else {
        chunks.iter().map(|c| c.to_vec()).collect()
    };
    for &level in &options.levels {
        let steps = match shuffle {
            true => vec![filters::shuffle(size), filters::deflate(level)],
            false => vec![filters::deflate(level)],
        };
        let chain = CodecChain::new(&steps, size)?;
        let libdeflate_level = CompressionLvl::new(level as i32).expect("a level of zlib's");
        let mut libdeflate = Compressor::new(libdeflate_level);
        let mut buffer = vec![0; libdeflate.zlib_compress_bound(options.chunk.max(size))];
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut best = [f64::MAX; 5];
        for round in 0..if options.sizes { 1 } else { ROUNDS } {
            best[0] = best[0].min(time(|| {
                ours = chunks.iter().map(|c| chain.encode(c).expect("deflate encodes anything").0).collect();
            }));
            // zlib is an order slower, and steadier: two rounds are enough.
            if round < 2 {
                best[1] = best[1].min(time(|| theirs = planes.iter().map(|c| zlib(c, level)).collect()));
            }
            if options.sizes {
                break;
            }
            best[2] = best[2].min(time(|| {
                for c in &planes {
                    libdeflate.zlib_compress(c, &mut buffer).expect("the bound is enough");
                }
            }));
            let mut inflate = Decompressor::new();
            for (best, streams) in best[3..].iter_mut().zip([&ours, &theirs]) {
                *best = best.min(time(|| {
                    for (s, c) in streams.iter().zip(&planes) {
                        inflate.zlib_decompress(s, &mut buffer[..c.len()]).expect("a whole stream");
                    }
                }));
            }
        }
        for (stream, c) in ours.iter().zip(&planes) {
            let mut back = Vec::new();
            flate2::read::ZlibDecoder::new(&stream[..]).read_to_end(&mut back).expect("zlib reads it");
            assert!(back == *c, "{name}: level {level} does not come back");
        }
        let total = |streams: &[Vec<u8>]| streams.iter().map(Vec::len).sum::<usize>();
        let (ours, theirs) = (total(&ours), total(&theirs));
        let rate = best.map(|seconds| raw.len() as f64 / 1e6 / seconds);
        if options.json {
            println!(
                "{{\"data\":{name:?},\"level\":{level},\"raw\":{},\"size\":{ours},\"zlib_size\":{theirs},\
                 \"encode\":{:.1},\"zlib_encode\":{:.1},\"libdeflate_encode\":{:.1},\
                 \"decode\":{:.1},\"decode_of_zlib\":{:.1}}}",
                raw.len(),
                rate[0],
                rate[1],
                rate[2],
                rate[3],
                rate[4]
            );
        } else {
            println!(
                "{name:<28} {level:>2} {:>10.3} {:>8.4} | {:>7.0} {:>7.0} {:>7.0}         | {:>7.0} {:>7.0}",
                raw.len() as f64 / ours as f64,
                ours as f64 / theirs as f64,
                rate[0],
                rate[1],
                rate[2],
                rate[3],
                rate[4]
            );
        }
    }
    Ok(())
}

fn zlib(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

/// Seconds of this thread's processor time.
fn time(work: impl FnOnce()) -> f64 {
    let start = thread_seconds();
    work();
    thread_seconds() - start
}

fn thread_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes into `t`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}
