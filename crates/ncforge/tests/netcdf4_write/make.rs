//! Files to be judged.

use std::path::Path;
use std::sync::Arc;

use ncforge::model::{
    Atomic, Attribute, DType, DimId, Dimension, Endian, Field, Fill, Format, Group, GroupId, Storage, TypeId,
    UserKind, UserType, Value, Values, VarId, Variable,
};
use ncforge::raw::{ContainerMut, netcdf4};
use ncforge::store::{FileStore, WriteStore};
use ncforge::{Hyperslab, Schema};

pub(crate) fn create(path: &Path, schema: Schema) -> Box<dyn ContainerMut> {
    let store: Arc<dyn WriteStore> = Arc::new(FileStore::create(path).unwrap());
    netcdf4::create(store, schema, &netcdf4::CreateOptions::default()).unwrap()
}

/// Writes stored bytes of a whole contiguous variable.
pub(crate) fn put(f: &mut Box<dyn ContainerMut>, var: VarId, stored: &[u8]) {
    let shape = f.schema().shape(var);
    f.will_write(var, &Hyperslab::all(&shape)).unwrap();
    let ncforge::raw::Place::Contiguous { offset } = f.layout(var).unwrap().place else {
        panic!("not contiguous")
    };
    f.write_store().write_at(stored, offset).unwrap();
}

fn chunked(chunks: &[u64], filters: Vec<ncforge::model::Filter>) -> Storage {
    Storage::Chunked { chunks: chunks.to_vec(), filters }
}

fn text(s: &str) -> Value {
    Value::String(Some(s.as_bytes().to_vec()))
}

fn ints(v: &[i32]) -> Vec<u8> {
    v.iter().flat_map(|x| x.to_ne_bytes()).collect()
}

/// The number `i` as a stored element.
fn number(a: Atomic, i: usize, big: bool) -> Vec<u8> {
    let mut b = match a {
        Atomic::Byte => (i as i8).to_le_bytes().to_vec(),
        Atomic::Char => vec![b'a' + i as u8],
        Atomic::UByte => vec![i as u8],
        Atomic::Short => (i as i16).to_le_bytes().to_vec(),
        Atomic::UShort => (i as u16).to_le_bytes().to_vec(),
        Atomic::Int => (i as i32).to_le_bytes().to_vec(),
        Atomic::UInt => (i as u32).to_le_bytes().to_vec(),
        Atomic::Int64 => (i as i64).to_le_bytes().to_vec(),
        Atomic::UInt64 => (i as u64).to_le_bytes().to_vec(),
        Atomic::Float => (i as f32).to_le_bytes().to_vec(),
        Atomic::Double => (i as f64).to_le_bytes().to_vec(),
    };
    if big {
        b.reverse();
    }
    b
}

