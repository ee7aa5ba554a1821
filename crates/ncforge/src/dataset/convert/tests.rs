//! Each pair of types against netCDF-C's rules, written down as arithmetic on wide numbers; selections, blocks and maps.

use proptest::prelude::*;

use super::*;
use crate::dataset::{CreateOptions, Dataset, DatasetMut, NewFilter, NewLayout, NewVariable};
use crate::engine::Engine;
use crate::select::Hyperslab;
use crate::store::MemoryStore;
use std::sync::Arc;

/// A number wider than all types.
#[derive(Clone, Copy, Debug)]
enum Wide {
    Whole(i128),
    Float(f64),
}

fn wide(of: Atomic, b: &[u8]) -> Wide {
    macro_rules! whole {
        ($t:ty) => {
            Wide::Whole(i128::from(<$t>::from_ne_bytes(b.try_into().unwrap())))
        };
    }
    match of {
        Atomic::Byte => whole!(i8),
        Atomic::UByte | Atomic::Char => whole!(u8),
        Atomic::Short => whole!(i16),
        Atomic::UShort => whole!(u16),
        Atomic::Int => whole!(i32),
        Atomic::UInt => whole!(u32),
        Atomic::Int64 => whole!(i64),
        Atomic::UInt64 => whole!(u64),
        Atomic::Float => Wide::Float(f64::from(f32::from_ne_bytes(b.try_into().unwrap()))),
        Atomic::Double => Wide::Float(f64::from_ne_bytes(b.try_into().unwrap())),
    }
}

/// Least and greatest integer of a type.
fn limits(of: Atomic) -> Option<(i128, i128)> {
    let unsigned = |bits: u32| (0, (1i128 << bits) - 1);
    let signed = |bits: u32| (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1);
    Some(match of {
        Atomic::Byte => signed(8),
        Atomic::UByte | Atomic::Char => unsigned(8),
        Atomic::Short => signed(16),
        Atomic::UShort => unsigned(16),
        Atomic::Int => signed(32),
        Atomic::UInt => unsigned(32),
        Atomic::Int64 => signed(64),
        Atomic::UInt64 => unsigned(64),
        Atomic::Float | Atomic::Double => return None,
    })
}

/// A number as netCDF-C converts it: its bytes, and whether it is out of range.
fn by_the_rules(value: Wide, to: Atomic) -> (Vec<u8>, bool) {
    let whole = |n: i128| n.to_ne_bytes()[..to.size()].to_vec();
    match (value, limits(to)) {
        // Two's complement: the low bytes.
        (Wide::Whole(n), Some((low, high))) => (whole(n), n < low || n > high),
        (Wide::Whole(n), None) if to == Atomic::Float => ((n as f32).to_ne_bytes().to_vec(), false),
        (Wide::Whole(n), None) => ((n as f64).to_ne_bytes().to_vec(), false),
        (Wide::Float(x), Some((low, high))) => {
            // Compared as doubles, of which the limits of 64 bits are none: 2^63 passes.
            let outside = x > high as f64 || x < low as f64;
            let nearest = if x.is_nan() { 0 } else { (x.trunc() as i128).clamp(low, high) };
            (whole(nearest), outside)
        }
        (Wide::Float(x), None) if to == Atomic::Float => {
            ((x as f32).to_ne_bytes().to_vec(), x.abs() > f64::from(f32::MAX))
        }
        (Wide::Float(x), None) => (x.to_ne_bytes().to_vec(), false),
    }
}

/// Values of a type: any bits, and those at the limits of all types.
fn values_of(of: Atomic, any: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    for n in any {
        out.extend_from_slice(&n.to_ne_bytes()[..of.size()]);
    }
    let edges = Atomic::ALL.into_iter().filter_map(limits).flat_map(|(low, high)| {
        [low - 1, low, low + 1, -1, 0, 1, high - 1, high, high + 1].map(|n| n as f64)
    });
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30, -1e30, 3.5e38, -0.5, 0.999, 2.5];
    for x in edges.chain(odd) {
        match of {
            Atomic::Float => out.extend_from_slice(&(x as f32).to_ne_bytes()),
            Atomic::Double => out.extend_from_slice(&x.to_ne_bytes()),
            other => out.extend_from_slice(&(x as i128).to_ne_bytes()[..other.size()]),
        }
    }
    out
}

fn numbers() -> impl Iterator<Item = Atomic> {
    Atomic::ALL.into_iter().filter(|&a| a != Atomic::Char)
}

fn is_nan(of: Atomic, bytes: &[u8]) -> bool {
    matches!(wide(of, bytes), Wide::Float(x) if x.is_nan())
}

