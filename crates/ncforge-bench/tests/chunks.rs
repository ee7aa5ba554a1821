//! The workload `chunks`, on a real file.

use std::path::{Path, PathBuf};

use ncforge_bench::driver::{Driver, LibnetcdfDriver, NcforgeDriver};
use ncforge_bench::report::chunks::{regret_sections, sweep_section};
use ncforge_bench::report::{results_table, results_words};
use ncforge_bench::result::{Results, results_csv};
use ncforge_bench::workload::chunks::regret::{self, RegretOptions, RegretReport};
use ncforge_bench::workload::chunks::sweep::{self, SweepOptions};
use ncforge_bench::workload::chunks::{Effort, Files, Variant, grid};
use ncforge_tune::{Limits, Machine};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)
}

fn variants() -> Vec<Variant> {
    let chunked =
        |chunks: &[u64], deflate| Variant { chunks: Some(chunks.to_vec()), deflate, shuffle: deflate > 0 };
    vec![Variant::classic(), chunked(&[1, 91, 181], 1), chunked(&[12, 10, 20], 0)]
}

#[test]
fn every_driver_reads_the_same_values_from_every_variant() {
    let ours = NcforgeDriver::default();
    let theirs = LibnetcdfDriver::find();
    let mut drivers: Vec<&dyn Driver> = vec![&ours];
    drivers.extend(theirs.as_ref().map(|l| l as &dyn Driver));
    let folder = tempfile::tempdir().unwrap();
    let options = SweepOptions {
        var: None,
        variants: variants(),
        caches: vec![None, Some(4 << 20)],
        series: 3,
        series_first: true,
        repetitions: 1,
        cold: false,
        cell_seconds: None,
    };
    let report = sweep::run(
        &drivers,
        &data("sst30e_netcdf.nc"),
        &Files::new(folder.path()),
        &options,
        &mut |_| Ok(()),
    )
    .unwrap();
    assert_eq!(report.rows.len(), 3 * 2 * drivers.len());
    assert!(report.rows.iter().all(|r| r.same_values), "{:#?}", report.rows);
    let results = Results::of(vec![sweep_section(&report, Some(&[12, 10, 20]))]);
    let table = results_table(&results);
    assert!(table.contains("\nslab:\n") && table.contains("\nseries:\n"), "{table}");
    assert!(table.contains("1:91:181 shuffle deflate 1, cache default"), "{table}");
    // A slab and a series of each.
    assert_eq!(results_csv(&results).lines().count(), 1 + 2 * report.rows.len());
}

#[test]
fn the_choice_stands_among_all_shapes() {
    let folder = tempfile::tempdir().unwrap();
    let file = data("sst30e_netcdf.nc");
    let shape = {
        let dataset = ncforge::Dataset::open(&file).unwrap();
        dataset.schema().shape(dataset.var("sst").unwrap())
    };
    let options = RegretOptions {
        var: Some("sst".into()),
        shapes: grid(&shape, 4, 6, |_| true),
        mixes: vec!["series".into(), "map=2,series=1".into(), "time=3".into()],
        deflate: 1,
        effort: Effort { rounds: 1, places: 2, parts: 3 },
        limits: Limits::default(),
        machine: Machine::default(),
        measured: Machine::default(),
    };
    let own = NcforgeDriver::default();
    let report =
        regret::run(&[&own], &file, &Files::new(folder.path()), &options, &mut |_| {}).unwrap().remove(0);
    assert_eq!(report.mixes.len(), 3);
    for mix in &report.mixes {
        assert!(mix.regret >= 1.0 && mix.place >= 1 && mix.cost >= mix.best_cost, "{mix:?}");
    }
    let results = Results::of(regret_sections(&[report.clone(), report.clone()]));
    let words = results_words(&results);
    assert!(words.contains("regret: median") && words.contains("ncforge, all together"), "{words}");
    assert!(words.contains("for map=2,series=1, ") && !words.contains("predicted (s)"), "{words}");
    let csv = results_csv(&Results::of(regret_sections(std::slice::from_ref(&report))));
    assert_eq!(csv.lines().count(), 1 + report.rows.len());
    let head = csv.lines().next().unwrap();
    assert!(["predicted_s", "place_min_s", "place_max_s"].iter().all(|c| head.contains(c)), "{head}");
    let names =
        |folder: &Path| -> Vec<_> { std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect() };
    assert_eq!(names(folder.path()).len(), report.rows.len() / 3);
    // In groups of one file each, which make space for the next.
    let few = tempfile::tempdir().unwrap();
    for (keep, left) in [(false, 0), (true, names(folder.path()).len())] {
        let files = Files::new(few.path()).within(1).keeping(keep);
        let again = regret::run(&[&own], &file, &files, &options, &mut |_| {}).unwrap().remove(0);
        let of = |r: &RegretReport| {
            r.rows.iter().map(|r| (r.chunks.clone(), r.pattern.clone())).collect::<Vec<_>>()
        };
        assert_eq!(of(&again), of(&report));
        assert_eq!(names(few.path()).len(), left);
    }
    let unknown = RegretOptions { mixes: vec!["maps".into()], ..options };
    let error = regret::run(&[&own], &file, &Files::new(folder.path()), &unknown, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("`maps`"), "{error}");
}
