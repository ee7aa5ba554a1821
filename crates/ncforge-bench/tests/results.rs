//! Documents of results: what counts in a row, how they are read, shared, compared, joined over ranks, and written as CSV.

use ncforge_bench::report::{compare, over_ranks};
use ncforge_bench::result::{
    CSV_HEAD, Measurement, PublishedFigure, Results, Row, Section, WHOLE, results_csv,
};
use ncforge_bench::workload::io::DriverAsk;

fn row(seconds: &[f64]) -> Row {
    let mut row = Row::new("a", "read", 100);
    row.measurements = seconds.iter().map(|&s| Measurement::of(s)).collect();
    row
}

#[test]
fn disturbed_repetitions_are_left_out_where_enough_others_are() {
    let mut r = row(&[1.0, 2.0, 3.0, 9.0]);
    r.measurements[3].disturbed = true;
    assert_eq!(r.summary().unwrap().max, 3.0);
    r.measurements[2].disturbed = true;
    assert_eq!(r.summary().unwrap().max, 9.0);
}

#[test]
fn opening_and_closing_count_where_the_row_says_so() {
    let mut r = row(&[4.0, 4.0, 4.0]);
    r.measurements.iter_mut().for_each(|m| (m.open, m.close) = (Some(0.5), Some(3.0)));
    assert_eq!(r.summary().unwrap().median, 4.0);
    assert_eq!(r.with(WHOLE, 1).summary().unwrap().median, 7.5);
}