/// Every atomic type in both byte orders, contiguous and in compressed chunks; every user-defined type;
/// strings; groups; scalars; compact data; nothing written; no fill.
pub(crate) fn all(path: &Path) {
    let mut s = Schema::new(Format::Netcdf4);
    s.dims =
        vec![Dimension::new("t", 3, true), Dimension::new("x", 4, false), Dimension::new("two", 2, false)];
    s.groups[0].attrs = vec![
        Attribute::text("title", "everything"),
        Attribute::strings("words", ["alpha", "", "gamma"]),
        Attribute {
            name: "numbers".into(),
            dtype: Atomic::Int.into(),
            values: Values::fixed(&ints(&[1, -2, 3])),
        },
        Attribute::text("empty", ""),
    ];
    s.groups.push(Group {
        name: "inner".into(),
        parent: Some(GroupId(0)),
        attrs: vec![Attribute::text("where", "inside")],
    });
    s.groups.push(Group { name: "deep".into(), parent: Some(GroupId(1)), attrs: vec![] });
    s.dims.push(Dimension { name: "t".into(), group: GroupId(1), len: 5, unlimited: false });
    let user = |name: &str, kind| UserType { name: name.into(), group: Schema::ROOT, kind };
    let field = |name: &str, offset, dtype: DType, shape: &[u32]| Field {
        name: name.into(),
        offset,
        dtype,
        shape: shape.to_vec(),
    };
    s.types = vec![
        user(
            "color",
            UserKind::Enum { base: Atomic::Short, members: vec![("RED".into(), -1), ("BLUE".into(), 300)] },
        ),
        user("blob", UserKind::Opaque { size: 5 }),
        user("ragged", UserKind::Vlen { base: Atomic::Int.into() }),
        user(
            "point",
            UserKind::Compound {
                size: 48,
                fields: vec![
                    field("k", 0, Atomic::Byte.into(), &[]),
                    field("v", 8, Atomic::Double.into(), &[2, 2]),
                    field("c", 40, Atomic::Short.into(), &[]),
                    field("s", 42, Atomic::Char.into(), &[4]),
                ],
            },
        ),
        user(
            "mixed",
            UserKind::Compound {
                size: 48,
                fields: vec![
                    field("name", 0, DType::String, &[2]),
                    field("n", 16, Atomic::Int.into(), &[]),
                    field("row", 24, DType::User(TypeId(2)), &[]),
                    field("last", 40, Atomic::Short.into(), &[]),
                ],
            },
        ),
        user("rows", UserKind::Vlen { base: DType::String }),
    ];
    for a in Atomic::ALL {
        for (suffix, endian) in [("le", Endian::Little), ("be", Endian::Big)] {
            let mut v = Variable::new(format!("{}_{suffix}", a.cdl_name()), a, vec![DimId(1)]);
            v.endian = endian;
            s.vars.push(v);
            let mut v = Variable::new(format!("{}_{suffix}_z", a.cdl_name()), a, vec![DimId(0), DimId(1)]);
            v.endian = endian;
            v.storage = chunked(
                &[2, 3],
                vec![ncforge::codec::filters::shuffle(a.size()), ncforge::codec::filters::deflate(3)],
            );
            s.vars.push(v);
        }
    }
    let first_user = s.vars.len();
    for (i, name) in ["color", "blob", "ragged", "point", "mixed", "rows"].iter().enumerate() {
        s.vars.push(Variable::new(format!("u_{name}"), DType::User(TypeId(i)), vec![DimId(2)]));
    }
    let mut v = Variable::new("strings", DType::String, vec![DimId(0), DimId(2)]);
    v.storage = chunked(&[1, 2], vec![]);
    v.attrs.push(Attribute::strings("_FillValue", ["nothing"]));
    s.vars.push(v);
    let mut v = Variable::new("blank", DType::String, vec![DimId(0), DimId(2)]);
    v.storage = chunked(&[1, 2], vec![]);
    s.vars.push(v);
    s.vars.push(Variable::new("scalar", Atomic::Int, vec![]));
    let mut v = Variable::new("t", Atomic::Double, vec![DimId(0)]);
    v.storage = chunked(&[512], vec![]);
    v.attrs.push(Attribute::text("units", "days since 2000-01-01"));
    s.vars.push(v);
    let mut v = Variable::new("compact", Atomic::Float, vec![DimId(1)]);
    v.storage = Storage::Compact;
    s.vars.push(v);
    let mut v = Variable::new("never", Atomic::Int, vec![DimId(1), DimId(2)]);
    v.attrs.push(Attribute {
        name: "_FillValue".into(),
        dtype: Atomic::Int.into(),
        values: Values::fixed(&ints(&[-9])),
    });
    s.vars.push(v);
    let mut v = Variable::new("partly", Atomic::Short, vec![DimId(1), DimId(2)]);
    v.fill = Fill::Default;
    s.vars.push(v);
    let mut v = Variable::new("unfilled", Atomic::Int, vec![DimId(1)]);
    v.fill = Fill::None;
    s.vars.push(v);
    // Named like a dimension, but not its coordinate.
    s.vars.push(Variable::new("two", Atomic::Int, vec![DimId(1), DimId(2)]));
    let mut v = Variable::new("q", Atomic::Int, vec![DimId(3), DimId(1)]);
    v.group = GroupId(2);
    v.attrs.push(Attribute {
        name: "shade".into(),
        dtype: DType::User(TypeId(0)),
        values: Values::fixed(&(-1i16).to_ne_bytes()),
    });
    v.attrs.push(Attribute {
        name: "list".into(),
        dtype: DType::User(TypeId(5)),
        values: Values::Heap(vec![Value::HeapRow(vec![text("a"), text("bb")]), Value::HeapRow(vec![])]),
    });
    s.vars.push(v);
    let s0 = s.clone();
    let find = |name: &str| s0.find_var(name).unwrap();
    let mut f = create(path, s);

    let mut id = 0;
    for a in Atomic::ALL {
        for big in [false, true] {
            let flat: Vec<u8> = (0..4).flat_map(|i| number(a, i + 1, big)).collect();
            put(&mut f, VarId(id), &flat);
            let layout = f.layout(VarId(id + 1)).unwrap();
            let ncforge::raw::Place::Chunked { codecs, .. } = &layout.place else { panic!() };
            for (ci, cj) in [(0u64, 0u64), (0, 1), (1, 0), (1, 1)] {
                let mut raw = Vec::new();
                for i in 0..2 {
                    for j in 0..3 {
                        let (t, x) = (ci * 2 + i, cj * 3 + j);
                        raw.extend(number(a, if t < 3 && x < 4 { (t * 4 + x) as usize } else { 0 }, big));
                    }
                }
                let (encoded, mask) = codecs.encode(&raw).unwrap();
                f.place_chunk(VarId(id + 1), &[ci, cj], &encoded, mask).unwrap();
            }
            id += 2;
        }
    }
    assert_eq!(id, first_user);
    put(&mut f, VarId(first_user), &[255, 255, 44, 1]);
    put(&mut f, VarId(first_user + 1), b"hellowurst");
    let rows = [Value::Row(ints(&[1, 2, 3])), Value::Row(vec![])];
    let stored = f.encode_heap(VarId(first_user + 2), &rows).unwrap();
    put(&mut f, VarId(first_user + 2), &stored);
    let mut points = vec![0u8; 96];
    for p in 0..2usize {
        let at = p * 48;
        points[at] = p as u8 + 1;
        for i in 0..4 {
            points[at + 8 + 8 * i..at + 16 + 8 * i].copy_from_slice(&((p * 10 + i) as f64).to_le_bytes());
        }
        points[at + 40..at + 42].copy_from_slice(&300i16.to_le_bytes());
        points[at + 42..at + 46].copy_from_slice(b"wxyz");
    }
    put(&mut f, VarId(first_user + 3), &points);
    let mixed = |n: i32, words: [Value; 2], row: &[i32]| {
        let [a, b] = words;
        Value::Compound(vec![
            a,
            b,
            Value::Fixed(n.to_ne_bytes().to_vec()),
            Value::Row(ints(row)),
            Value::Fixed(7i16.to_ne_bytes().to_vec()),
        ])
    };
    let values =
        [mixed(5, [text("one"), Value::String(None)], &[9]), mixed(6, [text(""), text("four")], &[8, 7])];
    let stored = f.encode_heap(VarId(first_user + 4), &values).unwrap();
    assert_eq!(f.schema().memory_size(DType::User(TypeId(4))), 48);
    put(&mut f, VarId(first_user + 4), &stored);
    let values = [Value::HeapRow(vec![text("p"), text("qq")]), Value::HeapRow(vec![])];
    let stored = f.encode_heap(VarId(first_user + 5), &values).unwrap();
    put(&mut f, VarId(first_user + 5), &stored);
    f.settle(VarId(first_user + 5)).unwrap();
    assert_eq!(f.decode_heap(VarId(first_user + 5), &stored).unwrap(), values);
    let v = find("strings");
    for t in 0..3u64 {
        let stored = f.encode_heap(v, &[text(&format!("s{t}")), text("ä")]).unwrap();
        f.place_chunk(v, &[t, 0], &stored, 0).unwrap();
    }
    put(&mut f, find("scalar"), &42i32.to_le_bytes());
    let mut t: Vec<u8> = [0.5f64, 1.5, 2.5].iter().flat_map(|x| x.to_le_bytes()).collect();
    t.resize(512 * 8, 0);
    f.place_chunk(find("t"), &[0], &t, 0).unwrap();
    let bytes: Vec<u8> = [1f32, 2., 3., 4.].iter().flat_map(|x| x.to_le_bytes()).collect();
    f.place_inline(find("compact"), &bytes).unwrap();
    let v = find("partly");
    f.will_write(v, &Hyperslab::new(&[1, 0], &[2, 1])).unwrap();
    let ncforge::raw::Place::Contiguous { offset } = f.layout(v).unwrap().place else { panic!() };
    f.write_store().write_at(&7i16.to_le_bytes(), offset + 4).unwrap();
    f.write_store().write_at(&8i16.to_le_bytes(), offset + 8).unwrap();
    put(&mut f, find("two"), &ints(&[1, 2, 3, 4, 5, 6, 7, 8]));
    put(&mut f, find("inner/deep/q"), &ints(&(0..20).collect::<Vec<_>>()));
    f.sync().unwrap();
}

