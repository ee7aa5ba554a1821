//! Zipped files as a user meets them.

mod common;

use common::Folder;

#[test]
fn a_zipped_file_is_used_like_any_other_and_comes_back_to_the_byte() {
    let p = Folder::new();
    let plain = std::fs::read(p.real("uv300.nc")).expect("readable");
    for line in [
        "zip uv300.nc a.ncz -O",
        "zip uv300.nc a.ncz -O --block 4K --codec lz4",
        "zip uv300.nc a.ncz -O --block 1M --codec deflate --level 9",
        "zip uv300.nc a.ncz -O --codec zstd --level 1 -j 3",
    ] {
        p.run(line).exits(0).says("zipped uv300.nc to a.ncz");
        p.run("compare --strict uv300.nc a.ncz").exits(0);
        p.run("verify a.ncz").exits(0).says("all is well");
        p.run("unzip a.ncz b.nc -O").exits(0);
        assert_eq!(std::fs::read(p.path("b.nc")).expect("readable"), plain, "{line}");
    }
    assert_eq!(p.files(), ["a.ncz", "b.nc", "uv300.nc"], "nothing else stays");
    let doc = p.run("info --json a.ncz").exits(0).json()["files"][0].clone();
    assert_eq!(doc["zipped"]["block_bytes"], 16384);
    assert_eq!(doc["zipped"]["image_bytes"], plain.len());
    assert!(doc["variables"].as_array().expect("a list").iter().any(|v| v["storage"]["ratio"].is_number()));
    p.run("info a.ncz").exits(0).prints("zipped: ");
}

#[test]
fn copies_are_zipped_by_their_name() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("copy uv300.nc four.nc -4 --chunks auto --codec deflate --no-history").exits(0);
    p.run("copy four.nc a.ncz --no-history --verify").exits(0);
    p.run("compare uv300.nc a.ncz").exits(0);
    assert_eq!(p.run("info --kind a.ncz").exits(0).out.trim(), "classic");
    p.run("copy a.ncz b.nc --no-history").exits(0);
    p.run("compare a.ncz b.nc").exits(0);
    p.run("unzip b.nc c.nc").exits(2).says("is not zipped");
    p.run("copy uv300.nc x.ncz -4").exits(2).says("a zipped file holds a classic file");
}

#[test]
fn damage_is_told_with_what_it_touches() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("zip uv300.nc a.ncz --block 4K").exits(0);
    let good = std::fs::read(p.path("a.ncz")).expect("readable");
    let mut bad = good.clone();
    let at = good.len() / 2;
    for b in &mut bad[at..at + 600] {
        *b ^= 0x55;
    }
    p.file("bad.ncz", &bad);
    let ran = p.run("verify bad.ncz").exits(3);
    assert!(ran.out.contains("touches") && ran.out.contains("of the image"), "{}", ran.out);
    let doc = p.run("verify --json bad.ncz").exits(3).json();
    assert!(!doc["files"][0]["problems"].as_array().expect("a list").is_empty());
    p.run("unzip bad.ncz b.nc").exits(4).says("checksum");
    assert!(!p.path("b.nc").exists());
    p.file("cut.ncz", &good[..3000]);
    p.run("info cut.ncz").exits(4);
}

#[test]
fn a_cut_file_is_a_cut_one_when_zipped() {
    let p = Folder::new();
    let plain = std::fs::read(p.real("uv300.nc")).expect("readable");
    p.file("cut.nc", &plain[..plain.len() - 5000]);
    p.run("zip cut.nc cut.ncz").exits(0).says("5000 bytes shorter than its header says");
    for file in ["cut.nc", "cut.ncz"] {
        let doc = p.run(&format!("verify --json {file}")).exits(3).json();
        assert_eq!(doc["files"][0]["problems"][0]["kind"], "truncated", "{file}");
    }
}

#[test]
fn a_commit_that_may_be_lost_is_told_and_not_made_final() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("zip uv300.nc a.ncz").exits(0);
    // What a second commit would have begun to write.
    let mut bad = std::fs::read(p.path("a.ncz")).expect("readable");
    bad[..1024].fill(7);
    p.file("a.ncz", &bad);
    let lost = "neither copy of the root at byte 0 can be read";
    p.run("info a.ncz").exits(0).says(lost);
    p.run("verify a.ncz").exits(3).prints(lost);
    p.run("compact a.ncz").exits(4).says(lost).says("ncforge copy");
    assert_eq!(std::fs::read(p.path("a.ncz")).expect("readable"), bad);
    p.run("copy a.ncz b.nc --no-history").exits(0).says(lost);
    p.run("compare uv300.nc b.nc").exits(0);
}

#[test]
fn compacting_changes_no_value() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("zip uv300.nc a.ncz").exits(0);
    let before = std::fs::metadata(p.path("a.ncz")).expect("there").len();
    let doc = p.run("compact --json a.ncz").exits(0).json();
    assert!(doc["output_bytes"].as_u64().expect("a number") <= before);
    p.run("compare uv300.nc a.ncz").exits(0);
    p.run("verify a.ncz").exits(0);
}

#[test]
fn usage() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("zip uv300.nc a.ncz --block 5000").exits(2).says("power of two");
    p.run("zip uv300.nc a.ncz --codec lz4 --level 3").exits(2);
    p.run("zip uv300.nc a.ncz --level 40").exits(2);
    p.run("zip uv300.nc a.ncz").exits(0);
    p.run("zip uv300.nc a.ncz").exits(2).says("exists already");
    p.run("zip a.ncz b.ncz").exits(2).says("zipped already");
    p.run("copy uv300.nc four.nc -4").exits(0);
    p.run("zip four.nc b.ncz").exits(2).says("only classic ones");
    p.run("compact uv300.nc").exits(2).says("is not zipped");
    p.run("compact missing.ncz").exits(4);
}
