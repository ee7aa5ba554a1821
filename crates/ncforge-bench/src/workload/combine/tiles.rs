//! The field in tiles: one file per process, time unlimited. They have their position as NEMO's do (`DOMAIN_*`) and as FMS's
//! do (`domain_decomposition` of coordinates), so that tools for either can be given the same files.

use std::path::{Path, PathBuf};

use ncforge::model::{DimId, Filter, Storage, VarId};
use ncforge::{
    Atomic, Attribute, CreateOptions, DatasetMut, Dimension, Engine, Format, Hyperslab, Schema, Values,
    Variable,
};

use super::field::{Field, LAND, VARIABLE};
use crate::cache;
use crate::error::{Error, Result};

const SHUFFLE: u16 = 2;
const DEFLATE: u16 = 1;

/// One tile.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    pub(super) path: PathBuf,
    /// First points and lengths along y and x.
    pub(super) first: [u64; 2],
    pub(super) count: [u64; 2],
}

/// All tiles.
#[derive(Clone, Debug)]
pub(super) struct TileSet {
    pub(super) tiles: Vec<Tile>,
    /// The beginning of the names.
    pub(super) base: PathBuf,
    /// Bytes of all files.
    pub(super) bytes: u64,
}

impl TileSet {
    pub(super) fn make(
        folder: &Path,
        field: &Field,
        (columns, rows): (u64, u64),
        deflated: bool,
        engine: &Engine,
    ) -> Result<TileSet> {
        std::fs::create_dir_all(folder).map_err(|e| Error::place("make the folder", folder, e))?;
        let [nt, nz, ny, nx] = field.shape;
        let edges = |n: u64, k: u64, i: u64| (n * i / k, n * (i + 1) / k - n * i / k);
        let mut tiles = Vec::new();
        let mut files = Vec::new();
        for j in 0..rows {
            for i in 0..columns {
                let ((y, h), (x, w)) = (edges(ny, rows, j), edges(nx, columns, i));
                let number = tiles.len();
                let tile =
                    Tile { path: folder.join(format!("ocean_{number:04}.nc")), first: [y, x], count: [h, w] };
                let schema = schema(field.shape, &tile, number, columns * rows, deflated);
                let options = CreateOptions { engine: Some(engine.clone()), ..CreateOptions::default() };
                let mut file = DatasetMut::create(&tile.path, schema, options)?;
                for (var, first, count) in [(VarId(2), x, w), (VarId(3), y, h)] {
                    let points: Vec<u8> =
                        (first..first + count).flat_map(|i| (i as f32 + 0.5).to_ne_bytes()).collect();
                    file.write_bytes(var, &Hyperslab::new(&[0], &[count]), &points)?;
                }
                files.push(file);
                tiles.push(tile);
            }
        }
        for t in 0..nt {
            for file in &mut files {
                let time = Values::fixed(&f64::to_ne_bytes(t as f64));
                file.write(VarId(0), &Hyperslab::new(&[t], &[1]), &time)?;
            }
            for z in 0..nz {
                let level = field.level(t, z);
                for (tile, file) in tiles.iter().zip(&mut files) {
                    let ([y, x], [h, w]) = (tile.first, tile.count);
                    let mut part = Vec::with_capacity((h * w * 4) as usize);
                    for j in y..y + h {
                        let row = &level[(j * nx + x) as usize..][..w as usize];
                        part.extend(row.iter().flat_map(|v| v.to_ne_bytes()));
                    }
                    file.write_bytes(VarId(1), &Hyperslab::new(&[t, z, 0, 0], &[1, 1, h, w]), &part)?;
                }
            }
        }
        let mut bytes = 0;
        for file in files {
            file.close()?;
        }
        for tile in &tiles {
            bytes += std::fs::metadata(&tile.path).map_err(|e| Error::io("measure", &tile.path, e))?.len();
            cache::warm(&tile.path)?;
        }
        Ok(TileSet { tiles, base: folder.join("ocean"), bytes })
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.tiles.iter().map(|t| t.path.clone()).collect()
    }
}

fn schema(shape: [u64; 4], tile: &Tile, number: usize, total: u64, deflated: bool) -> Schema {
    let mut s = Schema::new(if deflated { Format::Netcdf4 } else { Format::Cdf2 });
    let ([y, x], [h, w]) = (tile.first, tile.count);
    for (name, len, unlimited) in
        [("x", w, false), ("y", h, false), ("deptht", shape[1], false), ("time_counter", 0, true)]
    {
        s.dims.push(Dimension::new(name, len, unlimited));
    }
    let mut time = Variable::new("time_counter", Atomic::Double, vec![DimId(3)]);
    if deflated {
        time.storage = Storage::Chunked { chunks: vec![512], filters: Vec::new() };
    }
    s.vars.push(time);
    let mut var = Variable::new(VARIABLE, Atomic::Float, [3, 2, 1, 0].map(DimId).to_vec());
    var.attrs.push(Attribute {
        name: "_FillValue".into(),
        dtype: Atomic::Float.into(),
        values: Values::fixed(&LAND.to_ne_bytes()),
    });
    if deflated {
        let filter = |id, params: Vec<u32>| Filter { id, params, optional: true };
        var.storage = Storage::Chunked {
            chunks: vec![1, 1, h, w],
            filters: vec![filter(SHUFFLE, vec![4]), filter(DEFLATE, vec![1])],
        };
    }
    s.vars.push(var);
    let ints = |name: &str, values: &[u64]| {
        let bytes: Vec<u8> = values.iter().flat_map(|&v| (v as i32).to_ne_bytes()).collect();
        Attribute { name: name.into(), dtype: Atomic::Int.into(), values: Values::fixed(&bytes) }
    };
    for (name, dim, first, count, whole) in [("x", 0, x, w, shape[3]), ("y", 1, y, h, shape[2])] {
        let mut axis = Variable::new(name, Atomic::Float, vec![DimId(dim)]);
        axis.attrs.push(ints("domain_decomposition", &[1, whole, first + 1, first + count]));
        s.vars.push(axis);
    }
    s.groups[0].attrs = vec![
        ints("NumFilesInSet", &[total]),
        ints("DOMAIN_number_total", &[total]),
        ints("DOMAIN_number", &[number as u64]),
        ints("DOMAIN_dimensions_ids", &[1, 2]),
        ints("DOMAIN_size_global", &[shape[3], shape[2]]),
        ints("DOMAIN_size_local", &[w, h]),
        ints("DOMAIN_position_first", &[x + 1, y + 1]),
        ints("DOMAIN_position_last", &[x + w, y + h]),
        ints("DOMAIN_halo_size_start", &[0, 0]),
        ints("DOMAIN_halo_size_end", &[0, 0]),
        Attribute::text("DOMAIN_type", "BOX"),
    ];
    s
}
