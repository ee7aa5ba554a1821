//! The contracts of the command: streams, exit codes, options, help.

mod common;

use common::Folder;

#[test]
fn help_is_data_and_lists_the_commands() {
    let p = Folder::new();
    let help = p.run("--help").exits(0).prints("copy").prints("info").prints("compare").prints("nccopy");
    assert!(help.err.is_empty());
    assert!(help.out.contains("Exit codes:"));
    for command in ["copy", "info", "compare", "nccopy"] {
        let short = p.run(&format!("help {command}")).exits(0);
        assert!(short.out.contains("Usage:"), "{}", short.out);
        p.run(&format!("{command} --help")).exits(0).prints("Usage:");
    }
    p.run("--version").exits(0).prints(env!("CARGO_PKG_VERSION"));
}

#[test]
fn usage_errors_exit_2_and_say_what_is_wrong() {
    let p = Folder::new();
    p.run("").exits(2);
    for line in [
        "nonsense",
        "info",
        "info --nonsense a.nc",
        "copy a.nc",
        "copy a.nc b.nc --codec nonsense",
        "copy a.nc b.nc --memory much",
        "copy -3 -4 a.nc b.nc",
        "compare a.nc",
        "-j 0 info a.nc",
        "nccopy a.nc",
        "nccopy -d 10 a.nc b.nc",
    ] {
        let ran = p.run(line).exits(2).says("ncforge: ").says("hint: ");
        assert!(ran.out.is_empty(), "{line}: {}", ran.out);
    }
    p.run("cpoy a.nc b.nc").exits(2).says("copy");
}

#[test]
fn words_that_are_nearly_right_get_the_right_one_in_the_answer() {
    let p = Folder::new();
    p.real("uv300.nc");
    for (line, right) in [
        ("rechnk a.nc b.nc", "'rechunk'"),
        ("info --jsn uv300.nc", "'--json'"),
        ("copy uv300.nc b.nc --codec deflat", "deflate"),
        ("copy uv300.nc b.nc --format netcdf", "'netcdf4'"),
        ("bench io -w -d 2:2:2:2 -f t.nc --driver netcdfc", "did you mean `netcdf-c`?"),
        ("bench io -w -d 2:2:2:2 -f t.nc --driver hdf", "did you mean `hdf5`?"),
        ("bench io -w -d 2:2:2:2 -f t.nc --codec delfate=4", "did you mean `deflate`?"),
        ("bench io -w -d 2:2:2:2 -f t.nc --format netcdf5", "did you mean `netcdf4`?"),
        ("bench acess uv300.nc", "'access'"),
        ("bench access uv300.nc --patterns sereis", "'series'"),
        ("bench chunks --array percip", "did you mean `precip`?"),
        ("bench published --dry-run --only unidata-2031", "did you mean `unidata-2013`?"),
        ("bench records --codecs zsdt", "did you mean `zstd`?"),
        ("zip uv300.nc b.ncz --codec zstandard", "'zstd'"),
        ("unzpi b.ncz b.nc", "'unzip'"),
        ("copy uv300.nc b.nc --for sereis", "did you mean `series`?"),
        ("tune chunks uv300.nc --storage objct", "'object'"),
        ("doctor uv300.nc --select no-shufle", "did you mean `no-shuffle`?"),
        ("doctor uv300.nc --profile cmip6", "'cmip7'"),
        ("combine uv300.nc -o c.nc --scheme nemmo", "'nemo'"),
    ] {
        p.run(line).exits(2).says(right);
    }
}

#[test]
fn every_command_with_a_document_writes_it_to_a_path_next_to_its_text() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.run("zip uv300.nc z.ncz").exits(0);
    for (line, code) in [
        ("info uv300.nc", 0),
        ("info --requests uv300.nc", 0),
        ("compare uv300.nc uv300.nc", 0),
        ("doctor --fail-on never uv300.nc", 0),
        ("doctor --rules", 0),
        ("verify z.ncz", 0),
        ("compact z.ncz", 0),
        ("tune chunks uv300.nc", 0),
        ("copy uv300.nc -n c.nc", 0),
        ("copy uv300.nc c.nc", 0),
        ("zip uv300.nc y.ncz", 0),
        ("unzip y.ncz y.nc", 0),
        ("split uv300.nc --tiles 2x2 -o s", 0),
        ("refs uv300.nc -o r.json", 0),
    ] {
        let file = p.path("out.json");
        let ran = p.run(&format!("{line} --json=out.json")).exits(code);
        let text = std::fs::read_to_string(&file).expect(line);
        let document: serde_json::Value = serde_json::from_str(&text).expect(line);
        assert!(document["schema"].as_str().is_some_and(|s| s.starts_with("ncforge.")), "{line}");
        assert!(!ran.out.contains("\"schema\""), "{line}: {}", ran.out);
        // One that is there stays, and no work is done for nothing.
        p.run("info uv300.nc --json=out.json").exits(2).says("exists already");
        p.run("info uv300.nc --json=out.json -O").exits(0).prints("netcdf uv300");
        std::fs::remove_file(file).expect("it is there");
    }
    p.run("info uv300.nc --json=no/out.json").exits(2).says("a folder that exists");
}

