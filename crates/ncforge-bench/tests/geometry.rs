//! The parts of the array that ranks move in `bench io`.

use ncforge_bench::Error;
use ncforge_bench::workload::io::{Geometry, GeometryRequest};

fn request(data: &str, block: Option<&str>) -> GeometryRequest {
    GeometryRequest {
        data: Some(data.parse().unwrap()),
        block: block.map(|b| b.parse().unwrap()),
        ..GeometryRequest::default()
    }
}

#[test]
fn the_defaults_are_netcdf_benchs() {
    let request = GeometryRequest { nodes: Some(2), ppn: Some(2), ..GeometryRequest::default() };
    let g = Geometry::resolve(&request, 4, 1).unwrap();
    assert_eq!((g.data.clone(), g.block.clone()), (vec![100, 200, 200, 10], vec![1, 100, 100, 10]));
    assert_eq!(g.origin(3), [0, 100, 100, 0]);
    assert_eq!(g.origin(1), [0, 0, 100, 0]);
    assert_eq!(g.slab(2, 7).start, [7, 100, 0, 0]);
}

#[test]
fn every_element_is_moved_once() {
    for (data, block, ranks) in [
        ("6:4:6", Some("2:2:2"), 6),
        ("12", Some("2"), 3),
        ("4:12", None, 4),
        ("2:3:4:5:6", Some("1:3:2:5:2"), 6),
    ] {
        let g = Geometry::resolve(&request(data, block), ranks, 1).unwrap();
        let mut seen = vec![0u8; g.data.iter().product::<u64>() as usize];
        for rank in 0..ranks {
            for call in 0..g.calls() {
                let slab = g.slab(rank, call);
                slab.check(&g.data, "v").unwrap();
                let ranges: Vec<_> = slab.start.iter().zip(&slab.count).map(|(&s, &c)| s..s + c).collect();
                for at in ncforge::raw::coordinates(&ranges) {
                    let i = at.iter().zip(&g.data).fold(0, |i, (&a, &n)| i * n + a);
                    seen[i as usize] += 1;
                }
            }
        }
        assert!(seen.iter().all(|&n| n == 1), "{data} {block:?}");
    }
}

#[test]
fn what_does_not_fit_is_an_error_with_what_would() {
    let wrong = [
        (request("20:100:200:10", Some("1:100:200:10")), 4),
        (request("20:100:100:10", Some("1:10:10:10")), 1),
        (request("21:100:100:10", Some("2:100:100:10")), 1),
        (request("20:100:100:10", Some("1:100:101:10")), 1),
        (request("20:100:100:10", Some("1:100:100")), 1),
        (request("20:101:100:10", None), 3),
    ];
    for (r, ranks) in wrong {
        let e = Geometry::resolve(&r, ranks, 1).unwrap_err();
        assert!(matches!(e, Error::Invalid(_)), "{e}");
    }
    let r = GeometryRequest { nodes: Some(3), ppn: Some(2), ..GeometryRequest::default() };
    assert!(Geometry::resolve(&r, 4, 1).is_err());
    // Products that no number can tell.
    let r = GeometryRequest { nodes: Some(u64::MAX), ppn: Some(2), ..GeometryRequest::default() };
    assert!(Geometry::resolve(&r, u64::MAX - 1, 1).is_err());
    let e = Geometry::resolve(&request("20:200:200:10", Some("1:100:200:10")), 4, 1).unwrap_err();
    assert!(e.to_string().contains("try 1:200:50:10"), "{e}");
}
