//! ncforge's worker process of `benches/`, see [`ncforge_bench::worker`].

use std::io::{stdin, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let served = ncforge_bench::worker::Worker::new()
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
