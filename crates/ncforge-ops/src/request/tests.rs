use serde_json::json;

use super::*;
use crate::choosing::Reader;
use crate::combine::CombineRequest;
use crate::compare::CompareRequest;
use crate::copy::{ChunkChoice, ChunkSpec, Chunks, CodecName, CopyRequest, FilterSpec, VarChunks};
use crate::doctor::DoctorRequest;
use crate::profile::Profile;
use crate::split::SplitRequest;
use crate::zip::{UnzipRequest, ZipRequest};
use ncforge::codec::FilterChain;
use ncforge_tune::StorageKind;
use ncforge_tune::codec::Goal;
use ncforge_tune::vocabulary::Words;

fn made<T: Default + Serialize + DeserializeOwned>(options: Value) -> Result<T, RequestError> {
    let Value::Object(map) = options else { panic!("an object") };
    from_options(map)
}

fn wrong<T: Default + Serialize + DeserializeOwned + fmt::Debug>(options: Value) -> String {
    made::<T>(options).expect_err("it is wrong").to_string()
}

fn all_read_back<T: Words + std::str::FromStr<Err = BadValue>>() {
    let mut seen = std::collections::HashSet::new();
    for word in T::WORDS {
        for name in word.aliases.iter().chain([&word.name]) {
            assert!(seen.insert(*name), "{name} stands for two values");
            assert!(name.parse::<T>().is_ok_and(|v| v == word.value), "{name}");
        }
        assert_eq!(word.value.word(), word.name);
    }
    let bad = "nonsense".parse::<T>().unwrap_err();
    assert!(bad.why.contains(T::WORDS[0].name), "{bad}");
}

#[test]
fn words_are_read_back() {
    all_read_back::<FormatChoice>();
    all_read_back::<CodecName>();
    all_read_back::<Goal>();
    all_read_back::<EndianChoice>();
    all_read_back::<Profile>();
    all_read_back::<StorageKind>();
    all_read_back::<Reader>();
    all_read_back::<crate::combine::SchemeName>();
    all_read_back::<crate::combine::Holes>();
    all_read_back::<crate::combine::Differing>();
    all_read_back::<crate::split::TileScheme>();
    all_read_back::<crate::zip::ZipCodec>();
}

/// A request as it is written is read back: what is sent to another process means the same there.
fn same_again<T>(request: &T)
where
    T: Default + Serialize + DeserializeOwned + PartialEq + fmt::Debug,
{
    let Ok(Value::Object(map)) = serde_json::to_value(request) else { panic!("an object") };
    assert_eq!(from_options::<T>(map).as_ref().ok(), Some(request));
}

#[test]
fn requests_are_read_back() {
    same_again(&CopyRequest::default());
    same_again(&CombineRequest::default());
    same_again(&SplitRequest { tiles: Some(Tiling(4, 3)), ..SplitRequest::default() });
    same_again(&ZipRequest::default());
    same_again(&UnzipRequest::default());
    same_again(&CompareRequest { tolerance: Some(1e-6), ..CompareRequest::default() });
    same_again(&DoctorRequest { select: "NC1,no-shuffle".parse().unwrap(), ..DoctorRequest::default() });
    let full: CopyRequest = made(json!({
        "format": "NETCDF4_CLASSIC", "chunks": "time/365,lat/;sst:1,2;w:compact;v:", "expect": "time=3650",
        "storage": "object", "reader": "netcdf-c", "writer_memory": "1G", "codec": "auto", "goal": "small",
        "allow_zstd": true, "shuffle": false, "access_points": 65536, "add_access_points": true,
        "fletcher32": true, "filters": ["tas|pr,shuffle,4|deflate,1", "v,none"],
        "keep_digits": 3, "endian": "big", "skip_fill": true, "fix_unlimited": true, "strict": true, "profile": "cmip7",
        "vars": ["a", "/g/b"], "groups": "g", "all_dimensions": true, "values_of": [], "select": {"lat": [-10, 10.5], "time": "2000-02"}, "min_chunked": 0,
        "header_space": "4K", "verify": true, "overwrite": true, "resume": true, "checkpoint": 0.5,
        "history": "me", "threads": 2, "memory": "512M",
    }))
    .unwrap();
    same_again(&full);
    let options = full.options().unwrap();
    assert_eq!(options.format, Some(ncforge::Format::Netcdf4Classic));
    assert_eq!(options.only.map(|n| (n.vars.len(), n.groups)), Some((2, vec!["g".to_owned()])));
    assert_eq!((options.header_room, options.min_chunked), (Some(4096), 0));
}

