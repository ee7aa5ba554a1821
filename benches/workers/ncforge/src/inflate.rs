//! The limit of reading compressed chunks: libdeflate alone.

use std::sync::atomic::{AtomicUsize, Ordering};

use libdeflater::Decompressor;
use ncforge::model::{Storage, VarId};
use ncforge::{Buffer, Dataset, Engine};

use crate::answer::{Answer, Clock};
use crate::fields::Fields;
use ncforge_bench::{Error, Result};

/// `inflate`: every chunk of `var`, in memory already, is inflated by libdeflate into a buffer that stays in the
/// cache, on `threads` threads. No unshuffling, no placing, no system call: a bound that nothing which uses
/// libdeflate can pass.
pub(crate) fn inflate(engine: &Engine, request: &Fields<'_>) -> Result<Answer> {
    let data = Dataset::open_with(request.text("path")?, engine)?;
    let var = data.var(request.text("var")?)?;
    let (chunks, size) = stored_chunks(&data, var)?;
    let next = AtomicUsize::new(0);
    let work = || -> Result<u64> {
        let (mut inflater, mut out, mut bytes) = (Decompressor::new(), Buffer::zeroed(size), 0);
        while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
            let inflated = inflater.zlib_decompress(chunk, &mut out);
            bytes += inflated.map_err(|e| Error::Invalid(format!("a chunk does not inflate: {e}")))? as u64;
        }
        Ok(bytes)
    };
    let others = request.number("threads", 1usize)?.saturating_sub(1);
    let clock = Clock::start();
    let bytes: Result<Vec<u64>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..others).map(|_| scope.spawn(work)).collect();
        let own = work();
        let joined = handles.into_iter().map(|h| h.join().expect("a thread that inflates does not panic"));
        [own].into_iter().chain(joined).collect()
    });
    let answer = clock.stop();
    Ok(Answer { bytes: bytes?.iter().sum(), ..answer })
}

/// All chunks of a variable as they are stored, and the bytes of one decoded.
fn stored_chunks(data: &Dataset, var: VarId) -> Result<(Vec<Vec<u8>>, usize)> {
    let schema = data.schema();
    let Storage::Chunked { chunks: lengths, .. } = &schema.var(var).storage else {
        return Err(Error::Invalid("the variable has no chunks".to_owned()));
    };
    let grid: Vec<u64> = schema.shape(var).iter().zip(lengths).map(|(&n, &c)| n.div_ceil(c)).collect();
    let mut stored = Vec::new();
    for n in 0..grid.iter().product() {
        let mut at = vec![0; grid.len()];
        let mut rest = n;
        for (place, &len) in at.iter_mut().zip(&grid).rev() {
            *place = rest % len;
            rest /= len;
        }
        if let Some((bytes, _)) = data.raw_chunk(var, &at)?.encoded() {
            stored.push(bytes.to_vec());
        }
    }
    let size =
        lengths.iter().product::<u64>() as usize * schema.fixed_size(schema.var(var).dtype).unwrap_or(8);
    Ok((stored, size))
}
