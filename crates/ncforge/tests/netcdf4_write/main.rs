//! Files that ncforge writes through [`ncforge::raw::ContainerMut`], judged by everybody else.

mod crash;
mod damage;
mod logged;
mod make;
mod peers;
mod power;
#[path = "../random/mod.rs"]
mod random;
mod update;

use std::path::Path;

fn judged(name: &str, make: impl Fn(&Path)) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(format!("{name}.nc"));
    make(&path);
    let again = dir.path().join("again.nc");
    make(&again);
    assert!(std::fs::read(&path).unwrap() == std::fs::read(&again).unwrap(), "the same bytes every time");
    peers::tools_accept(&path, name == "all");
    peers::check(name, &path);
}

#[test]
fn every_type_is_read_by_others() {
    judged("all", make::all);
}

#[test]
fn a_thousand_variables_are_read_by_others() {
    judged("many", |p| make::many(p, 1000));
}

#[test]
fn a_hundred_thousand_chunks_are_read_by_others() {
    judged("chunks", |p| make::chunks(p, 100_000));
}

#[test]
fn nothing_is_read_by_others() {
    judged("empty", make::empty);
}

#[test]
fn attributes_larger_than_a_header_message_are_read_by_others() {
    judged("large", make::large);
}

/// The list of users of a shared dimension grows past 64 KiB.
#[test]
fn a_dimension_with_thousands_of_users_is_read_by_others() {
    judged("shared", make::shared);
}
