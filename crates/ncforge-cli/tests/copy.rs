//! `ncforge copy`: options, exit codes, what is left behind.

mod common;

use common::Folder;
use serde_json::Value;

fn storage(p: &Folder, file: &str, var: &str) -> Value {
    let doc = p.run(&format!("info --json {file}")).exits(0).json()["files"][0].clone();
    let vars = doc["variables"].as_array().expect("a list");
    vars.iter().find(|v| v["name"] == var).expect(var)["storage"].clone()
}

#[test]
fn every_format_and_codec_compares_equal() {
    let p = Folder::new();
    p.real("uv300.nc");
    for (options, kind) in [
        ("", "classic"),
        ("--format classic", "classic"),
        ("-3", "classic"),
        ("--format cdf2", "64-bit offset"),
        ("-5", "cdf5"),
        ("--format netcdf4", "netCDF-4"),
        ("-7 --codec deflate --level 9", "netCDF-4 classic model"),
        ("-4 --codec zstd --chunks auto --fletcher32", "netCDF-4"),
        ("-4 --codec deflate --no-shuffle --chunks lat/16,lon/32", "netCDF-4"),
    ] {
        let ran = p.run(&format!("copy uv300.nc out.nc -O --verify {options}")).exits(0).says("verified");
        assert!(ran.out.is_empty(), "messages are for stderr: {}", ran.out);
        p.run("info --kind out.nc").exits(0).prints(&format!("{kind}\n"));
        p.run("compare uv300.nc out.nc").exits(0);
    }
    assert_eq!(p.files(), ["out.nc", "uv300.nc"]);
}

#[test]
fn rechunk_chooses_shapes_where_copy_keeps_them() {
    let p = Folder::new();
    p.real("navy_winds.nc");
    let chunks = |file: &str| storage(&p, file, "UWND")["chunks"].clone();
    let before = chunks("navy_winds.nc");
    for options in ["", "--for series", "--chunks TIME/132,FNOCY/10,FNOCX/10"] {
        p.run(&format!("rechunk navy_winds.nc rechunked.nc -O --verify {options}")).exits(0).says("verified");
        let auto = if options.is_empty() { "--chunks auto" } else { options };
        p.run(&format!("copy navy_winds.nc copied.nc -O {auto}")).exits(0);
        assert_ne!(chunks("rechunked.nc"), before, "{options}");
        assert_eq!(chunks("rechunked.nc"), chunks("copied.nc"), "{options}");
    }
    p.run("copy navy_winds.nc kept.nc").exits(0);
    assert_eq!(chunks("kept.nc"), before);
    let help = p.run("rechunk --help").exits(0).out;
    let at = |option: &str| help.find(option).expect(option);
    assert!(at("--for <READS>") < at("--format"), "the first option is the question: {help}");
}

#[test]
fn storage_is_as_asked() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("copy uv300.nc a.nc -4 --codec deflate --level 3 --chunks U:1,16,32 --fletcher32 -q").exits(0);
    let s = storage(&p, "a.nc", "U");
    assert_eq!(s["chunks"], serde_json::json!([1, 16, 32]));
    let ids: Vec<u64> =
        s["filters"].as_array().expect("filters").iter().map(|f| f["id"].as_u64().expect("id")).collect();
    assert_eq!(ids, [2, 1, 3]);
    // Variables that are kept are moved as they are.
    let plan = p.run("copy a.nc b.nc --dry-run --json").exits(0).json();
    let u = plan["variables"].as_array().expect("list").iter().find(|v| v["name"] == "U").expect("U").clone();
    assert_eq!(u["route"], "raw");
    // The name says that it is going to be zipped, which a plan knows as well as a copy.
    let plan = p.run("copy a.nc b.ncz --dry-run --json").exits(0).json();
    let done = p.run("copy a.nc b.ncz --json").exits(0).json();
    assert_eq!((&plan["format"], &plan["variables"][0]["route"]), (&done["format"], &"boxes".into()));
    p.run("copy a.nc b.nc --codec none --chunks /").exits(0);
    assert_eq!(storage(&p, "b.nc", "U")["layout"], "contiguous");
    p.run("compare uv300.nc b.nc").exits(0);
}

#[test]
fn codecs_are_chosen_by_goal() {
    let p = Folder::new();
    p.real("uv300.nc");
    let plan = p.run("copy uv300.nc a.nc -4 --codec auto --goal small --dry-run --json").exits(0).json();
    let of = |name: &str| {
        let vars = plan["variables"].as_array().expect("list");
        vars.iter().find(|v| v["name"] == name).expect(name)["codec"].clone()
    };
    let tried = of("U")["tried"].as_array().expect("tried").len();
    // More levels of the better family only.
    assert!((5..=7).contains(&tried), "none, levels of deflate, each with shuffle and without: {tried}");
    assert_eq!(of("lat")["method"], "none");
    let text = p.run("copy uv300.nc a.nc -4 --codec auto --dry-run").exits(0).out;
    assert!(text.contains("balanced") && text.contains("tried besides"), "{text}");
    p.run("copy uv300.nc a.nc -4 --codec auto --goal small --verify").exits(0);
    assert_eq!(storage(&p, "a.nc", "U")["layout"], "chunked");
    p.run("compare uv300.nc a.nc").exits(0);
    p.run("copy uv300.nc b.nc -4 --codec auto --goal fast-read --storage local --verify").exits(0);
    p.run("copy uv300.nc c.nc -4 --codec deflate --goal small").exits(2).says("--codec auto");
    p.run("copy uv300.nc c.nc -4 --codec auto --level 3").exits(2).says("level");
}

