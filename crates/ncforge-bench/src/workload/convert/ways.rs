//! The ways in which floats go to a file, and whether they have come there.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use ncforge::codec::kernels::swap_copy;
use ncforge::{Atomic, Format, Hyperslab};

use super::floats::{Floats, bytes};
use crate::c_string::c_string;
use crate::driver::{Access, BlockFile, DimSpec, Driver, FileSpec};
use crate::error::{Error, Result};

/// How floats become bytes of a file.
pub(super) enum How<'a> {
    /// As they lie in memory.
    Raw,
    /// One after the other, byte by byte into a stream.
    Stream,
    /// One after the other into memory, then to disk.
    Memory,
    /// Block by block, then to disk.
    Vectorised,
    /// Through a library, into a file of a format.
    Library(Library<'a>),
}

/// A way that can be gone.
pub(super) struct Way<'a> {
    /// Its name in tables.
    pub(super) name: String,
    how: How<'a>,
}

pub(super) struct Library<'a> {
    writes: &'a dyn Driver,
    /// The library that reads, another one where there is one.
    reads: &'a dyn Driver,
    format: Format,
}

impl Way<'_> {
    fn library(&self) -> Option<&Library<'_>> {
        if let How::Library(l) = &self.how { Some(l) } else { None }
    }

    /// The writer: a library, or "system calls".
    pub(super) fn engine(&self) -> String {
        self.library().map_or_else(|| "system calls".to_owned(), |l| l.writes.name().to_owned())
    }

    /// Its version, where it has one.
    pub(super) fn version(&self) -> String {
        self.library().map_or_else(String::new, |l| l.writes.version())
    }

    /// The format of the file; of ways without one, their name.
    pub(super) fn format(&self) -> &str {
        self.library().map_or(&self.name, |l| format_name(l.format))
    }
}

fn format_name(format: Format) -> &'static str {
    if format.is_classic() { "classic" } else { "netcdf4" }
}

