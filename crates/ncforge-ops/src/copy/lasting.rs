//! How an output is to outlive failures.

/// The time at which the system brings an output to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// Before it gets its name: it outlives a failure of the machine from then on.
    Durable,
    /// In its own time, as with other programs' files. A failing process loses nothing.
    Relaxed,
}
