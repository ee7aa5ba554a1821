//! How values are encoded: names, and every coding there and back.

use ncforge_bench::driver::{Codec, Coding, Rounding, Shuffle};

#[test]
fn names_are_read_and_written() {
    for text in ["none", "deflate=4", "zstd=-3", "lz4", "lzf", "bzip2=9", "blosc-lz4=5", "blosc-zstd=1"] {
        assert_eq!(text.parse::<Codec>().unwrap().to_string(), text);
    }
    assert_eq!("zstd".parse(), Ok(Codec::Zstd(3)));
    for text in ["bitgroom=3", "granular=2", "bitround=9"] {
        assert_eq!(text.parse::<Rounding>().unwrap().to_string(), text);
    }
    for (text, why) in [
        ("deflate=10", "1 to 9"),
        ("zstd=x", "no level of zstd"),
        ("lz4=1", "no levels"),
        ("snappy", "no codec `snappy`"),
    ] {
        let e = text.parse::<Codec>().unwrap_err();
        assert!(e.contains(why), "{e}");
    }
    assert!("bitround".parse::<Rounding>().is_err() && "bytewise".parse::<Shuffle>().is_err());
    let coding =
        Coding { codec: Codec::Zstd(3), shuffle: Shuffle::Bits, rounding: "bitround=9".parse().ok() };
    let saved = serde_json::to_value(coding).unwrap();
    assert_eq!(saved, serde_json::json!({"codec": "zstd=3", "shuffle": "bits", "rounding": "bitround=9"}));
    assert_eq!(coding.to_string(), "bitshuffle + zstd 3, bitround 9");
}

#[test]
fn every_coding_goes_there_and_back() {
    let values: Vec<u8> = (0..4096u32).flat_map(|v| (v / 3).to_ne_bytes()).collect();
    for codec in ["none", "deflate=1", "zstd=3", "lz4", "lzf", "bzip2=9", "blosc-lz4=5", "blosc-zstd=5"] {
        for shuffle in [Shuffle::Off, Shuffle::Bytes, Shuffle::Bits] {
            let coding = Coding { codec: codec.parse().unwrap(), shuffle, rounding: None };
            let chain = ncforge::codec::CodecChain::new(&coding.filters(4, values.len()), 4).unwrap();
            assert_eq!(chain.is_empty(), !coding.is_filtered(), "{coding}");
            let (encoded, mask) = chain.encode(&values).unwrap();
            let mut back = vec![0; values.len()];
            chain.decode(&encoded, mask, &mut back).unwrap();
            assert!(back == values && mask == 0, "{coding}");
            if coding.codec != Codec::None {
                assert!(encoded.len() < values.len(), "{coding}");
            }
        }
    }
}
