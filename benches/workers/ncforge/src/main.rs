//! A process that carries out timed tasks on request: ncforge's side of `benches/`.
//!
//! Every library under comparison runs in a process of its own, so that no two copies of HDF5, and no two states
//! of memory, meet. All of these processes speak one protocol. A request is one line of `key=value` fields
//! separated by tabs, one of which is `do=TASK`; the answer is one line of JSON:
//!
//! * `{"wall": s, "cpu": s, "reads": n, "bytes": n, "checksum": "…"}`: seconds of wall time, processor seconds of
//!   the whole process (user and system, all threads), how many reads or repetitions were timed, the bytes that
//!   were moved, and with `check=1` a checksum of the values;
//! * `{"error": "…"}`.
//!
//! Work before the clock starts (loading the values to be written, touching memory that shall be warm) and
//! after it stops (checksums, releasing results) is not timed. A request with `check=1` is for its checksum; its
//! times may contain the work of it.
//!
//! Threads and memory come from the environment (`NCFORGE_THREADS`, `NCFORGE_MEMORY`) of the process.

mod answer;
mod fields;
mod inflate;
mod opening;
mod reading;
mod worker;
mod writing;

use std::io::{stdin, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let served = worker::Worker::new()
        .map_err(|e| e.to_string())
        .and_then(|mut w| w.serve(stdin().lock(), stdout().lock()).map_err(|e| e.to_string()));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench-worker: {message}");
            ExitCode::FAILURE
        }
    }
}
