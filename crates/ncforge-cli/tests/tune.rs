//! `ncforge tune`.

mod common;

use common::Place;

#[test]
fn chunks_are_chosen_with_reasons() {
    let p = Place::new();
    p.real("uv300.nc");
    let before = std::fs::read(p.path("uv300.nc")).expect("readable");
    p.run("tune chunks uv300.nc --vars U").exits(0).prints("chunks of").prints("series: ").prints("map: ");
    let doc = p.run("tune chunks uv300.nc --vars U --for map --no-sample --json").exits(0).json();
    assert_eq!(doc[0]["variable"], "U");
    let choice = &doc[0]["choice"];
    assert_eq!(choice["told"][0]["pattern"]["name"], "map");
    assert!(choice["bytes"].as_u64().is_some_and(|b| b > 0));
    p.run("tune chunks uv300.nc --for lat=3,lon=all --storage object").exits(0);
    p.run("tune chunks uv300.nc --for maps").exits(2).says("`maps`");
    p.run("tune chunks uv300.nc --vars nothing").says("nothing");
    p.run("tune chunks no.nc").exits(4);
    assert_eq!(std::fs::read(p.path("uv300.nc")).expect("readable"), before);
}
