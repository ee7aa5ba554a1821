//! `ncforge info` on real files.

mod common;

use common::Folder;

#[test]
fn the_header_is_followed_by_a_table() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("info uv300.nc").exits(0).prints("netcdf uv300 {\n").prints("\n// storage:\n").prints("contiguous");
    let header = p.run("info --header uv300.nc").exits(0);
    assert!(header.out.ends_with("}\n") && !header.out.contains("_Format"), "{}", header.out);
    p.run("info -s uv300.nc").exits(0).prints("\t\t:_Format = \"classic\" ;\n}\n");
    let table = p.run("info --storage uv300.nc").exits(0);
    assert!(table.out.lines().all(|l| l.starts_with("//")), "{}", table.out);
    p.run("info --header --name x.y uv300.nc").exits(0).prints("netcdf x.y {\n");
}

#[test]
fn storage_of_chunked_variables_is_counted() {
    let p = Folder::new();
    p.real("navy_winds.nc");
    let doc = p.run("info --json navy_winds.nc").exits(0).json()["files"][0].clone();
    assert_eq!(doc["format"], "netCDF-4");
    let size = std::fs::metadata(p.path("navy_winds.nc")).expect("there").len();
    assert_eq!(doc["file_bytes"], size);
    let vars = doc["variables"].as_array().expect("a list");
    let wind = vars.iter().find(|v| v["name"] == "UWND").expect("the wind");
    assert_eq!(wind["shape"], serde_json::json!([132, 73, 144]));
    let storage = &wind["storage"];
    assert_eq!(storage["chunks"], serde_json::json!([1, 73, 144]));
    assert_eq!(storage["chunks_stored"], 132);
    assert_eq!(storage["chunks_possible"], 132);
    assert_eq!(storage["filters"][0]["name"], "shuffle");
    assert_eq!(storage["filters"][1]["name"], "deflate");
    assert_eq!(storage["filters"][1]["params"], serde_json::json!([1]));
    assert_eq!(storage["logical_bytes"], 132 * 73 * 144 * 4);
    let stored = storage["stored_bytes"].as_u64().expect("a number");
    assert!(stored > 1_000_000 && stored < size, "{stored}");
    p.run("info navy_winds.nc").exits(0).prints("132 chunks of 1 x 73 x 144, shuffle, deflate level 1");
}

#[test]
fn attributes_survive_json() {
    let p = Folder::new();
    // CDF-5 by hand: global attributes of type int64 (2^53 + 1) and float (NaN).
    let mut file = b"CDF\x05".to_vec();
    file.extend(0u64.to_be_bytes()); // records
    file.extend([0; 12]); // no dimensions
    file.extend(12u32.to_be_bytes());
    file.extend(2u64.to_be_bytes());
    for (name, kind, value) in
        [(b"big_", 10u32, &((1i64 << 53) + 1).to_be_bytes()[..]), (b"nan_", 5, &f32::NAN.to_be_bytes()[..])]
    {
        file.extend(4u64.to_be_bytes());
        file.extend(name);
        file.extend(kind.to_be_bytes());
        file.extend(1u64.to_be_bytes());
        file.extend(value);
    }
    file.extend([0; 12]); // no variables
    p.file("a.nc", &file);
    let ran = p.run("info --json a.nc").exits(0);
    assert!(ran.out.contains("9007199254740993"), "{}", ran.out);
    let attrs = &ran.json()["files"][0]["groups"][0]["attributes"];
    assert_eq!(attrs[1]["value"], serde_json::json!(["NaN"]));
    p.run("info --header a.nc").exits(0).prints(":big_ = 9007199254740993LL ;").prints(":nan_ = NaNf ;");
}

/// `ncdump`'s output, if it is installed and opens the file.
fn ncdump(options: &str, path: &std::path::Path) -> Option<Vec<u8>> {
    let out = std::process::Command::new("ncdump").arg(options).arg(path).output().ok()?;
    out.status.success().then_some(out.stdout)
}

#[test]
fn headers_are_those_of_ncdump() {
    let p = Folder::new();
    let mut compared = 0;
    for name in
        ["binned_GSHHS_c.nc", "etopo60.cdf", "navy_winds.nc", "nc4uvt.nc", "sst30e_netcdf.nc", "uv300.nc"]
    {
        let path = p.real(name);
        for (theirs, ours) in [("-h", "--header"), ("-hs", "-s")] {
            let Some(expected) = ncdump(theirs, &path) else { continue };
            let ran = p.run(&format!("info {ours} {name}")).exits(0);
            assert_eq!(ran.out, String::from_utf8_lossy(&expected), "{name} {ours}");
            compared += 1;
        }
    }
    eprintln!("{compared} headers compared with ncdump");
}
