//! Any chunks into any chunks, by any codec.

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_chunks_into_any_chunks(
        dims in prop::collection::vec((0u64..14, 1u64..8, 1u64..8), 0..4),
        source_chunked: bool,
        memory in prop::sample::select(vec![1u64 << 20, 1 << 30]),
        codec in prop::sample::select(vec![Codec::None, Codec::Deflate, Codec::Zstd, Codec::Keep]),
        target in prop::sample::select(vec!["spec", "auto", "keep", "cdf5"]),
    ) {
        let folder = Folder::new();
        let e = engine(memory, 2);
        let shape: Vec<u64> = dims.iter().enumerate().map(|(i, d)| if i == 0 { d.0 } else { d.0.max(1) }).collect();
        let source: Vec<u64> = dims.iter().zip(&shape).enumerate()
            .map(|(i, (d, &n))| if i == 0 { d.1 } else { d.1.min(n) }).collect();
        let filters = vec![ncforge::codec::filters::shuffle(4), ncforge::codec::filters::deflate(1)];
        let s = schema(Format::Netcdf4, &shape, (source_chunked && !shape.is_empty()).then_some(&source), &filters);
        if !source_chunked && shape.first() == Some(&0) {
            return Ok(());
        }
        make(&folder.path("a.nc"), &s, &e);
        let spec: Vec<String> =
            dims.iter().enumerate().map(|(i, d)| format!("d{i}/{}", d.2)).collect();
        let options = match target {
            "spec" if !spec.is_empty() => netcdf4(&spec.join(","), codec),
            "keep" => netcdf4("keep", codec),
            "cdf5" => CopyOptions { format: Some(Format::Cdf5), verify: true, ..CopyOptions::default() },
            _ => netcdf4("auto", codec),
        };
        copy(&folder.path("a.nc"), &folder.path("b.nc"), &options, &e, &Silent).unwrap();
        assert_same(&folder.path("a.nc"), &folder.path("b.nc"), &e);
        prop_assert_eq!(folder.files(), ["a.nc", "b.nc"]);
    }
}
