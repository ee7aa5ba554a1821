//! The ways to one file: ncforge, and a library that carries out the same plan call by call.

use std::path::Path;

use ncforge::{Atomic, Engine, EngineOptions, Format, Hyperslab};
use ncforge_ops::combine::{CombineOptions, SchemeChoice, SchemeName, TileChunks, combine};
use ncforge_ops::copy::{ChunkSpec, Codec, CopyOptions};
use ncforge_ops::progress::Silent;

use super::field::{Field, VARIABLE};
use super::options::Options;
use super::phase::{Phase, Used};
use super::tiles::TileSet;
use crate::driver::{Access, ChunkAsk, Coding, DimSpec, Driver, FileSpec};
use crate::error::{Error, Result};

/// One phase's work.
pub(super) struct Job<'a> {
    pub(super) phase: Phase,
    pub(super) set: &'a TileSet,
    pub(super) field: &'a Field,
    pub(super) options: &'a Options,
    pub(super) output: &'a Path,
}

impl Job<'_> {
    /// Chunk lengths of the output.
    fn chunks(&self) -> [u64; 4] {
        let [_, _, ny, nx] = self.field.shape;
        [1, 1, self.options.chunks.0.min(ny), self.options.chunks.1.min(nx)]
    }

    pub(super) fn by_ncforge(&self) -> Result<Option<Used>> {
        let deflate = !self.phase.to_classic();
        let chunks = match self.phase {
            Phase::Move => TileChunks::Keep,
            Phase::Deflate | Phase::Recode => {
                let list = self.chunks().map(|n| n.to_string()).join(",");
                TileChunks::Spec(ChunkSpec::parse(&format!("{VARIABLE}:{list}"))?)
            }
            _ => TileChunks::Auto,
        };
        let options = CombineOptions {
            // The tiles have their position in two conventions.
            scheme: SchemeChoice::Named(SchemeName::Nemo),
            chunks,
            copy: CopyOptions {
                format: Some(if deflate { Format::Netcdf4 } else { Format::Cdf2 }),
                codec: match self.phase {
                    Phase::Plain | Phase::Inflate => Codec::None,
                    Phase::Move => Codec::Keep,
                    Phase::Deflate | Phase::Recode => Codec::Deflate,
                },
                level: matches!(self.phase, Phase::Deflate | Phase::Recode).then_some(1),
                ..CopyOptions::default()
            },
            ..CombineOptions::default()
        };
        let engine =
            Engine::new(EngineOptions { threads: self.options.threads, memory: self.options.memory })?;
        combine(&self.set.paths(), self.output, &options, &engine, &Silent)?;
        Ok(None)
    }

    /// Every level read from all tiles, and written.
    pub(super) fn by_library(&self, driver: &dyn Driver) -> Result<Option<Used>> {
        let [nt, nz, ny, nx] = self.field.shape;
        let deflate = !self.phase.to_classic();
        let dims = vec![
            DimSpec::new("time_counter", nt, true),
            DimSpec::new("deptht", nz, false),
            DimSpec::new("y", ny, false),
            DimSpec::new("x", nx, false),
        ];
        let format = if deflate { Format::Netcdf4 } else { Format::Cdf2 };
        let mut spec = FileSpec::plain(format, VARIABLE, Atomic::Float, dims);
        if deflate {
            spec.var.chunks = ChunkAsk::Lens(self.chunks().to_vec());
            spec.var.coding = Coding::deflate(1, true);
        }
        if let Some(why) = driver.refuses(&spec, &Access::Alone) {
            return Err(Error::Library(why));
        }
        let mut tiles = self.set.tiles.iter().map(|t| driver.open(&t.path)).collect::<Result<Vec<_>>>()?;
        let mut out = driver.create(self.output, &spec, &Access::Alone)?;
        let row = nx as usize * 4;
        let mut level = vec![0; row * ny as usize];
        let mut part = Vec::new();
        for t in 0..nt {
            for z in 0..nz {
                for (place, tile) in self.set.tiles.iter().zip(&mut tiles) {
                    let ([y, x], [h, w]) = (place.first, place.count);
                    let width = w as usize * 4;
                    part.resize(width * h as usize, 0);
                    tile.read(VARIABLE, &Hyperslab::new(&[t, z, 0, 0], &[1, 1, h, w]), &mut part)?;
                    for (j, from) in part.chunks_exact(width).enumerate() {
                        let to = (y as usize + j) * row + x as usize * 4;
                        level[to..to + width].copy_from_slice(from);
                    }
                }
                out.write(&Hyperslab::new(&[t, z, 0, 0], &[1, 1, ny, nx]), &level)?;
            }
        }
        out.close()?;
        Ok(None)
    }
}