/// More variables and attributes than a library keeps in headers by itself.
pub(crate) fn many(path: &Path, vars: usize) {
    let mut s = Schema::new(Format::Netcdf4);
    s.dims = vec![Dimension::new("t", 2, true), Dimension::new("x", 3, false)];
    for i in 0..300 {
        s.groups[0].attrs.push(Attribute::text(format!("a{i:03}"), &format!("value {i}")));
    }
    for i in 0..vars {
        let mut v = Variable::new(format!("v{i:05}"), Atomic::Int, vec![DimId(0), DimId(1)]);
        v.storage = chunked(&[1, 3], vec![]);
        for k in 0..(if i == 0 { 50 } else { 2 }) {
            v.attrs.push(Attribute::text(format!("k{k}"), "v"));
        }
        s.vars.push(v);
    }
    let mut f = create(path, s);
    for i in 0..vars {
        for t in 0..2u64 {
            let i = i as i32;
            f.place_chunk(VarId(i as usize), &[t, 0], &ints(&[i, i + 1, t as i32]), 0).unwrap();
        }
    }
    f.sync().unwrap();
}

/// `n` chunks, of which the index has three levels.
pub(crate) fn chunks(path: &Path, n: u64) {
    let mut s = Schema::new(Format::Netcdf4);
    s.dims = vec![Dimension::new("t", n, true), Dimension::new("x", 2, false)];
    let mut v = Variable::new("v", Atomic::Int, vec![DimId(0), DimId(1)]);
    v.storage = chunked(&[1, 2], vec![]);
    s.vars.push(v);
    let store = Arc::new(ncforge::store::MemoryStore::new("chunks.nc", Vec::new()));
    let mut f =
        netcdf4::create(Arc::clone(&store) as Arc<dyn WriteStore>, s, &netcdf4::CreateOptions::default())
            .unwrap();
    for t in 0..n {
        f.place_chunk(VarId(0), &[t, 0], &ints(&[t as i32, -(t as i32)]), 0).unwrap();
    }
    f.sync().unwrap();
    std::fs::write(path, store.to_vec()).unwrap();
}