#[test]
fn other_documents_are_refused() {
    for (text, word) in [
        ("nothing", "no result"),
        ("{}", "no result"),
        (r#"{"schema": 2, "made_by": "somebody"}"#, "somebody"),
        (r#"{"schema": 99, "made_by": "ncforge bench"}"#, "version 99"),
        (r#"{"schema": 2, "made_by": "ncforge bench"}"#, "damaged"),
    ] {
        let e = Results::parse(text).unwrap_err();
        assert!(e.to_string().contains(word), "{e}");
        assert_eq!(e.exit_code(), 4);
    }
}

#[test]
fn libraries_have_other_names_too() {
    let one = |text: &str| text.parse::<DriverAsk>().unwrap();
    assert_eq!(one("libnetcdf"), one("netcdf-c"));
    assert_eq!(one("h5"), one("hdf5"));
    assert_ne!(one("netcdf-c"), one("hdf5"));
}

#[test]
fn folders_are_left_out_of_what_is_shared() {
    let mut results = Results::of(vec![Section::new("io", "x")]);
    results.sections[0].detail = serde_json::json!({"file": "/home/me"});
    results.environment.variables.push(("NC_X".into(), "/home/me".into()));
    let texts =
        ["bench io --testfile=/home/me/x.nc -w", "/opt/lib/libnetcdf.so 4.9, 3 B/s", "of `/a/b.nc` / 2"];
    results.sections[0].notes = texts.map(str::to_owned).to_vec();
    let shared = results.redacted();
    assert!(!shared.to_json().contains("/home"));
    let without = ["bench io --testfile=x.nc -w", "libnetcdf.so 4.9, 3 B/s", "of `b.nc` / 2"];
    assert_eq!(shared.sections[0].notes, without);
}

#[test]
fn published_figures_say_how_many_times_better() {
    let f = PublishedFigure { value: 340.0, ours: 3.4, ..PublishedFigure::default() };
    assert_eq!(f.ratio(), 100.0);
    assert_eq!(PublishedFigure { more_is_better: true, ..f }.ratio(), 0.01);
}

fn run(times: &[(&str, [f64; 5])]) -> Results {
    let rows = times
        .iter()
        .map(|(case, seconds)| {
            let mut row = Row::new(*case, "write", 100);
            row.measurements = seconds.map(Measurement::of).to_vec();
            row
        })
        .collect();
    Results::of(vec![Section { rows, ..Section::new("io", "t") }])
}

#[test]
fn p_above_a_twentieth_is_no_difference() {
    // The interval leaves out 1, and the rank-sum test gives 0.056.
    let before = run(&[("a", [1.00, 1.01, 1.02, 1.03, 1.30])]);
    let after = run(&[("a", [1.025, 1.24, 1.25, 1.26, 1.31])]);
    let change = &compare(&before, &after).changes[0];
    assert!(change.p.is_some_and(|p| p > 0.05), "{change:?}");
    assert!(!change.is_sure() && !change.is_slower_by(0.1));
    let text = compare(&before, &after).table(Some(0.1));
    assert!(text.contains("no difference beyond chance"), "{text}");
}

#[test]
fn three_repetitions_are_too_few_for_the_test() {
    let three = |seconds: [f64; 3]| {
        let mut row = Row::new("a", "write", 100);
        row.measurements = seconds.map(Measurement::of).to_vec();
        Results::of(vec![Section { rows: vec![row], ..Section::new("io", "t") }])
    };
    let found = compare(&three([1.0, 1.01, 1.02]), &three([2.0, 2.01, 2.02]));
    assert!(found.changes[0].too_few && found.changes[0].is_slower_by(0.1));
    assert!(found.table(None).contains("too few repetitions"), "{}", found.table(None));
}

#[test]
fn what_a_run_says_against_itself_is_repeated() {
    let quiet = run(&[("a", [1.0; 5])]);
    let mut loud = quiet.clone();
    for m in &mut loud.sections[0].rows[0].measurements {
        m.disturbed = true;
    }
    let found = compare(&quiet, &loud);
    let doubt = "the second: Something else used the machine during 5 of 5 measurements: these numbers are unreliable";
    assert!(found.doubts.iter().any(|d| d.starts_with(doubt)), "{:?}", found.doubts);
    assert!(found.table(None).contains(doubt) && found.markdown(None).contains(doubt));
}

#[test]
fn slower_is_more_than_chance() {
    let before = run(&[("a", [1.0, 1.01, 1.02, 0.99, 1.0]), ("b", [1.0; 5]), ("c", [1.0; 5])]);
    let after =
        run(&[("a", [1.3, 1.31, 1.29, 1.3, 1.32]), ("b", [0.5, 1.2, 1.3, 0.6, 1.2]), ("d", [1.0; 5])]);
    let c = compare(&before, &after);
    assert_eq!(c.changes.len(), 2);
    assert!(c.machines.is_empty());
    let slower = c.slower(0.1);
    assert_eq!(slower.iter().map(|c| c.case.as_str()).collect::<Vec<_>>(), ["a"]);
    assert!(c.slower(0.5).is_empty());
    assert_eq!((c.only_before.len(), c.only_after.len()), (1, 1));
    let text = c.table(Some(0.1));
    assert!(text.contains("SLOWER") && text.contains("beyond chance") && text.contains("+30.0 %"), "{text}");
    assert!(text.contains("1.30× slower [") && text.contains("p = 0.008"), "{text}");
    assert!(c.markdown(Some(0.1)).contains("**slower**"));
    let back = compare(&after, &before);
    assert!(back.changes[0].times().starts_with("1.30× faster [1.2"), "{}", back.changes[0].times());
}

#[test]
fn a_row_for_every_repetition_under_the_agreed_head() {
    let mut row = Row::new("x, y", "write", 1 << 20).with("ranks", 4).with("chunk_shape", "1:2");
    row.measurements = vec![Measurement::of(0.5), Measurement { rep: 1, ..Measurement::of(1.0) }];
    let results = Results::of(vec![Section { rows: vec![row], ..Section::new("io", "t") }]);
    let text = results_csv(&results);
    let mut read = csv::Reader::from_reader(text.as_bytes());
    let head = read.headers().unwrap().clone();
    assert_eq!(head.iter().collect::<Vec<_>>().join(","), CSV_HEAD);
    let mut more = results.clone();
    more.sections[0].rows[0] = more.sections[0].rows[0].clone().with("penalty", 7);
    let (more, behind) = (results_csv(&more), format!("{CSV_HEAD},penalty\n"));
    assert!(more.starts_with(&behind) && more.trim_end().ends_with(",7"), "{more}");
    let rows: Vec<_> = read.records().map(Result::unwrap).collect();
    let at = |name: &str| head.iter().position(|h| h == name).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(&rows[0][at("rate_io_MiBps")], "2.000");
    assert_eq!((&rows[1][at("rep")], &rows[1][at("case")]), ("1", "x, y"));
    assert_eq!((&rows[1][at("ranks")], &rows[1][at("verify")]), ("4", ""));
}

#[test]
fn rows_have_names_of_their_own_and_are_set_against_one_another() {
    let run = |seconds: f64| {
        let mut row = Row::new("ncforge", "write", 1000);
        row.measurements = vec![Measurement::of(seconds)];
        Results::of(vec![Section { rows: vec![row], ..Section::new("io", "Blocks: 1 kB of 1:2, 9 ranks") }])
    };
    let all = over_ranks(vec![(1, vec![run(1.0), run(1.0)]), (4, vec![run(0.5)])]).unwrap();
    let section = &all.sections[0];
    assert_eq!(section.title, "Blocks: 1 kB of 1:2; ranks 1, 4");
    assert_eq!(section.rows[1].case, "ncforge, 4 ranks");
    assert_eq!(section.rows[0].measurements.iter().map(|m| m.rep).collect::<Vec<_>>(), [0, 1]);
    assert!(section.words[0].contains("2.00×") && section.words[0].contains("(50 %"), "{:?}", section.words);
    assert_eq!(section.views.len(), 1);
    assert!(over_ranks(Vec::new()).is_none());
}
