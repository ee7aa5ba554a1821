//! Failures that the changes of a file survive.

/// The failures that a change of a file survives once `sync` or `close` has returned.
///
/// Each of them is with the system then: nothing that happens to a process takes it away. A failure of the machine does,
/// unless the disk was waited for. That takes 1 to 20 milliseconds each time, and neither netCDF-C nor HDF5 does it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process, however it ends.
    #[default]
    Process,
    /// A failure of the machine, too: data are on disk before what refers to them, and all of it when the call returns.
    Machine,
}

impl Durability {
    /// The environment variable that asks for [`Durability::Machine`] by `1`, whatever a program asks for.
    pub const VARIABLE: &str = "NCFORGE_DURABLE";

    /// The durability of a program that asks for [`Durability::Machine`] or not; the environment may ask for it, too.
    #[must_use]
    pub fn asked(is_durable: bool) -> Self {
        let by_environment =
            || std::env::var_os(Self::VARIABLE).is_some_and(|word| word == "1" || word == "TRUE");
        if is_durable || by_environment() { Durability::Machine } else { Durability::Process }
    }
}
