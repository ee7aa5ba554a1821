//! `ncforge bench`.

mod common;

use common::Folder;
use ncforge_tune::{Calibration, Machine};

#[test]
fn access_reads_files_in_turn_and_compares_their_values() {
    let p = Folder::new();
    p.real("uv300.nc");
    let ran =
        p.run("bench access uv300.nc uv300.nc --repetitions 2").exits(0).prints("series").prints("right");
    assert!(ran.err.is_empty(), "{}", ran.err);
    let doc = p.run("bench access uv300.nc --patterns map --json --var U --seed 3").exits(0).json();
    let section = &doc["sections"][0];
    assert_eq!(section["rows"].as_array().expect("rows").len(), 1);
    assert_eq!(section["rows"][0]["measurements"].as_array().expect("times").len(), 5);
    assert_eq!(section["rows"][0]["facts"]["block_shape"], "1:64:128");
    assert_eq!(section["detail"]["rows"][0]["count"], serde_json::json!([1, 64, 128]));
    let csv = p.run("bench access uv300.nc --patterns map --csv --var U").exits(0);
    assert_eq!(csv.out.lines().count(), 6, "{}", csv.out);
    p.run("bench access uv300.nc --csv --json").exits(2).says("stdout");
}

#[test]
fn different_values_exit_3() {
    let p = Folder::new();
    let mut bytes = std::fs::read(p.real("uv300.nc")).expect("readable");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    p.file("other.nc", &bytes);
    p.run("bench access uv300.nc other.nc --var V --patterns full").exits(3).prints("WRONG");
}

#[test]
fn mistakes_are_told() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("bench").exits(2);
    p.run("bench access uv300.nc --var nothing").exits(2).says("nothing");
    p.run("bench access uv300.nc --repetitions 0").exits(2);
    p.run("bench access no.nc").exits(4).says("no.nc");
}

#[test]
fn chunks_are_swept_and_judged() {
    let p = Folder::new();
    p.real("uv300.nc");
    let shapes = "--shapes 1,64,128;2,16,16 --repetitions 1 --deflate 1";
    p.run(&format!("bench chunks uv300.nc --var U {shapes}"))
        .exits(0)
        .prints("series:")
        .prints("shuffle deflate 1");
    p.run(&format!("bench chunks uv300.nc --var U {shapes} --csv"))
        .exits(0)
        .prints("chunk_shape")
        .prints("slab");
    // A calibration as `tune calibrate` keeps it: measuring takes longer than all else here.
    Calibration::new(Machine::default(), None)
        .store(&p.path("machine.json"))
        .expect("a calibration can be kept");
    let doc =
        p.run(&format!("bench chunks uv300.nc --var U {shapes} --regret --for map --json")).exits(0).json();
    assert_eq!(doc["sections"][0]["detail"]["mixes"][0]["mix"], "map", "one section for each driver");
    let doc = p.run(&format!("bench chunks uv300.nc --var U {shapes} --json")).exits(0).json();
    assert_eq!(
        doc["sections"][0]["rows"].as_array().expect("rows").len(),
        6,
        "classic and two shapes, slab and series"
    );
    p.run("bench chunks uv300.nc --shapes 0,1").exits(2).says("chunk shape");
    p.run("bench chunks uv300.nc --library nowhere.so").exits(2).says("nowhere.so");
    p.run("bench chunks uv300.nc --for map").exits(2);
}

#[test]
fn records_are_stored_in_many_ways() {
    let p = Folder::new();
    let small =
        "--records 400 --reads 20 --stations 3 --years 2 --repetitions 1 --blocks 4K,16K --chunks 64,1024";
    let ran = p.run(&format!("bench records {small}")).exits(0);
    for text in ["zipped:16K:lz4", "nc4:64:zstd=4", "random again", "create empty", "× classic"] {
        assert!(ran.out.contains(text), "{text}");
    }
    let doc = p.run(&format!("bench records {small} --only network --json")).exits(0).json();
    let sections = doc["sections"].as_array().expect("sections");
    assert_eq!(sections.len(), 1);
    assert_eq!(sections[0]["workload"], "records-network");
    assert_eq!(sections[0]["rows"][0]["phase"], "create empty");
    let csv = p.run(&format!("bench records {small} --only station --csv --library netcdf-c"));
    // Machines without netCDF-C say so.
    if csv.code == Some(0) {
        assert!(csv.out.starts_with("schema,run_id,case,rep,phase,engine,") && csv.out.contains("netcdf-c"));
    } else {
        csv.exits(2);
    }
    p.run("bench records --blocks 5000").exits(2).says("power of two");
    p.run("bench records --records 5").exits(2);
    assert!(p.files().is_empty(), "nothing stays");
}

#[test]
fn tiles_are_combined_by_all_and_beside_cat() {
    let p = Folder::new();
    let small = "bench combine --shape 2,2,40,60 --tiles 3x2 --chunks 16,16 --repetitions 1";
    // A program that takes the first tile for the whole.
    p.run(&format!("{small} --tool plain:copy=cp${{IFS}}{{first}}${{IFS}}{{out}}")).exits(3).prints("WRONG");
    let doc = p.run(&format!("{small} --json")).exits(0).json();
    let rows = doc["sections"][0]["rows"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 10, "cat and ncforge in five phases");
    let csv = p.run(&format!("{small} --tool find --csv")).exits(0);
    assert!(csv.out.lines().count() >= 11, "{}", csv.out);
    p.run("bench combine --preset orca025 --shape 1,3,30,40 --tiles 2x2 --repetitions 1")
        .exits(0)
        .prints("34 to 85 % land");
    p.run(&format!("{small} --land 0.1,0.2,0.3")).exits(2);
    let right = |r: &serde_json::Value| r["case"] == "cat" || r["measurements"][0]["right"] == true;
    assert!(rows.iter().all(right), "{rows:?}");
    p.run(&format!("{small} --tool nothing")).exits(2);
    p.run("bench combine --shape 1,2").exits(2);
}
