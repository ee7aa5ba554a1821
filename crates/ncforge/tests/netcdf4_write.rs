//! Files that ncforge writes through [`ncforge::ContainerMut`], read by everybody else.

use std::path::Path;
use std::sync::Arc;

use ncforge::model::{Atomic, Attribute, DimId, Dimension, Format, Storage, Variable};
use ncforge::store::{FileStore, Store};
use ncforge::{ContainerMut, Hyperslab, Schema, netcdf4};

fn dim(name: &str, len: u64, unlimited: bool) -> Dimension {
    Dimension { name: name.into(), group: Schema::ROOT, len, unlimited }
}

fn create(path: &Path, schema: Schema) -> Box<dyn ContainerMut> {
    let store: Arc<dyn Store> = Arc::new(FileStore::create(path).unwrap());
    netcdf4::create(store, schema, &netcdf4::CreateOptions::default()).unwrap()
}

#[test]
fn first() {
    let mut s = Schema::new(Format::Netcdf4);
    s.dims = vec![dim("t", 3, true), dim("x", 4, false), dim("bnds", 2, false)];
    s.groups[0].attrs.push(Attribute::text("title", "hello"));
    s.groups[0].attrs.push(Attribute::strings("names", ["a", "", "ccc"]));
    let mut v = Variable::new("x", Atomic::Double, vec![DimId(1)]);
    v.attrs.push(Attribute::text("units", "m"));
    s.vars.push(v);
    let mut v = Variable::new("a", Atomic::Float, vec![DimId(0), DimId(1)]);
    v.storage = Storage::Chunked { chunks: vec![1, 4], filters: vec![] };
    s.vars.push(v);
    s.vars.push(Variable::new("bnds", Atomic::Short, vec![DimId(1), DimId(2)]));
    s.vars[0].fill = ncforge::model::Fill::Default;
    let dir = tempfile::tempdir().unwrap();
    let mut f = create(&dir.path().join("first.nc"), s);
    for t in 0..3u64 {
        let b: Vec<u8> = (0..4).flat_map(|i| (t as f32 * 10.0 + i as f32).to_le_bytes()).collect();
        f.place_chunk(ncforge::model::VarId(1), &[t, 0], &b, 0).unwrap();
    }
    f.will_write(ncforge::model::VarId(0), &Hyperslab::new(&[1], &[2])).unwrap();
    f.sync().unwrap();
}
