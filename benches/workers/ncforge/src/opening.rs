//! Opening: everything that a program learns about a file before it reads values.

use ncforge::{Attribute, Dataset};

use crate::answer::{Answer, Clock, checksum, hex};
use crate::fields::Fields;
use crate::worker::Worker;
use ncforge_bench::Result;

impl Worker {
    /// `open`: open, look at the values of every attribute of every variable, close; `repeat` times.
    pub(crate) fn open(&mut self, request: &Fields<'_>) -> Result<Answer> {
        let path = request.text("path")?;
        let repeat = request.number("repeat", 1u64)?;
        let mut bytes = 0;
        let clock = Clock::start();
        for _ in 0..repeat {
            let data = Dataset::open_with(path, &self.engine)?;
            bytes = 0;
            for id in data.schema().var_ids() {
                bytes += data.schema().var(id).attrs.iter().map(length).sum::<u64>();
            }
        }
        let answer = clock.stop();
        let checksum = if request.flag("check") { self.sum_of_attributes(path)? } else { None };
        Ok(Answer { reads: repeat, bytes, checksum, ..answer })
    }

    /// One checksum over the bytes of all attributes of variables, in order.
    fn sum_of_attributes(&self, path: &str) -> Result<Option<String>> {
        let data = Dataset::open_with(path, &self.engine)?;
        let mut all = Vec::new();
        for id in data.schema().var_ids() {
            for attr in &data.schema().var(id).attrs {
                all.extend_from_slice(attr.values.bytes().unwrap_or_default());
            }
        }
        Ok(hex(checksum(&all)))
    }
}

fn length(attr: &Attribute) -> u64 {
    attr.values.bytes().map_or(0, |b| b.len() as u64)
}
