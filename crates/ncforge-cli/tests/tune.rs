//! `ncforge tune`.

mod common;

use common::Folder;

/// Impossible reads are a mistake of who types them, whichever command is asked.
#[test]
fn reads_and_lengths_that_make_no_sense_are_usage() {
    let p = Folder::new();
    p.real("nc4uvt.nc");
    let commands = [
        "copy nc4uvt.nc out.nc --for",
        "tune chunks nc4uvt.nc --for",
        "doctor nc4uvt.nc --for",
        "info nc4uvt.nc --html page.html --for",
    ];
    for command in commands {
        p.run(&format!("{command} nonsense")).exits(2).says("`nonsense`").says("hint: ");
        p.run(&format!("{command} map=0")).exits(2).says("`0` is not a weight");
        p.run(&format!("{command} nodim=3")).exits(2).says("nodim").says("no ").says("dimension");
    }
    for command in ["copy nc4uvt.nc out.nc --for map --expect", "tune chunks nc4uvt.nc --expect"] {
        let said = p.run(&format!("{command} nodim=3")).exits(2);
        said.says("no unlimited dimension `nodim` in `nc4uvt.nc`");
        p.run(&format!("{command} nodim")).exits(2).says("time=3650");
    }
}

#[test]
fn chunks_are_chosen_with_reasons() {
    let p = Folder::new();
    p.real("uv300.nc");
    let before = std::fs::read(p.path("uv300.nc")).expect("readable");
    p.run("tune chunks uv300.nc --vars U").exits(0).prints("chunks of").prints("series: ").prints("map: ");
    let doc = p.run("tune chunks uv300.nc --vars U --for map --no-sample --json").exits(0).json();
    assert_eq!(doc["variables"][0]["variable"], "U");
    let choice = &doc["variables"][0]["choice"];
    assert_eq!(choice["told"][0]["pattern"]["name"], "map");
    assert!(choice["bytes"].as_u64().is_some_and(|b| b > 0));
    p.run("tune chunks uv300.nc --for lat=3,lon=all --storage object").exits(0);
    p.run("tune chunks uv300.nc --for maps").exits(2).says("`maps`");
    p.run("tune chunks uv300.nc --vars nothing").says("nothing");
    p.run("tune chunks no.nc").exits(4);
    assert_eq!(std::fs::read(p.path("uv300.nc")).expect("readable"), before);
}

/// The header of a CDF-5 file with a float variable `v` along dimensions of these lengths (0: unlimited), and no data.
fn header(lens: &[u64]) -> Vec<u8> {
    let mut out = b"CDF\x05".to_vec();
    let number = |out: &mut Vec<u8>, n: u64| out.extend(n.to_be_bytes());
    let name = |out: &mut Vec<u8>, name: &str| {
        out.extend((name.len() as u64).to_be_bytes());
        out.extend(name.bytes());
        out.resize(out.len().next_multiple_of(4), 0);
    };
    number(&mut out, 0);
    out.extend(if lens.is_empty() { 0u32 } else { 10 }.to_be_bytes());
    number(&mut out, lens.len() as u64);
    for (i, &len) in lens.iter().enumerate() {
        name(&mut out, &format!("d{i}"));
        number(&mut out, len);
    }
    out.extend([0; 12]);
    out.extend(11u32.to_be_bytes());
    number(&mut out, 1);
    name(&mut out, "v");
    number(&mut out, lens.len() as u64);
    (0..lens.len() as u64).for_each(|i| number(&mut out, i));
    out.extend([0; 12]);
    out.extend(5u32.to_be_bytes());
    let size = lens.iter().filter(|&&n| n > 0).product::<u64>() * 4;
    number(&mut out, size);
    number(&mut out, 1 << 12);
    out
}

#[test]
fn arrays_of_any_kind_get_an_answer() {
    let p = Folder::new();
    let primes = [7919, 104_729];
    let arrays: [&[u64]; 9] = [
        &[],
        &[0],
        &[0, 5],
        &[1],
        &[1; 8],
        &[2, 3, 5, 2, 7, 3, 11, 13],
        &primes,
        &[1 << 40],
        &[0, 1 << 20, 1 << 20],
    ];
    for (i, lens) in arrays.into_iter().enumerate() {
        let name = format!("{i}.nc");
        let path = p.file(&name, &header(lens));
        // As long as it says it is, but nothing of it was written.
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_len(4096 + lens.iter().filter(|&&n| n > 0).product::<u64>() * 4).unwrap();
        let found = p.run(&format!("tune chunks {name} --vars v --json")).exits(0).json();
        let choice = &found["variables"][0]["choice"];
        if lens.is_empty() {
            assert!(
                choice.is_null()
                    && found["variables"][0]["why"].as_str().is_some_and(|w| w.contains("no dimensions")),
                "{found}"
            );
            p.run(&format!("tune chunks {name} --vars v")).exits(0).prints("no dimensions");
            continue;
        }
        let chunks: Vec<u64> = choice["chunks"]
            .as_array()
            .expect("a shape")
            .iter()
            .filter_map(serde_json::Value::as_u64)
            .collect();
        assert_eq!(chunks.len(), lens.len());
        assert!(chunks.iter().zip(lens).all(|(&c, &n)| c >= 1 && (n == 0 || c <= n)), "{lens:?}: {chunks:?}");
        assert!(chunks.iter().product::<u64>() * 4 <= 4 << 20, "{lens:?}: {chunks:?}");
        p.run(&format!("tune chunks {name} --vars v --for series=9,map=1")).exits(0);
        p.run(&format!("copy {name} out.nc -4 --chunks auto --dry-run")).exits(0);
    }
}
