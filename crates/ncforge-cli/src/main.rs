//! The `ncforge` command.

fn main() {}
