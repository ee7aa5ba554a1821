//! The process between requests, and which task answers which.

use std::io::{BufRead, Write};

use ncforge::{Buffer, Engine, EngineOptions};
use ncforge_bench::{Error, Result};

use crate::answer::Answer;
use crate::fields::Fields;
use crate::inflate::inflate;

/// The state of the process between requests.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) engine: Engine,
    /// The source that was loaded last, and its values.
    pub(crate) source: Option<(String, Vec<u8>)>,
    /// Memory that stays mapped, for reads into warm memory.
    pub(crate) warm: Buffer,
}

impl Worker {
    /// A worker with an engine as the environment says.
    pub(crate) fn new() -> Result<Self> {
        let engine = Engine::new(EngineOptions::default())?;
        Ok(Self { engine, source: None, warm: Buffer::zeroed(0) })
    }

    /// Answers requests until the input ends.
    pub(crate) fn serve(&mut self, input: impl BufRead, mut output: impl Write) -> std::io::Result<()> {
        for line in input.lines() {
            let reply = self.reply(&line?);
            serde_json::to_writer(&mut output, &reply)?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
        Ok(())
    }

    /// Sees to it that `bytes` of warm memory are there, every page of them touched.
    pub(crate) fn warm_up(&mut self, bytes: usize) {
        if self.warm.len() < bytes {
            self.warm = Buffer::zeroed(bytes);
            self.warm.fill(1);
        }
    }

    fn reply(&mut self, line: &str) -> serde_json::Value {
        let answer = Fields::parse(line).and_then(|request| match request.text("do")? {
            "hello" => Ok(serde_json::json!({"name": "ncforge", "version": env!("CARGO_PKG_VERSION")})),
            _ => self.task(&request).map(|answer| serde_json::json!(answer)),
        });
        answer.unwrap_or_else(|e| serde_json::json!({"error": e.to_string()}))
    }

    fn task(&mut self, request: &Fields<'_>) -> Result<Answer> {
        // Nothing decoded for an earlier request may answer this one.
        self.engine.clear_cache();
        match request.text("do")? {
            "read" => self.read(request),
            "slabs" => self.slabs(request),
            "write" => self.write(request),
            "open" => self.open(request),
            "inflate" => inflate(&self.engine, request),
            "evict" => {
                let path = std::path::Path::new(request.text("path")?);
                ncforge_bench::cache::evict(path)?;
                Ok(Answer { resident: Some(ncforge_bench::cache::resident(path)?), ..Answer::default() })
            }
            other => Err(Error::Invalid(format!("no task `{other}`"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{checksum, combine, hex};

    #[test]
    fn checksums_are_those_of_the_protocol() {
        assert_eq!(checksum(&[]), 0);
        assert_eq!(checksum(&[1, 0, 0, 0, 0, 0, 0, 0, 2]), 1 + 2 * 3);
        assert_eq!(combine([5, 7]), 5 + 21);
    }

    #[test]
    fn a_failed_request_is_answered_and_the_next_served() {
        let mut out = Vec::new();
        let requests = "do=read\tpath=/no/such/file\tvar=v\nnonsense\ndo=hello\n";
        Worker::new().unwrap().serve(requests.as_bytes(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("{\"error\":") && lines[1].starts_with("{\"error\":"));
        assert!(lines[2].contains("\"name\":\"ncforge\""));
    }

    #[test]
    fn what_is_written_is_read_back_in_every_way() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        let values: Vec<u8> = (0..4 * 6 * 5 * 4u32).map(|i| (i * 7 % 251) as u8).collect();
        std::fs::write(at("raw"), &values).unwrap();
        let slabs: Vec<u8> = [0u64, 0, 0, 6, 5, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
        std::fs::write(at("slabs"), slabs).unwrap();
        let mut worker = Worker::new().unwrap();
        let mut ask = |line: String| worker.task(&Fields::parse(&line).unwrap()).unwrap();
        for durable in [0, 1] {
            for storage in
                ["format=cdf5", "format=netcdf4", "format=netcdf4\tchunks=4,5,2\tdeflate=1\tshuffle=1"]
            {
                let path = at("new.nc");
                let source = at("raw");
                ask(format!(
                    "do=write\tpath={path}\tvar=v\tsource={source}\ttype=f4\tshape=6,5,4\tdurable={durable}\t{storage}"
                ));
                let whole = ask(format!("do=read\tpath={path}\tvar=v\tcheck=1"));
                assert_eq!(whole.checksum, hex(checksum(&values)), "{storage}");
                let slabs = ask(format!("do=slabs\tpath={path}\tvar=v\tcheck=1\tslabs={}", at("slabs")));
                assert_eq!((slabs.checksum, slabs.reads, slabs.bytes), (whole.checksum, 1, 480));
                assert_eq!(ask(format!("do=open\tpath={path}")).reads, 1);
                if storage.contains("deflate") {
                    assert_eq!(ask(format!("do=inflate\tpath={path}\tvar=v\tthreads=2")).bytes, 4 * 4 * 40);
                }
            }
        }
    }
}
