//! `ncforge compare`: what differs first, where, and the exit codes.

mod common;

use common::Folder;

#[test]
fn a_changed_value_is_found_and_shown() {
    let p = Folder::new();
    let mut bytes = std::fs::read(p.real("uv300.nc")).expect("readable");
    // The last value of the last variable.
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    p.file("other.nc", &bytes);
    p.run("compare uv300.nc uv300.nc").exits(0);
    let ran = p
        .run("compare uv300.nc other.nc")
        .exits(3)
        .prints("V: 1 of 16384 values differ, first at [1, 63, 127]");
    assert!(ran.out.contains(" | ") && ran.out.contains("; largest difference "), "{}", ran.out);
    p.run("compare uv300.nc other.nc --tolerance 0.001").exits(0);
    p.run("compare uv300.nc other.nc --vars U,lat").exits(0);
    let doc = p.run("compare --json uv300.nc other.nc").exits(3).json();
    assert_eq!(doc["same"], false);
    assert_eq!(doc["differences"][0]["kind"], "values");
    assert_eq!(doc["differences"][0]["index"], serde_json::json!([1, 63, 127]));
    assert_eq!(doc["differences"][0]["differing"], 1);
    assert_eq!(doc["differences"][0]["largest_absolute"]["index"], serde_json::json!([1, 63, 127]));
    assert_eq!(doc["schema"], "ncforge.compare");
    assert_eq!(p.run("compare --json uv300.nc uv300.nc").exits(0).json()["same"], true);
}

#[test]
fn storage_does_not_count_and_metadata_does() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("copy uv300.nc a.nc -4 --chunks auto --codec deflate").exits(0);
    p.run("compare uv300.nc a.nc").exits(0).says("the same");
    p.run("compare a.nc uv300.nc").exits(0);
    let text = std::fs::read(p.path("uv300.nc")).expect("readable");
    let at = text.windows(7).position(|w| w == b"degrees").expect("units");
    let mut other = text.clone();
    other[at] = b'D';
    p.file("b.nc", &other);
    p.run("compare uv300.nc b.nc").exits(3).prints("units: values differ: \"degrees");
}

#[test]
fn usage_and_missing_files() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("compare uv300.nc").exits(2);
    p.run("compare uv300.nc none.nc").exits(4).says("none.nc");
    p.run("compare uv300.nc uv300.nc --tolerance -1").exits(2);
    p.run("compare uv300.nc uv300.nc --vars nothing").exits(2).says("nothing");
}