#[test]
fn some_variables_only() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("copy uv300.nc a.nc --vars U,lat").exits(0);
    let doc = p.run("info --json a.nc").exits(0).json()["files"][0].clone();
    let names: Vec<&str> = doc["variables"]
        .as_array()
        .expect("list")
        .iter()
        .map(|v| v["name"].as_str().expect("name"))
        .collect();
    assert_eq!(names, ["lat", "U"]);
    p.run("compare uv300.nc a.nc --vars U,lat").exits(0);
    p.run("compare uv300.nc a.nc").exits(3);
    p.run("copy uv300.nc b.nc --vars nothing").exits(2).says("no variable `nothing`");
    assert_eq!(p.files(), ["a.nc", "uv300.nc"]);
}

#[test]
fn history_gets_the_command_line_unless_told_not_to() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("copy uv300.nc a.nc -q").exits(0);
    p.run("info --header a.nc").exits(0).prints("Z: ").prints("copy uv300.nc a.nc -q");
    p.run("compare uv300.nc a.nc").exits(0);
    p.run("compare --strict uv300.nc a.nc").exits(3).prints("history");
    p.run("copy uv300.nc b.nc --no-history").exits(0);
    p.run("compare --strict uv300.nc b.nc").exits(0);
}

#[test]
fn outputs_that_exist_are_refused() {
    let p = Folder::new();
    let before = std::fs::read(p.real("uv300.nc")).expect("readable");
    p.file("out.nc", b"precious");
    p.run("copy uv300.nc out.nc").exits(2).says("exists already").says("hint: give -O");
    assert_eq!(std::fs::read(p.path("out.nc")).expect("readable"), b"precious");
    p.run("copy uv300.nc uv300.nc").exits(2).says("it is the input itself");
    assert_eq!(std::fs::read(p.path("uv300.nc")).expect("readable"), before);
    p.run("copy uv300.nc kept.nc").exits(0);
    p.run("copy uv300.nc uv300.nc -O -4 --codec deflate --chunks auto").exits(0);
    p.run("compare kept.nc uv300.nc").exits(0);
    p.run("copy uv300.nc .").exits(2).says("directory");
    p.run("copy uv300.nc nowhere/out.nc").exits(2).says("cannot create");
    assert_eq!(p.files(), ["kept.nc", "out.nc", "uv300.nc"]);
}

#[test]
fn inputs_that_cannot_be_read_exit_4() {
    let p = Folder::new();
    p.file("text.nc", b"this is not a netCDF file, it is text");
    p.file("empty.nc", b"");
    for name in ["text.nc", "empty.nc", "missing.nc", "."] {
        p.run(&format!("copy {name} out.nc")).exits(4).says("ncforge: ");
        p.run(&format!("compare {name} {name}")).exits(4);
    }
    assert_eq!(p.files(), ["empty.nc", "text.nc"]);
}

#[test]
fn what_a_format_cannot_hold_is_named() {
    let p = Folder::new();
    p.real("nc4uvt.nc");
    p.real("uv300.nc");
    p.run("copy nc4uvt.nc out.nc -5").exits(1).says("cannot hold group `/grp1`");
    p.run("copy uv300.nc out.nc --codec deflate").exits(1).says("--format netcdf4");
    // The format was asked for, too: it wins, and that is reported.
    p.run("copy uv300.nc out.nc -3 --codec deflate").exits(0).says("warning: ");
    p.run("copy uv300.nc out.nc -O -4 --chunks lat").exits(2).says("chunk specification");
    p.run("copy uv300.nc out.nc -O -4 --chunks nothing/5").exits(2).says("no dimension `nothing`");
    p.run("copy uv300.nc out.nc -O -4 --codec deflate --level 12").exits(2).says("level 12");
    p.run("copy uv300.nc out.nc -O -4 --codec none --level 5").exits(2).says("level 5");
    // The filters that are kept are deflate: levels of zstd do not apply.
    p.run("copy uv300.nc d.nc -4 --codec deflate").exits(0);
    p.run("copy d.nc out.nc -O --level 15").exits(2).says("levels 0 to 9");
}

#[test]
fn a_dry_run_does_nothing() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("copy uv300.nc out.nc -n -4 --chunks auto --codec deflate")
        .exits(0)
        .prints("boxes")
        .prints("memory: ");
    let plan = p.run("copy uv300.nc out.nc -n --json -4 --chunks auto").exits(0).json();
    assert_eq!(plan["format"], "netCDF-4");
    assert!(plan["totals"]["values_bytes"].as_u64().expect("bytes") > 0);
    assert_eq!(p.files(), ["uv300.nc"]);
    let report = p.run("copy uv300.nc out.nc --json").exits(0).json();
    assert_eq!(report["input_bytes"], report["input_bytes"]);
    assert_eq!(report["verified"], false);
}

#[test]
fn resume_of_nothing_copies_and_of_the_whole_does_nothing() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("copy uv300.nc out.nc --resume").exits(0);
    p.run("copy uv300.nc out.nc --resume").exits(0).says("complete already");
    p.run("copy uv300.nc out.nc --resume -4").exits(2).says("exists already");
}

#[test]
fn progress_can_be_json() {
    let p = Folder::new();
    p.real("uv300.nc");
    let ran = p.run("copy uv300.nc out.nc --progress json --verify").exits(0);
    let first = ran.err.lines().next().expect("a line");
    let doc: Value = serde_json::from_str(first).expect("JSON");
    assert_eq!(doc["stage"], "copy");
}