#[test]
fn commands_have_the_names_that_other_tools_gave_them() {
    let p = Folder::new();
    p.real("uv300.nc");
    let same = |other: &str, own: &str| {
        let (other, own) = (p.run(other).exits(0).out, p.run(own).exits(0).out);
        assert!(!own.is_empty());
        assert_eq!(other, own);
    };
    same("dump -h -s uv300.nc", "info -s uv300.nc");
    same("ncdump --help", "dump --help");
    p.run("copy uv300.nc copy.nc").exits(0);
    same("diff --json uv300.nc copy.nc", "compare --json uv300.nc copy.nc");
    let help = p.run("--help").exits(0).out;
    for names in ["compare, diff", "rechunk"] {
        assert!(help.contains(names), "{names}: {help}");
    }
}

#[test]
fn where_nobody_hears_the_messages_the_work_is_done_all_the_same() {
    let p = Folder::new();
    p.real("uv300.nc");
    for (line, code) in [("nonsense", 2), ("copy uv300.nc out.nc --progress json", 0), ("info no.nc", 4)] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ncforge"));
        command.args(line.split(' ')).current_dir(p.path(".")).stderr(writer);
        assert_eq!(command.status().expect("the command starts").code(), Some(code), "{line}");
    }
    p.run("compare uv300.nc out.nc").exits(0);
}

#[test]
fn a_usage_error_names_the_help_of_its_own_command() {
    let p = Folder::new();
    for (line, says) in [
        ("copy a.nc", "hint: `ncforge copy --help` lists all options"),
        ("-q copy a.nc", "hint: `ncforge copy --help` lists all options"),
        ("bench access a.nc --patterns nonsense", "hint: `ncforge bench access --help` lists all options"),
        ("nonsense", "hint: `ncforge --help` lists the commands"),
        ("info a.nc -j 0", "`0` is not a number of threads"),
        ("compare a.nc b.nc --tolerance abc", "`abc` is not a number"),
        ("doctor a.nc --select NC999", "`ncforge doctor --rules` lists them"),
        ("copy a.nc b.nc --for fast", "hint: write series, or series=3,map=1"),
        ("doctor a.nc --for fast", "ncforge: --for fast: "),
    ] {
        p.run(line).exits(2).says(says);
    }
}

#[test]
fn hints_fit_what_went_wrong() {
    let p = Folder::new();
    p.real("navy_winds.nc");
    p.real("uv300.nc");
    std::fs::create_dir(p.path("folder")).expect("a folder");
    p.run("copy navy_winds.nc folder")
        .exits(2)
        .says("cannot create `folder`")
        .says("hint: name a file, not a folder");
    for line in
        ["copy navy_winds.nc /dev/null", "copy navy_winds.nc /dev/stdout -O", "zip uv300.nc /dev/full"]
    {
        p.run(line).exits(2).says("a pipe or a device cannot be the output").says("name a file on a disk");
    }
    let long = "x".repeat(256);
    p.run(&format!("copy navy_winds.nc {long}.nc")).exits(2).says("at most 255 bytes");
    p.run("copy navy_winds.nc nowhere/out.nc").exits(2).says("nowhere/out.nc").says("a folder that exists");
    p.run("copy navy_winds.nc out.nc -4 --filters UWND,snappy")
        .exits(1)
        .says("`UWND`: filter 32003 (snappy)");
    p.run("compact navy_winds.nc")
        .exits(2)
        .says("is not zipped")
        .says("hint: `ncforge zip` zips classic files");
    for tool in ["mppnccombine", "nocscombine", "rebuild_nemo"] {
        p.run(&format!("{tool} --help")).exits(0).prints("Example:").prints(&format!("ncforge {tool} "));
    }
}

