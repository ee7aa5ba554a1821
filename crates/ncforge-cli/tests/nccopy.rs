//! `ncforge nccopy`: nccopy's options mean what they mean there.

mod common;

use common::Folder;
use serde_json::Value;

fn info(p: &Folder, name: &str) -> Value {
    p.run(&format!("info --json {name}")).exits(0).json()["files"][0].clone()
}

fn storage<'a>(doc: &'a Value, name: &str) -> &'a Value {
    let vars = doc["variables"].as_array().expect("a list");
    &vars.iter().find(|v| v["name"] == name).expect(name)["storage"]
}

#[test]
fn every_kind_is_written() {
    let p = Folder::new();
    p.real("uv300.nc");
    for (option, kind) in [
        ("-3", "classic"),
        ("-6", "64-bit offset"),
        ("-5", "cdf5"),
        ("-4", "netCDF-4"),
        ("-7", "netCDF-4 classic model"),
        ("-knc4", "netCDF-4"),
        ("-k hdf5-nc3", "netCDF-4 classic model"),
    ] {
        p.run(&format!("nccopy {option} uv300.nc out.nc")).exits(0);
        p.run("info --kind out.nc").exits(0).prints(&format!("{kind}\n"));
        p.run("compare uv300.nc out.nc").exits(0);
    }
    p.run_words(&["nccopy", "-k", "64-bit offset", "uv300.nc", "out.nc"]).exits(0);
    p.run("nccopy -k nonsense uv300.nc out.nc").exits(2).says("nonsense").says("hint: ");
}

#[test]
fn deflate_and_chunks_make_netcdf4_classic() {
    let p = Folder::new();
    p.real("uv300.nc");
    let ran = p.run("nccopy -d 5 -s -c lat/16,lon/32 -m 10M -h 1M -e 1009 -w -r uv300.nc out.nc").exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let doc = info(&p, "out.nc");
    assert_eq!(doc["format"], "netCDF-4 classic model");
    let u = storage(&doc, "U");
    assert_eq!(u["filters"][0]["name"], "shuffle");
    assert_eq!(u["filters"][1]["params"], serde_json::json!([5]));
    let chunks = u["chunks"].as_array().expect("chunked");
    assert_eq!(chunks[chunks.len() - 2..], [16, 32]);
    // No history is written, nothing else changes.
    p.run("compare uv300.nc out.nc").exits(0);
    // -d without -s does not shuffle; -d 0 turns deflate off.
    p.run("nccopy -d1 out.nc out2.nc").exits(0);
    assert_eq!(storage(&info(&p, "out2.nc"), "U")["filters"].as_array().expect("a list").len(), 1);
    p.run("nccopy -d0 out.nc out3.nc").exits(0);
    assert_eq!(storage(&info(&p, "out3.nc"), "U")["filters"], serde_json::json!([]));
    // Without options chunks and filters stay.
    p.run("nccopy out.nc out4.nc").exits(0);
    assert_eq!(storage(&info(&p, "out4.nc"), "U")["filters"], u["filters"]);
    assert_eq!(storage(&info(&p, "out4.nc"), "U")["chunks"], u["chunks"]);
}

#[test]
fn filters_are_named_or_numbered_or_none() {
    let p = Folder::new();
    p.real("navy_winds.nc");
    p.run_words(&["nccopy", "-F", "UWND,shuffle|zstd,3", "navy_winds.nc", "z.nc"]).exits(0);
    let doc = info(&p, "z.nc");
    assert_eq!(storage(&doc, "UWND")["filters"][1]["id"], 32015);
    p.run_words(&["nccopy", "-F", "none", "z.nc", "n.nc"]).exits(0);
    assert_eq!(storage(&info(&p, "n.nc"), "UWND")["filters"], serde_json::json!([]));
    p.run("compare navy_winds.nc n.nc").exits(0);
    p.run_words(&["nccopy", "-F", "UWND,nonsense", "z.nc", "n.nc"]).exits(2).says("nonsense");
}

#[test]
fn variables_are_chosen() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("nccopy -V U,lat uv300.nc v.nc").exits(0);
    let doc = info(&p, "v.nc");
    let names: Vec<&str> =
        doc["variables"].as_array().expect("a list").iter().filter_map(|v| v["name"].as_str()).collect();
    assert_eq!(names, ["lat", "U"]);
    assert_eq!(doc["dimensions"], info(&p, "uv300.nc")["dimensions"], "all dimensions stay");
    p.run("nccopy -v U uv300.nc d.nc").exits(0);
    let all = info(&p, "uv300.nc")["variables"].as_array().expect("a list").len();
    assert_eq!(info(&p, "d.nc")["variables"].as_array().expect("a list").len(), all);
    p.run("nccopy -v nonsense uv300.nc d.nc").exits(2).says("nonsense");
}

#[test]
fn unlimited_dimensions_become_fixed() {
    let p = Folder::new();
    p.real("sst30e_netcdf.nc");
    p.run("nccopy -u sst30e_netcdf.nc u.nc").exits(0);
    let doc = info(&p, "u.nc");
    assert!(doc["dimensions"].as_array().expect("a list").iter().all(|d| d["unlimited"] == false));
}

#[test]
fn help_names_every_option_of_nccopy() {
    let p = Folder::new();
    let help = p.run("nccopy --help").exits(0);
    for letter in "k3456 7dscuwvVgGmheMLrF".chars().filter(|c| c.is_alphanumeric()) {
        assert!(help.out.contains(&format!("  -{letter}")), "-{letter}");
    }
    // A link of that name is nccopy.
    p.real("uv300.nc");
    let link = p.path("nccopy");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ncforge"), &link).expect("a link");
    let output = std::process::Command::new(&link)
        .args(["-7", "uv300.nc", "linked.nc"])
        .current_dir(link.parent().expect("a folder"))
        .output()
        .expect("it runs");
    common::Ran::of("-7".into(), &output).exits(0);
    p.run("info --kind linked.nc").exits(0).prints("netCDF-4 classic model");
}