#[test]
fn specifications_are_written_as_they_are_read() {
    for text in ["/", "time/365;lat/", "sst:1,2,3", "/g/v:compact;v:contiguous;x/2"] {
        let spec = ChunkSpec::parse(text).unwrap();
        assert_eq!(ChunkSpec::parse(&spec.to_string()).unwrap(), spec, "{text}");
    }
    for text in ["none", "*,none", "sst|sss,zstd,3", "v,shuffle,4|deflate,1"] {
        let spec = FilterSpec::parse(text).unwrap();
        assert_eq!(FilterSpec::parse(&spec.to_string()).unwrap(), spec, "{text}");
    }
    assert_eq!(FilterSpec::parse("v,shuffle|zlib,1").unwrap().to_string(), "v,shuffle|deflate,1");
}

#[test]
fn specifications_say_any_name() {
    for name in ["a;b", "a,b", "a:b", "a|b&c", r"a\", r"\;", "*", "none", "a:1,2;b"] {
        let lens = VarChunks::Lens(vec![1, 2]);
        let vars = vec![(name.to_owned(), lens.clone()), ("v".to_owned(), lens)];
        let dims = vec![(name.to_owned(), Some(3)), (name.to_owned(), None)];
        let spec = ChunkSpec { vars, dims, unchunk: false };
        assert_eq!(ChunkSpec::parse(&spec.to_string()).unwrap(), spec, "{spec}");
        let chain: FilterChain = "shuffle|deflate,1".parse().unwrap();
        let vars = Some(vec![name.to_owned(), "v".to_owned()]);
        let spec = FilterSpec { vars, filters: chain.into() };
        assert_eq!(FilterSpec::parse(&spec.to_string()).unwrap(), spec, "{spec}");
    }
}

#[test]
fn the_options_of_a_request_make_it_again() {
    assert!(options_of(&CopyRequest::default()).is_empty());
    let given =
        json!({ "chunks": "v:1,2", "for": "map", "skip_fill": true, "vars": ["a,b"], "endian": "little" });
    let request: CopyRequest = from_options(given.as_object().unwrap().clone()).unwrap();
    let options = options_of(&request);
    assert_eq!(options.len(), 5, "{options:?}");
    assert_eq!(from_options::<CopyRequest>(options).unwrap(), request);
}

#[test]
fn unknown_options_name_the_nearest() {
    assert_eq!(
        wrong::<CopyRequest>(json!({ "codex": 1 })),
        "there is no option `codex`; did you mean `codec`?"
    );
    assert_eq!(
        wrong::<CombineRequest>(json!({ "hole": 1 })),
        "there is no option `hole`; did you mean `holes`?"
    );
    assert_eq!(wrong::<SplitRequest>(json!({ "qqq": 1 })), "there is no option `qqq`");
}

#[test]
fn wrong_values_name_their_option() {
    for (options, says) in [
        (json!({ "threads": 1, "format": "hdf" }), "`format`"),
        (json!({ "format": "netcdf5" }), "netcdf4"),
        (json!({ "level": -1 }), "`level`"),
        (json!({ "memory": "much" }), "`memory`"),
        (json!({ "memory": -1 }), "`memory`"),
        (json!({ "for": "fast" }), "`for`"),
        (json!({ "chunks": "lat" }), "`chunks`"),
        (json!({ "filters": ["v"] }), "`filters`"),
        (json!({ "access_points": "many" }), "`access_points`"),
        (json!({ "access_points": true }), "`access_points`"),
    ] {
        let message = wrong::<CopyRequest>(options);
        assert!(message.contains(says), "{message}");
    }
    for times in [json!("3"), json!([4, 4]), json!([-1, 3]), json!([0, 9, 2]), json!([0]), json!(true)] {
        assert!(wrong::<CombineRequest>(json!({ "times": times })).contains("first record"), "{times}");
    }
    for tiles in [json!("4"), json!("0x4"), json!([4, 0]), json!([1, 2, 3])] {
        assert!(wrong::<SplitRequest>(json!({ "tiles": tiles })).contains("4x3"), "{tiles}");
    }
}