#[test]
fn a_missing_output_folder_is_usage() {
    let p = Folder::new();
    p.real("navy_winds.nc");
    p.real("uv300.nc");
    p.run("zip uv300.nc uv300.ncz").exits(0);
    p.run("bench access uv300.nc --repetitions 1 --json=r.json").exits(0);
    for line in [
        "copy navy_winds.nc no/out.nc",
        "copy navy_winds.nc no/out.nc --dry-run",
        "copy navy_winds.nc uv300.nc/out.nc",
        "nccopy navy_winds.nc no/out.nc",
        "combine tile_0000.nc -o no/out.nc",
        "split navy_winds.nc -o no/tile --tiles 2x2",
        "zip uv300.nc no/out.ncz",
        "unzip uv300.ncz no/out.nc",
        "info uv300.nc --html no/page.html",
        "doctor uv300.nc --html no/page.html",
        "report r.json -o no/page.html",
        "bench access uv300.nc --json=no/r.json",
        "bench io -w -r -f no/t.nc -d 2:2:2:2 --reps 1",
        "bench convert --quick --folder no",
        "bench chunks uv300.nc --folder no",
        "bench combine --folder no",
        "bench records --folder no",
        "bench published --quick --folder no",
        "bench seeds --quick --folder no",
    ] {
        p.run(line).exits(2).says("hint: ");
    }
    assert!(!p.path("no").exists());
}

#[test]
fn chunks_that_make_no_sense_for_a_variable_are_usage() {
    let p = Folder::new();
    p.real("navy_winds.nc");
    for (spec, says) in [
        ("tas:1", "no variable `tas`"),
        ("UWND:1", "`UWND`"),
        ("UWND:1,x,3", "UWND"),
        ("nowhere/3", "no dimension `nowhere`"),
        ("UWND:0,1,1", "UWND"),
    ] {
        p.run(&format!("copy navy_winds.nc out.nc --chunks {spec}")).exits(2).says(says);
    }
    assert_eq!(p.files(), ["navy_winds.nc"]);
}

#[test]
fn too_little_memory_is_refused() {
    let p = Folder::new();
    p.real("uv300.nc");
    for size in ["0", "1K", "1023K"] {
        p.run(&format!("copy uv300.nc out.nc --memory {size}")).exits(2).says("(1M) at least");
    }
    p.run("copy uv300.nc out.nc --memory 1M").exits(0);
}

#[test]
fn quiet_says_nothing_but_errors() {
    let p = Folder::new();
    p.real("uv300.nc");
    // Bits that are cut off are reported, as a warning.
    let noisy = p.run("copy uv300.nc a.nc -4 --chunks auto --keep-digits 3").exits(0);
    assert!(!noisy.err.is_empty());
    for line in ["copy uv300.nc b.nc -4 --chunks auto --keep-digits 3 -q", "copy uv300.nc c.nc -q"] {
        let ran = p.run(line).exits(0);
        assert!(ran.err.is_empty() && ran.out.is_empty(), "{line}: {}{}", ran.err, ran.out);
    }
    p.run("copy uv300.nc c.nc -q").exits(2).says("exists already");
}

#[test]
fn a_missing_input_exits_4() {
    let p = Folder::new();
    for line in ["info no.nc", "copy no.nc out.nc", "compare no.nc no2.nc", "nccopy no.nc out.nc"] {
        let ran = p.run(line).exits(4).says("ncforge: ").says("no.nc").says("hint: ");
        assert!(ran.out.is_empty());
    }
    assert!(p.files().is_empty(), "{:?}", p.files());
}

#[test]
fn what_is_no_netcdf_file_exits_4() {
    let p = Folder::new();
    p.file("text.nc", b"This is not a netCDF file, it is text.\n");
    p.file("empty.nc", b"");
    p.file("short.nc", b"CDF\x01");
    for name in ["text.nc", "empty.nc", "short.nc", "."] {
        p.run(&format!("info {name}")).exits(4).says("ncforge: ");
        p.run(&format!("copy {name} out.nc")).exits(4);
    }
    assert!(!p.files().contains(&"out.nc".to_owned()));
}

#[test]
fn an_output_that_exists_is_refused_without_leave() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.file("out.nc", b"precious");
    p.run("copy uv300.nc out.nc").exits(2).says("out.nc").says("hint: ").says("-O");
    assert_eq!(std::fs::read(p.path("out.nc")).expect("still there"), b"precious");
    p.run("copy -O -q uv300.nc out.nc").exits(0);
    p.run("compare uv300.nc out.nc").exits(0);
    // nccopy overwrites, as it always has.
    p.file("out2.nc", b"precious");
    p.run("nccopy uv300.nc out2.nc").exits(0);
    assert_eq!(p.files(), ["out.nc", "out2.nc", "uv300.nc"]);
}

