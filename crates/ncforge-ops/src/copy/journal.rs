//! The finished steps of a copy, so that it can be taken up again after an interruption or a crash.
//!
//! A text file in the output's folder, one JSON value a line. The first says what the copy is: the state of the source,
//! the plan's identity, the line of history. Each further line is one finished step, in order, with the places of
//! the chunks that it stored. A line is written only after the bytes it speaks of were synced, so whatever the
//! journal says is true after a crash; a last line that was cut short is dropped.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use serde::{Deserialize, Serialize};

use super::identity::Identity;
use super::storage::Chosen;
use ncforge::raw::ChunkRecord;
use ncforge::{Error, Op, Result};

/// The identity of the journal's copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Version of this format.
    pub(crate) journal: u32,
    /// The source when the copy began.
    pub(crate) source: Identity,
    /// [`super::plan::Plan::identity`].
    pub(crate) plan: u64,
    /// The line that was put in front of `history`.
    pub(crate) history: Option<String>,
    /// The chunk shapes and codecs that were chosen, by path: the machine may be calibrated anew before the copy goes
    /// on.
    #[serde(default)]
    pub(crate) chosen: Chosen,
}

/// The version that is written and understood.
pub(crate) const VERSION: u32 = 5;

/// A finished step: which, and the chunks it stored in row-major order (`None`: not stored).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Position of the variable in the plan.
    pub(crate) var: usize,
    /// The box.
    pub(crate) at: u64,
    /// Bytes of the unfinished output.
    pub(crate) bytes: u64,
    /// Offset, length, filter mask of each chunk; absent for variables without chunks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) chunks: Vec<Option<(u64, u64, u32)>>,
}

impl Step {
    /// A chunk's record as the journal holds it.
    pub(crate) fn noted(r: Option<ChunkRecord>) -> Option<(u64, u64, u32)> {
        r.map(|r| (r.offset, r.len, r.mask))
    }

    /// And back.
    pub(crate) fn record_of(r: Option<(u64, u64, u32)>) -> Option<ChunkRecord> {
        r.map(|(offset, len, mask)| ChunkRecord { offset, len, mask })
    }
}

/// An open journal.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    name: String,
}

impl Journal {
    /// Reads a journal; `None` if it holds no copy that could be taken up.
    pub(crate) fn read(mut file: File) -> Option<(Header, Vec<Step>)> {
        let mut text = String::new();
        file.seek(SeekFrom::Start(0)).ok()?;
        file.read_to_string(&mut text).ok()?;
        let mut lines = text.split_inclusive('\n').filter(|l| l.ends_with('\n'));
        let header: Header = serde_json::from_str(lines.next()?).ok()?;
        if header.journal != VERSION {
            return None;
        }
        Some((header, lines.map_while(|l| serde_json::from_str(l).ok()).collect()))
    }

    /// Begins a journal anew, with the steps that are done already.
    pub(crate) fn begin(file: File, name: String, header: &Header, done: &[Step]) -> Result<Journal> {
        let mut j = Journal { file, name };
        let head = serde_json::to_string(header).map_err(|e| j.failed(e.into()))? + "\n";
        (|| {
            j.file.set_len(0)?;
            j.file.seek(SeekFrom::Start(0))?;
            j.file.write_all(head.as_bytes())
        })()
        .map_err(|e| j.failed(e))?;
        // One that says of nothing yet that it is done may be lost: the copy begins anew then.
        if !done.is_empty() {
            j.commit(done.iter().cloned().map(Ok))?;
        }
        Ok(j)
    }

    /// Writes steps one after the other: all of them at once would take more memory than the small chunks that they list.
    /// Call it when their bytes are durable.
    pub(crate) fn commit(&self, steps: impl Iterator<Item = Result<Step>>) -> Result<()> {
        for step in steps {
            let line = serde_json::to_string(&step?).expect("a step is plain data") + "\n";
            (&self.file).write_all(line.as_bytes()).map_err(|e| self.failed(e))?;
        }
        self.file.sync_data().map_err(|e| self.failed(e))
    }

    fn failed(&self, e: std::io::Error) -> Error {
        Error::io(Op::Write, &self.name, e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        let open =
            || File::options().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        std::fs::write(dir.path().join("s"), b"abc").unwrap();
        let source = Identity::of(&dir.path().join("s")).unwrap();
        let header = Header {
            journal: VERSION,
            source,
            plan: u64::MAX,
            history: Some("x".into()),
            chosen: Chosen::default(),
        };
        let j = Journal::begin(open(), "j".into(), &header, &[]).unwrap();
        let steps: Vec<Step> =
            (0..3).map(|at| Step { var: 0, at, bytes: 9, chunks: vec![Some((at, 5, 0)), None] }).collect();
        j.commit(steps.iter().cloned().map(Ok)).unwrap();
        assert_eq!(Journal::read(open()), Some((header.clone(), steps.clone())));
        let len = path.metadata().unwrap().len();
        open().set_len(len - 3).unwrap();
        assert_eq!(Journal::read(open()), Some((header, steps[..2].to_vec())));
        open().set_len(4).unwrap();
        assert_eq!(Journal::read(open()), None);
    }
}
