//! The workload `access`, on a real file.

use std::path::PathBuf;

use ncforge_bench::driver::NcforgeDriver;
use ncforge_bench::report::access::access_section;
use ncforge_bench::report::results_table;
use ncforge_bench::result::Results;
use ncforge_bench::stats::Positions;
use ncforge_bench::workload::access::{AccessOptions, Pattern, run};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)
}

#[test]
fn a_file_is_measured_and_does_the_same_work_twice() {
    let file = data("sst30e_netcdf.nc");
    let options = AccessOptions { repetitions: 3, ..AccessOptions::default() };
    let report = run(&[&NcforgeDriver::default()], &[file.clone(), file], &options).unwrap();
    assert_eq!(report.files[0].variable, "sst");
    assert_eq!(report.rows.len(), 2 * Pattern::USUAL.len());
    for row in &report.rows {
        assert_eq!(row.seconds.len(), 3);
        assert_eq!(row.same_values, Some(true));
    }
    let map = &report.rows[0];
    assert_eq!((map.count.as_slice(), map.bytes), ([1, 91, 181].as_slice(), 91 * 181 * 4));
    let text = results_table(&Results::of(vec![access_section(&report)]));
    assert!(text.contains("series") && text.contains("[2] ") && text.contains("right"), "{text}");
    assert!(serde_json::to_string(&report).unwrap().contains("\"median\""));
}

#[test]
fn an_unknown_variable_and_no_repetition_are_errors() {
    let files = [data("sst30e_netcdf.nc")];
    let driver = NcforgeDriver::default();
    let unknown = AccessOptions { var: Some("nosuch".into()), ..AccessOptions::default() };
    assert!(run(&[&driver], &files, &unknown).unwrap_err().to_string().contains("`nosuch`"));
    let none = AccessOptions { repetitions: 0, ..AccessOptions::default() };
    assert_eq!(run(&[&driver], &files, &none).unwrap_err().exit_code(), 2);
}

#[test]
fn patterns_fit_any_rank() {
    let count = |p: Pattern, shape: &[u64]| {
        let slab = p.slab(shape, &mut Positions::new(3));
        slab.check(shape, "v").unwrap();
        slab.count
    };
    assert_eq!(count(Pattern::Map, &[12, 17, 90, 180]), [1, 1, 90, 180]);
    assert_eq!(count(Pattern::Series, &[12, 17, 90, 180]), [12, 1, 1, 1]);
    assert_eq!(count(Pattern::Full, &[12, 90, 180]), [12, 90, 180]);
    assert_eq!(count(Pattern::Map, &[12, 90]), [1, 90]);
    assert_eq!(count(Pattern::Map, &[12]), [12]);
    assert_eq!(count(Pattern::Profile, &[12, 17, 90, 180]), [1, 17, 1, 1]);
    assert_eq!(count(Pattern::Profile, &[12, 90]), [12, 1]);
    assert_eq!(count(Pattern::Box, &[12, 17, 1]), [6, 9, 1]);
    assert_eq!(count(Pattern::Stride, &[12, 16, 1]), [3, 4, 1]);
    for p in Pattern::ALL {
        assert!(count(p, &[]).is_empty());
        assert_eq!(Pattern::from_name(p.name()), Some(p));
        assert_eq!(p.slab(&[0, 3], &mut Positions::new(1)).len(), 0);
    }
}