proptest! {
    #[test]
    fn every_pair_of_types_follows_the_rules(any in proptest::collection::vec(any::<u64>(), 0..40)) {
        for from in numbers() {
            let values = values_of(from, &any);
            for to in numbers().filter(|&to| to != from) {
                let (got, out_of_range) = convert_numbers(from, &values, to).unwrap();
                let mut counted = 0;
                for (value, result) in values.chunks(from.size()).zip(got.chunks(to.size())) {
                    let (wanted, outside) = by_the_rules(wide(from, value), to);
                    counted += u64::from(outside);
                    let both_nan = is_nan(to, &wanted) && is_nan(to, result);
                    prop_assert!(both_nan || result == wanted, "{from:?} {value:?} to {to:?}: {result:?} {wanted:?}");
                }
                prop_assert_eq!(out_of_range, counted, "{:?} to {:?}", from, to);
            }
        }
    }
}

#[test]
fn bytes_are_signed_and_unsigned_where_there_is_no_ubyte() {
    let (byte, ubyte) = (Atomic::Byte, Atomic::UByte);
    for (format, read, written) in [
        (Format::Cdf1, 0, 0),
        (Format::Cdf2, 0, 0),
        (Format::Cdf5, 1, 1),
        (Format::Netcdf4, 1, 1),
        (Format::Netcdf4Classic, 1, 0),
    ] {
        let (mut file, all) = file(format, byte, &[2], None);
        let put = file.put_converted(VarId(0), &all, ubyte, &[3, 200]).unwrap();
        assert_eq!(put.out_of_range, written, "{format:?}");
        let mut out = [0; 2];
        let got = file.get_converted(VarId(0), &all, ubyte, &mut out).unwrap();
        assert_eq!((got.out_of_range, out), (read, [3, 200]), "{format:?}");
    }
}

/// A file in memory with one variable.
fn file(format: Format, of: Atomic, shape: &[u64], chunks: Option<&[u64]>) -> (DatasetMut, Hyperslab) {
    let store = Arc::new(MemoryStore::new("memory", Vec::new()));
    file_in(store, format, of, shape, chunks)
}

fn file_in(
    store: Arc<MemoryStore>,
    format: Format,
    of: Atomic,
    shape: &[u64],
    chunks: Option<&[u64]>,
) -> (DatasetMut, Hyperslab) {
    let mut new = DatasetMut::begin_in(store, format, CreateOptions::default());
    let dims: Vec<_> = (0..shape.len())
        .map(|d| new.dimension(Schema::ROOT, &format!("d{d}"), Some(shape[d])).unwrap())
        .collect();
    let mut var = NewVariable::new("v", of, &dims);
    if let Some(chunks) = chunks {
        var.storage.layout = NewLayout::Chunked(chunks.to_vec());
        var.storage.filters.push(NewFilter::Deflate(1));
    }
    new.variable(var).unwrap();
    (new.into_dataset().unwrap(), Hyperslab::all(shape))
}

#[test]
fn selections_larger_than_a_buffer_are_converted_in_parts() {
    // 16 MB of doubles: more than one block either way.
    let shape = [4, 130_000, 4];
    let values: Vec<f64> = (0..shape.iter().product::<u64>()).map(|i| i as f64 / 4.0 - 9.0).collect();
    for chunks in [None, Some(&[2, 50_000, 4][..])] {
        let store = Arc::new(MemoryStore::new("memory", Vec::new()));
        let (mut out, all) = file_in(store.clone(), Format::Netcdf4, Atomic::Double, &shape, chunks);
        let floats: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        out.put_as(VarId(0), &all, &floats).unwrap().in_range().unwrap();
        out.close().unwrap();
        let back = Dataset::from_store(store, &Engine::global()).unwrap();
        let got = back.get_as::<f32>(VarId(0), &all).unwrap().in_range().unwrap();
        assert!(got == floats);
        let ints = back.get_as::<i32>(VarId(0), &all).unwrap().in_range().unwrap();
        assert!(ints.iter().zip(&values).all(|(&i, &x)| i == x as i32));
        let bytes = back.get_as::<u8>(VarId(0), &all).unwrap();
        let outside = values.iter().filter(|&&x| !(0.0..=255.0).contains(&x)).count() as u64;
        assert_eq!(bytes.out_of_range, outside);
        assert_eq!(bytes.in_range().unwrap_err().netcdf_code(), -60);
    }
}

#[test]
fn small_types_are_widened_in_place() {
    let shape = [3, 5000];
    let values: Vec<i16> = (0..15_000).map(|i| i as i16 - 7000).collect();
    let (mut out, all) = file(Format::Cdf2, Atomic::Short, &shape, None);
    out.put(VarId(0), &all, &values).unwrap();
    let mut got = vec![0u8; 15_000 * 8];
    out.get_converted(VarId(0), &all, Atomic::Double, &mut got).unwrap().in_range().unwrap();
    let wanted: Vec<u8> = values.iter().flat_map(|&n| f64::from(n).to_ne_bytes()).collect();
    assert!(got == wanted);
}