/// Nothing in it, or nothing yet.
pub(crate) fn empty(path: &Path) {
    let mut s = Schema::new(Format::Netcdf4Classic);
    s.dims =
        vec![Dimension::new("t", 0, true), Dimension::new("unused", 7, false), Dimension::new("x", 3, false)];
    let mut v = Variable::new("v", Atomic::Float, vec![DimId(0), DimId(2)]);
    v.storage = chunked(&[1, 3], vec![ncforge::codec::filters::fletcher32()]);
    s.vars.push(v);
    s.vars.push(Variable::new("x", Atomic::Float, vec![DimId(2)]));
    create(path, s).sync().unwrap();
}

/// Uses of one dimension that make the list of its users larger than a header message.
pub(crate) fn shared(path: &Path) {
    let mut s = Schema::new(Format::Netcdf4);
    s.dims = vec![Dimension::new("x", 1, false)];
    for i in 0..300 {
        s.vars.push(Variable::new(format!("v{i}"), Atomic::Int, vec![DimId(0); 16]));
    }
    let mut f = create(path, s);
    for i in 0..300i32 {
        put(&mut f, VarId(i as usize), &i.to_le_bytes());
    }
    f.sync().unwrap();
}

/// Attributes too large for a header.
pub(crate) fn large(path: &Path) {
    let mut s = Schema::new(Format::Netcdf4);
    s.dims = vec![Dimension::new("x", 2, false)];
    s.groups[0].attrs =
        vec![Attribute::text("small", "s"), Attribute::text("big", &"0123456789".repeat(10_000))];
    let mut v = Variable::new("v", Atomic::Int, vec![DimId(0)]);
    let doubles: Vec<u8> = (0..130_000).flat_map(|i| f64::from(i).to_ne_bytes()).collect();
    v.attrs = vec![
        Attribute::text("units", "m"),
        Attribute { name: "doubles".into(), dtype: Atomic::Double.into(), values: Values::fixed(&doubles) },
        Attribute::strings("words", ["x", "y"]),
    ];
    for i in 0..40 {
        v.attrs.push(Attribute::text(format!("n{i}"), "more"));
    }
    s.vars.push(v);
    create(path, s).sync().unwrap();
}
