//! The workload `access`, on a real file.

use std::path::PathBuf;

use ncforge_bench::driver::NcforgeDriver;
use ncforge_bench::report::access::access_table;
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
    assert!(access_table(&report).contains("series"));
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
