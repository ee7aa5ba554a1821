//! How long work tells what it has done, and hears that it shall stop.
//!
//! Work on whole files takes a [`Progress`]; the command draws a bar from it, a library caller may pass
//! [`Silent`]. Totals are bytes of values (what a program would see in memory), not of storage, so that the
//! rate means the same whatever the codec.

/// Receives the state of a piece of work. Called from one or several threads, a few times a second or so for
/// large work.
pub trait Progress: Send + Sync {
    /// The work has this many bytes of values in all. May be called again when a new stage begins.
    fn begin(&self, stage: &str, total: u64);
    /// So many more bytes are done.
    fn advance(&self, bytes: u64);
    /// What is being worked on now: a variable's path.
    fn item(&self, name: &str) {
        let _ = name;
    }
    /// Whether the work shall stop at the next safe point. It then ends with [`ncforge::Error::Interrupted`].
    fn stop(&self) -> bool {
        false
    }
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _stage: &str, _total: u64) {}
    fn advance(&self, _bytes: u64) {}
}

/// The error with which stopped work ends.
pub(crate) fn check_stop(progress: &dyn Progress, what: &str) -> ncforge::Result<()> {
    if progress.stop() { Err(ncforge::Error::Interrupted(what.to_string())) } else { Ok(()) }
}