#[test]
fn differences_exit_3() {
    let p = Folder::new();
    p.real("uv300.nc");
    p.real("etopo60.cdf");
    p.run("compare uv300.nc uv300.nc").exits(0);
    p.run("compare uv300.nc etopo60.cdf").exits(3);
    let mut bytes = std::fs::read(p.path("uv300.nc")).expect("readable");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    p.file("other.nc", &bytes);
    let ran = p.run("compare --json uv300.nc other.nc").exits(3);
    assert!(ran.json().is_object());
}

#[test]
fn several_files_are_all_tried() {
    let p = Folder::new();
    p.real("uv300.nc");
    let ran = p.run("info --kind no.nc uv300.nc").exits(4).says("no.nc");
    assert_eq!(ran.out, "classic\n");
}

#[test]
fn completions_and_manuals_come_from_the_declaration() {
    let p = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        p.run(&format!("completions {shell}")).exits(0).prints("dry-run");
    }
    p.run("completions tcsh").exits(2);
    p.run("man").exits(0).prints(".TH ncforge 1");
    p.run("man copy").exits(0).prints("ncforge-copy");
    p.run("man nonsense").exits(2).says("hint: ");
    p.run("man --dir pages").exits(0);
    assert!(p.path("pages/ncforge-nccopy.1").exists());
}

#[test]
fn messages_are_plain_when_nobody_wants_colour() {
    let p = Folder::new();
    assert!(!p.run("info no.nc").exits(4).err.contains('\x1b'));
    assert!(p.run("--color always info no.nc").exits(4).err.contains('\x1b'));
}

#[test]
fn ctrl_c_stops_a_copy_so_that_it_can_go_on() {
    let p = Folder::new();
    big_file(&p.path("big.nc"));
    let options = [
        "copy", "big.nc", "out.nc", "--format", "netcdf4", "--codec", "deflate", "--level", "9", "--memory",
        "16M",
    ];
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_ncforge"))
        .args(options)
        .current_dir(p.path("."))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    // When the partial output is there, signals are caught.
    let partial = p.path(".out.nc.ncforge-partial");
    for _ in 0..500 {
        if partial.exists() || child.try_wait().expect("a child").is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let pid = child.id().to_string();
    std::process::Command::new("kill").args(["-INT", &pid]).status().expect("kill is everywhere");
    let code = child.wait().expect("it ends").code();
    if code == Some(0) {
        return; // A machine so fast that the copy was complete first.
    }
    assert_eq!(code, Some(5));
    assert!(!p.path("out.nc").exists());
    let mut words = options.to_vec();
    words.push("--resume");
    p.run_words(&words).exits(0);
    p.run("compare big.nc out.nc").exits(0);
    assert!(!partial.exists());
}

/// A CDF-5 file of one variable of 24 MB that does not compress well.
fn big_file(path: &std::path::Path) {
    const N: u64 = 6_000_000;
    let mut file = b"CDF\x05".to_vec();
    file.extend(0u64.to_be_bytes()); // records
    file.extend(10u32.to_be_bytes());
    file.extend(1u64.to_be_bytes()); // one dimension
    file.extend(1u64.to_be_bytes());
    file.extend(b"x\0\0\0");
    file.extend(N.to_be_bytes());
    file.extend([0; 12]); // no attributes
    file.extend(11u32.to_be_bytes());
    file.extend(1u64.to_be_bytes()); // one variable
    file.extend(1u64.to_be_bytes());
    file.extend(b"v\0\0\0");
    file.extend(1u64.to_be_bytes());
    file.extend(0u64.to_be_bytes()); // along the dimension
    file.extend([0; 12]); // no attributes
    file.extend(4u32.to_be_bytes()); // int
    file.extend((N * 4).to_be_bytes());
    let begin = file.len() as u64 + 8;
    file.extend(begin.to_be_bytes());
    let mut x = 1u32;
    for _ in 0..N {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        file.extend((x >> 12).to_be_bytes());
    }
    std::fs::write(path, file).expect("a file can be written");
}

#[test]
fn misspelt_names_get_the_nearest_that_the_file_has() {
    let p = Folder::new();
    p.real("uv300.nc");
    for line in [
        "copy uv300.nc b.nc --vars latt",
        "compare uv300.nc uv300.nc --vars latt",
        "copy uv300.nc b.nc --chunks latt:3",
        "copy uv300.nc b.nc --chunks latt/3",
        "copy uv300.nc b.nc --format netcdf4 --for latt=1",
        "bench access uv300.nc --var latt",
    ] {
        p.run(line)
            .exits(2)
            .says("`latt`")
            .says("hint: did you mean `lat`? `ncforge info FILE` lists the names");
    }
    p.run("copy uv300.nc b.nc --vars nothing").exits(2).says("hint: `ncforge info FILE` lists the names");
}