/// All ways: by hand first, then ncforge, then the libraries.
pub(super) fn all<'a>(own: &'a dyn Driver, libraries: &[&'a dyn Driver]) -> Vec<Way<'a>> {
    let by_hand = [
        ("raw", How::Raw),
        ("stream", How::Stream),
        ("memory", How::Memory),
        ("vectorised", How::Vectorised),
    ];
    let mut ways: Vec<Way<'a>> = by_hand.map(|(name, how)| Way { name: name.to_owned(), how }).into();
    for format in [Format::Cdf2, Format::Netcdf4] {
        let is_able = |d: &&dyn Driver| d.refuses(&spec(format, 1), &Access::Alone).is_none();
        let other = libraries.iter().copied().find(is_able).unwrap_or(own);
        let pairs = [(own, other)].into_iter().chain(libraries.iter().map(|l| (*l, own)));
        // HDF5 writes no classic files.
        for (writes, reads) in pairs.filter(|(writes, _)| is_able(writes)) {
            let name = format!("{}, {}", short(writes, libraries), format_name(format));
            ways.push(Way { name, how: How::Library(Library { writes, reads, format }) });
        }
    }
    ways
}

/// A library's name without folders, with its version where another one has the same.
fn short(driver: &dyn Driver, libraries: &[&dyn Driver]) -> String {
    let name = |d: &dyn Driver| d.name().rsplit('/').next().unwrap_or_default().to_owned();
    let own = name(driver);
    let same = libraries.iter().filter(|l| name(**l) == own).count();
    if same > 1 { format!("{own} {}", driver.version()) } else { own }
}

fn spec(format: Format, len: usize) -> FileSpec {
    FileSpec::plain(format, "floats", Atomic::Float, vec![DimSpec::new("n", len as u64, false)])
}

/// Writes the floats, from creating the file to closing it.
pub(super) fn write(way: &Way<'_>, values: &Floats, block: usize, path: &Path) -> Result<()> {
    let said = |e| Error::io("write", path, e);
    let create = || File::create(path).map_err(|e| Error::io("create", path, e));
    match &way.how {
        How::Library(l) => {
            let mut file = l.writes.create(path, &spec(l.format, values.len()), &Access::Alone)?;
            each(values, block, |slab, part| file.write(slab, bytes(part)))?;
            file.close()
        }
        How::Stream => {
            let mut stream = Stream::create(path)?;
            for part in values.blocks(block) {
                put_vector(&mut stream, part).map_err(said)?;
            }
            stream.close().map_err(said)
        }
        How::Memory => {
            let mut file = create()?;
            let mut memory = Memory { bytes: vec![0; block * 4], at: 0 };
            for part in values.blocks(block) {
                memory.at = 0;
                put_vector(&mut memory, part).map_err(said)?;
                file.write_all(&memory.bytes[..memory.at]).map_err(said)?;
            }
            Ok(())
        }
        How::Vectorised => {
            let mut file = create()?;
            let mut converted = vec![0; block * 4];
            for part in values.blocks(block) {
                let out = &mut converted[..part.len() * 4];
                big_endian(bytes(part), out);
                file.write_all(out).map_err(said)?;
            }
            Ok(())
        }
        How::Raw => {
            let mut file = create()?;
            values.blocks(block).try_for_each(|part| file.write_all(bytes(part)).map_err(said))
        }
    }
}

/// Whether the file holds the floats, all of them and in order. Files of libraries are read by another library.
pub(super) fn holds(way: &Way<'_>, values: &Floats, block: usize, path: &Path) -> Result<bool> {
    // No float of ours has these bytes.
    const POISON: u8 = 0xFF;
    let mut out = vec![POISON; block * 4];
    let mut expected = vec![0; block * 4];
    if let How::Library(l) = &way.how {
        let mut file: Box<dyn BlockFile> =
            l.reads.open_blocks(path, &spec(l.format, values.len()), &Access::Alone)?;
        let mut same = true;
        each(values, block, |slab, part| {
            let out = &mut out[..part.len() * 4];
            out.fill(POISON);
            file.read(slab, out)?;
            same &= out == bytes(part);
            Ok(())
        })?;
        file.close()?;
        return Ok(same);
    }
    let said = |e| Error::io("read", path, e);
    let mut file = File::open(path).map_err(|e| Error::io("open", path, e))?;
    for part in values.blocks(block) {
        let (out, expected) = (&mut out[..part.len() * 4], &mut expected[..part.len() * 4]);
        match way.how {
            How::Raw => expected.copy_from_slice(bytes(part)),
            _ => expected.iter_mut().zip(part.iter().flat_map(|v| v.to_be_bytes())).for_each(|(e, b)| *e = b),
        }
        match file.read_exact(out) {
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(false),
            done => done.map_err(said)?,
        }
        if out != expected {
            return Ok(false);
        }
    }
    Ok(file.read(&mut out[..1]).map_err(said)? == 0)
}

fn each(values: &Floats, block: usize, mut f: impl FnMut(&Hyperslab, &[f32]) -> Result<()>) -> Result<()> {
    let mut first = 0;
    for part in values.blocks(block) {
        f(&Hyperslab::new(&[first], &[part.len() as u64]), part)?;
        first += part.len() as u64;
    }
    Ok(())
}

/// All at once.
fn big_endian(native: &[u8], out: &mut [u8]) {
    if cfg!(target_endian = "big") {
        out.copy_from_slice(native);
    } else {
        swap_copy(native, out, 4);
    }
}

/// The receiver of words of a portable routine of the old kind, one by one. What is behind it is not known to the caller, as in XDR, whose
/// streams carry a table of functions.
trait Sink {
    fn put(&mut self, word: u32) -> std::io::Result<()>;
}

/// As XDR's `xdr_vector` calls `xdr_float` for every value, by its address.
#[inline(never)]
fn put_vector(sink: &mut dyn Sink, values: &[f32]) -> std::io::Result<()> {
    type Put = fn(&mut dyn Sink, f32) -> std::io::Result<()>;
    // An address that the compiler cannot see through, as in C where it comes from another library.
    let put: Put = std::hint::black_box(put_float);
    values.iter().try_for_each(|&v| put(sink, v))
}

#[inline(never)]
fn put_float(sink: &mut dyn Sink, value: f32) -> std::io::Result<()> {
    sink.put(value.to_bits())
}

/// Memory that words are put into.
struct Memory {
    bytes: Vec<u8>,
    at: usize,
}

impl Sink for Memory {
    #[inline(never)]
    fn put(&mut self, word: u32) -> std::io::Result<()> {
        let slot = self.bytes.get_mut(self.at..self.at + 4).ok_or(std::io::ErrorKind::WriteZero)?;
        slot.copy_from_slice(&word.to_be_bytes());
        self.at += 4;
        Ok(())
    }
}

/// A stream of the C library, which takes bytes one by one.
struct Stream {
    file: *mut libc::FILE,
}

impl Stream {
    fn create(path: &Path) -> Result<Self> {
        let name = c_string(path)?;
        // SAFETY: two strings that end with zero.
        let file = unsafe { libc::fopen(name.as_ptr(), c"w".as_ptr()) };
        if file.is_null() {
            return Err(Error::io("create", path, std::io::Error::last_os_error()));
        }
        Ok(Stream { file })
    }

    /// Writes what waits in the stream.
    fn close(mut self) -> std::io::Result<()> {
        let file = std::mem::replace(&mut self.file, std::ptr::null_mut());
        // SAFETY: an open stream, which nobody uses any more.
        if unsafe { libc::fclose(file) } == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.file.is_null() {
            // SAFETY: as above. An error was reported before.
            unsafe { libc::fclose(self.file) };
        }
    }
}

impl Sink for Stream {
    #[inline(never)]
    fn put(&mut self, word: u32) -> std::io::Result<()> {
        for byte in word.to_be_bytes() {
            // SAFETY: an open stream.
            if unsafe { libc::fputc(i32::from(byte), self.file) } == libc::EOF {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::NcforgeDriver;

    #[test]
    fn all_ways_write_the_floats_and_a_wrong_byte_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let own = NcforgeDriver::new(Some(1), None);
        let values = Floats::new(5000, 3);
        let ways = all(&own, &[]);
        let mut sizes = Vec::new();
        for way in &ways {
            let path = dir.path().join(&way.name);
            write(way, &values, 777, &path).unwrap();
            assert!(holds(way, &values, 777, &path).unwrap(), "{}", way.name);
            sizes.push(std::fs::metadata(&path).unwrap().len());
            // The last byte of the file is one of the last float, in every format.
            let mut content = std::fs::read(&path).unwrap();
            *content.last_mut().unwrap() ^= 1;
            std::fs::write(&path, &content).unwrap();
            assert!(!holds(way, &values, 777, &path).unwrap(), "{}", way.name);
        }
        assert_eq!(sizes[..4], [20_000; 4]);
        let stream = std::fs::read(dir.path().join("stream")).unwrap();
        assert!(stream == std::fs::read(dir.path().join("memory")).unwrap());
        assert!(stream == std::fs::read(dir.path().join("vectorised")).unwrap());
    }
}