#[test]
fn records_are_a_text_or_a_slice() {
    let times = |given: Value| made::<CombineRequest>(json!({ "times": given })).unwrap().times;
    assert_eq!(times(json!("2:")), Some(Times(2, u64::MAX)));
    assert_eq!(times(json!([null, 7])), Some(Times(0, 7)));
    assert_eq!(times(json!([2, null, null])), Some(Times(2, u64::MAX)));
    assert_eq!(times(json!([2, 5, 1])), Some(Times(2, 5)));
    assert_eq!(times(Value::Null), None);
}

fn refused<T: fmt::Debug>(done: Result<T, RequestError>) -> String {
    done.expect_err("it is wrong").to_string()
}

#[test]
fn options_that_do_not_go_together() {
    let copy = |options| refused(made::<CopyRequest>(options).unwrap().options());
    assert_eq!(
        copy(json!({ "goal": "small" })),
        "`goal` and `allow_zstd` go with `codec` = `auto`; add `codec` = `auto`"
    );
    assert!(copy(json!({ "for": "map", "chunks": "auto:series" })).contains("given twice"));
    assert!(copy(json!({ "keep_digits": 3, "keep_bits": 3 })).contains("exclude each other"));
    assert!(copy(json!({ "keep_digits": 16 })).contains("1..=15"));
    assert!(copy(json!({ "keep_bits": 0 })).contains("1..=52"));
    assert!(copy(json!({ "codec": "deflate", "level": 10 })).contains("level 10"));
    assert!(copy(json!({ "checkpoint": -1.0 })).contains("checkpoint"));
    let out = std::path::Path::new("out.nc");
    let combine = |options| refused(made::<CombineRequest>(options).unwrap().options(out));
    assert!(combine(json!({ "place": "x=attr:i" })).contains("`scheme` = `generic`"));
    assert!(combine(json!({ "scheme": "generic" })).contains("for every split dimension"));
    assert!(combine(json!({ "scheme": "generic", "place": "x" })).contains("placement"));
    assert!(combine(json!({ "append": true, "times": "0:1" })).contains("`times`"));
    let split = |options| refused(made::<SplitRequest>(options).unwrap().options());
    assert!(split(json!({})).contains("4x3"));
    assert!(split(json!({ "tiles": [2, 2], "dims": ["x"] })).contains("two dimensions"));
    let zip = |options| refused(made::<ZipRequest>(options).unwrap().options());
    assert!(zip(json!({ "codec": "lz4", "level": 1 })).contains("lz4"));
    assert!(zip(json!({ "codec": "deflate", "level": 10 })).contains("no level 10"));
    assert!(zip(json!({ "block": "5000" })).contains("power of two"));
    assert!(refused(made::<CompareRequest>(json!({ "tolerance": -1.0 })).unwrap().options()).contains("0"));
}

#[test]
fn reads_choose_chunks() {
    let chunks = |options| made::<CopyRequest>(options).unwrap().options().unwrap().chunks;
    assert_eq!(chunks(json!({})), Chunks::Keep);
    assert_eq!(chunks(json!({ "for": "map" })), Chunks::Auto);
    assert_eq!(chunks(json!({ "for": "map", "chunks": "keep" })), Chunks::Keep);
    let request: CopyRequest = made(json!({ "chunks": "auto:map=2" })).unwrap();
    assert!(matches!(&request.chunks, Some(ChunkChoice::Auto(Some(_)))));
    assert_eq!(request.options().unwrap().choosing.accesses[0].weight, 2.0);
}

#[cfg(unix)]
#[test]
fn paths_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let request: CombineRequest = made(json!({ "coords": [47, 255] })).unwrap();
    assert_eq!(request.coords.unwrap().as_os_str().as_bytes(), [47, 255]);
    let request: CombineRequest = made(json!({ "coords": "grid.nc" })).unwrap();
    assert_eq!(request.coords.unwrap().to_str(), Some("grid.nc"));
}
