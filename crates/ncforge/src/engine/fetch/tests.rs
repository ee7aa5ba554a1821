use std::sync::atomic::AtomicU64;

use super::*;

#[allow(clippy::single_range_in_vec_init, reason = "one range")]
fn joined(ranges: &[Range<u64>], gap: u64, most: u64) -> Vec<Range<u64>> {
    let mut out = Vec::new();
    let mut parts = 0;
    join(
        ranges.len(),
        |i| ranges[i].clone(),
        Joining { gap, most },
        |_| false,
        |r| {
            assert_eq!(r.parts.start, parts, "every range is in one request");
            parts = r.parts.end;
            for part in &ranges[r.parts.clone()] {
                assert!(part.start >= r.bytes.start && part.end <= r.bytes.end);
            }
            out.push(r.bytes);
        },
    );
    assert_eq!(parts, ranges.len());
    out
}

#[test]
fn neighbours_are_joined_over_gaps_up_to_the_largest_request() {
    let ranges = [0..10, 10..20, 25..30, 90..95, 95..400, 401..402];
    assert_eq!(joined(&ranges, 0, 1000), [0..20, 25..30, 90..400, 401..402]);
    assert_eq!(joined(&ranges, 5, 1000), [0..30, 90..402]);
    assert_eq!(joined(&ranges, 100, 1000), [Range { start: 0, end: 402 }]);
    assert_eq!(joined(&ranges, 100, 28), [0..20, 25..30, 90..95, 95..400, 401..402]);
    assert_eq!(joined(&[5..9, 5..7, 6..20, 20..20], 0, 1000), [Range { start: 5, end: 20 }], "overlapping");
    assert_eq!(joined(&[], 0, 1000), []);
    assert_eq!(joined(&[0..u64::MAX, 7..9], 9, 100), [0..u64::MAX, 7..9], "of a damaged index");
}

#[test]
fn what_is_alone_is_not_joined() {
    let mut out = Vec::new();
    let range = |i: usize| i as u64 * 4..i as u64 * 4 + 4;
    join(6, range, Joining { gap: 0, most: 100 }, |i| i == 2, |r| out.push(r.parts));
    assert_eq!(out, [0..2, 2..3, 3..6]);
}

#[test]
fn batches_are_bounded() {
    let requests: Vec<Request> =
        [10u64, 10, 10, 10, 500, 10].iter().map(|&n| Request { bytes: 0..n, parts: 0..0 }).collect();
    assert_eq!(batches(&requests, 1000), [Range { start: 0, end: 6 }]);
    assert_eq!(
        batches(&requests, 30),
        [0..3, 3..4, 4..5, 5..6],
        "a request that is larger than the memory is alone"
    );
    assert!(batches(&[], 10).is_empty());
}

#[test]
fn work_goes_on_side_by_side_and_the_first_error_counts() {
    let (now, most) = (AtomicU64::new(0), AtomicU64::new(0));
    let wait = |_| {
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(5));
        now.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    };
    side_by_side(20, 4, wait).unwrap();
    assert!((2..=4).contains(&most.load(Ordering::SeqCst)), "{most:?}");
    let e = side_by_side(50, 4, |i| if i % 10 == 3 { Err(Error::Invalid(i.to_string())) } else { Ok(()) });
    assert_eq!(e.unwrap_err().to_string(), "3");
    side_by_side(0, 4, |_| panic!("nothing to do")).unwrap();
    let e = super::super::with_stop(&|| true, || side_by_side(9, 1, |_| panic!("stopped before")));
    assert!(matches!(e, Err(Error::Interrupted(_))));
}