#[test]
fn text_and_numbers_and_what_does_not_fit_are_refused() {
    let (mut out, all) = file(Format::Cdf5, Atomic::Char, &[3], None);
    assert_eq!(out.put_as(VarId(0), &all, &[1i32, 2, 3]).unwrap_err().netcdf_code(), -56);
    out.put_as(VarId(0), &all, b"abc").unwrap().in_range().unwrap();
    let mut text = [0; 3];
    out.get_converted(VarId(0), &all, Atomic::Char, &mut text).unwrap().in_range().unwrap();
    assert_eq!(&text, b"abc");
    assert_eq!(out.get_converted(VarId(0), &all, Atomic::Int, &mut [0; 12]).unwrap_err().netcdf_code(), -56);
    assert!(out.get_converted(VarId(0), &all, Atomic::Char, &mut [0; 2]).is_err());
    let (mut out, _) = file(Format::Cdf5, Atomic::Int, &[3], None);
    let number = |out: &mut DatasetMut, start, count, stride| {
        let slab = Hyperslab::strided(&[start], &[count], &[stride]);
        out.put_as(VarId(0), &slab, &vec![1i16; count as usize]).unwrap_err().netcdf_code()
    };
    assert_eq!(number(&mut out, 3, 1, 1), -40);
    assert_eq!(number(&mut out, 2, 2, 1), -57);
    assert_eq!(number(&mut out, 0, 2, 0), -58);
    assert_eq!(out.put_as(VarId(9), &Hyperslab::all(&[3]), &[1i16; 3]).unwrap_err().netcdf_code(), -49);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A map is where each element lies, whatever the order; writing by it and reading by it are inverse.
    #[test]
    fn mapped_arrays(
        shape in proptest::collection::vec(1u64..5, 0..4),
        order in any::<u64>(),
        flips in any::<u8>(),
    ) {
        let rank = shape.len();
        // Dense steps in a random order of the dimensions, some of them backwards.
        let mut dims: Vec<usize> = (0..rank).collect();
        dims.sort_by_key(|&d| order.rotate_left(11 * d as u32) % 97);
        let (mut steps, mut step, mut origin) = (vec![0isize; rank], 1isize, 0usize);
        for &d in &dims {
            steps[d] = step;
            if flips >> d & 1 == 1 {
                origin += (step * (shape[d] as isize - 1)) as usize;
                steps[d] = -step;
            }
            step *= shape[d] as isize;
        }
        let imap = Imap { origin, steps };
        let (mut out, all) = file(Format::Cdf5, Atomic::Short, &shape, None);
        let count = all.len() as usize;
        let memory: Vec<f32> = (0..count).map(|i| i as f32).collect();
        out.put_mapped(VarId(0), &all, &imap, &memory).unwrap().in_range().unwrap();
        let mut plain = vec![0u8; count * 4];
        out.get_converted(VarId(0), &all, Atomic::Int, &mut plain).unwrap().in_range().unwrap();
        let plain: Vec<i32> =
            plain.as_chunks().0.iter().map(|b| i32::from_ne_bytes(*b)).collect();
        for (i, &got) in plain.iter().enumerate() {
            let at = crate::select::unravel(i as u64, &shape);
            let place = at.iter().zip(&imap.steps).fold(origin as isize, |p, (&i, &s)| p + i as isize * s);
            prop_assert_eq!(got as isize, place);
        }
        let store = Arc::new(MemoryStore::new("memory", Vec::new()));
        let (mut again, _) = file_in(store.clone(), Format::Cdf5, Atomic::Short, &shape, None);
        again.put_mapped(VarId(0), &all, &imap, &memory).unwrap().in_range().unwrap();
        again.close().unwrap();
        let back = Dataset::from_store(store, &Engine::global()).unwrap();
        let mut got = vec![0f32; count];
        back.get_mapped(VarId(0), &all, &imap, &mut got).unwrap().in_range().unwrap();
        prop_assert_eq!(got, memory);
    }
}

#[test]
fn a_map_that_leaves_memory_is_refused() {
    let (mut out, all) = file(Format::Cdf1, Atomic::Int, &[2, 3], None);
    for (origin, steps) in [(0, vec![3, 2]), (0, vec![-1, 1]), (0, vec![isize::MAX, 1])] {
        let error = out.put_mapped(VarId(0), &all, &Imap { origin, steps }, &[0i32; 6]).unwrap_err();
        assert!(matches!(error, Error::Length(_)), "{error}");
    }
    assert!(out.put_mapped(VarId(0), &all, &Imap::new(&[1]), &[0i32; 6]).is_err());
}
