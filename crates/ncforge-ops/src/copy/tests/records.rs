//! Records of one classic file into another: all variables at once, and variable by variable where that is resumed.

use super::*;

/// Variables whose records are padded, and some that are not; one that does not grow.
fn grows(format: Format, records: u64) -> Schema {
    let mut s = Schema::new(format);
    for (name, len, unlimited) in [("time", records, true), ("x", 3, false)] {
        s.dims.push(Dimension::new(name, len, unlimited));
    }
    let (t, x) = (DimId(0), DimId(1));
    for (name, atomic, dims) in [
        ("b", Atomic::Byte, vec![t, x]),
        ("s", Atomic::Short, vec![t, x]),
        ("fixed", Atomic::Short, vec![x]),
        ("f", Atomic::Float, vec![t, x]),
        ("c", Atomic::Char, vec![t]),
    ] {
        s.vars.push(Variable::new(name, atomic, dims));
    }
    s
}

fn options(format: Format, resume: bool) -> CopyOptions {
    CopyOptions {
        format: Some(format),
        resume,
        history: Some("copied".into()),
        checkpoint: std::time::Duration::ZERO,
        verify: true,
        ..CopyOptions::default()
    }
}

#[test]
fn records_are_the_same_whole_and_resumed() {
    for (from, to) in
        [(Format::Cdf1, Format::Cdf1), (Format::Cdf2, Format::Cdf5), (Format::Cdf5, Format::Cdf2)]
    {
        let folder = Folder::new();
        let e = engine(1 << 20, 2);
        let (a, whole, out) = (folder.path("a.nc"), folder.path("whole.nc"), folder.path("b.nc"));
        make(&a, &grows(from, 100_000), &e);
        copy(&a, &whole, &options(to, false), &e, &Silent).unwrap();
        assert_same(&a, &whole, &e);
        for stop in [1, 300_000, 900_000, 1_500_000] {
            let stopped = copy(&a, &out, &options(to, false), &e, &StopAt(AtomicU64::new(0), stop));
            assert!(matches!(stopped, Err(Error::Interrupted(_))), "{stop}: {stopped:?}");
            let report = copy(&a, &out, &options(to, true), &e, &Silent).unwrap();
            assert!(stop < 900_000 || report.resumed_steps > 0, "{stop}");
            assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(&whole).unwrap(), "{from:?} {stop}");
            std::fs::remove_file(&out).unwrap();
        }
    }
}

#[test]
fn records_that_are_missing_from_the_file_are_not_copied_as_zeros() {
    let folder = Folder::new();
    let e = engine(1 << 20, 2);
    let (a, b) = (folder.path("a.nc"), folder.path("b.nc"));
    make(&a, &grows(Format::Cdf2, 1000), &e);
    let file = std::fs::OpenOptions::new().write(true).open(&a).unwrap();
    let len = file.metadata().unwrap().len();
    file.set_len(len - 10_001).unwrap();
    let refused = copy(&a, &b, &options(Format::Cdf2, false), &e, &Silent);
    assert!(matches!(refused, Err(Error::Corrupt { .. })), "{refused:?}");
    assert!(!b.exists());
}

#[test]
fn variables_in_another_order_or_fewer_are_moved_one_by_one() {
    let folder = Folder::new();
    let e = engine(1 << 20, 2);
    let (a, b) = (folder.path("a.nc"), folder.path("b.nc"));
    make(&a, &grows(Format::Cdf2, 5000), &e);
    let some = CopyOptions {
        only: Some(Names { vars: vec!["f".into(), "s".into()], groups: vec![] }),
        ..options(Format::Cdf2, false)
    };
    copy(&a, &b, &some, &e, &Silent).unwrap();
    let (a, b) = (Dataset::open_with(&a, &e).unwrap(), Dataset::open_with(&b, &e).unwrap());
    for name in ["f", "s"] {
        let of = |d: &Dataset| d.read_all(d.schema().find_var(name).unwrap()).unwrap();
        assert_eq!(of(&a), of(&b), "{name}");
    }
}
