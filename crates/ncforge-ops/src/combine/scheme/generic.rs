//! Tiles of no known model: the user says where the place of a tile stands.
//!
//! For every split dimension one [`Placement`], written `DIM=HOW[,OPTION…]`. `HOW` is
//!
//! * `attr:NAME` or `attr:NAME[I]` – a global attribute (its element `I`, from 0) is the first point of the tile;
//! * `attr:VAR@NAME[I]` – the same of a variable's attribute;
//! * `name:K` – the number in the place `{K}` of the pattern of file names is the first point;
//! * `tile:K` – that number counts tiles along the dimension.
//!
//! Options: `base:B` (the first point of the whole has this number; 0 if not given), `halo:N` or `halo:LOW:HIGH`
//! (points at the ends that belong to neighbours; with a halo the number speaks of the first point inside it),
//! `whole:LENGTH`.

use super::convention::{AxisPlace, Header, Scheme, TilePosition, ints};
use super::names::{XIOS_FILE, xios_attributes, xios_beside};
use ncforge::model::{Attribute, Schema};
use ncforge::{Error, Result};

/// The place of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// An attribute: of a variable or global, its name, which of its elements.
    Attribute {
        /// The variable; `None`: global.
        var: Option<String>,
        /// The attribute.
        name: String,
        /// The element.
        index: usize,
    },
    /// The file name: the first point of the tile.
    Name(String),
    /// The file name: the number of the tile along the dimension.
    Tile(String),
}

/// The source of the place of tiles along one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The dimension.
    pub dim: String,
    /// The place of the number.
    pub position: Position,
    /// The number of the first point, or tile, of the whole.
    pub base: i64,
    /// Points of halo at the low and the high end.
    pub halo: (u64, u64),
    /// Length of the whole; `None`: where the last tile ends.
    pub whole: Option<u64>,
}

impl Placement {
    /// Reads `DIM=HOW[,OPTION…]`.
    ///
    /// ```
    /// use ncforge_ops::combine::{Placement, Position};
    /// let p = Placement::parse("x=attr:ibegin,halo:1,whole:360")?;
    /// assert_eq!((p.dim.as_str(), p.halo, p.whole), ("x", (1, 1), Some(360)));
    /// assert_eq!(Placement::parse("y=tile:j,base:1")?.position, Position::Tile("j".into()));
    /// # Ok::<(), ncforge::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Placement> {
        let bad = |why: String| Error::bad_option("place", format!("the placement `{text}` is wrong: {why}"));
        let (dim, how) = text
            .split_once('=')
            .ok_or_else(|| bad("`DIM=attr:NAME`, `DIM=name:K` or `DIM=tile:K`".into()))?;
        let mut parts = how.split(',').map(str::trim);
        let position = match parts.next().unwrap_or("").split_once(':') {
            Some(("attr", rest)) => {
                attribute(rest).ok_or_else(|| bad(format!("`{rest}` is no attribute")))?
            }
            Some(("name", k)) => Position::Name(k.to_owned()),
            Some(("tile", k)) => Position::Tile(k.to_owned()),
            _ => return Err(bad("`attr:`, `name:` or `tile:` is expected".into())),
        };
        let mut out = Placement { dim: dim.trim().to_owned(), position, base: 0, halo: (0, 0), whole: None };
        for option in parts {
            let number = |s: &str| s.parse::<u64>().map_err(|_| bad(format!("`{s}` is not a number")));
            match option.split(':').collect::<Vec<_>>()[..] {
                ["base", n] => out.base = n.parse().map_err(|_| bad(format!("`{n}` is not a number")))?,
                ["halo", n] => out.halo = (number(n)?, number(n)?),
                ["halo", low, high] => out.halo = (number(low)?, number(high)?),
                ["whole", n] => out.whole = Some(number(n)?),
                _ => return Err(bad(format!("`{option}` is none of base:, halo:, whole:"))),
            }
        }
        Ok(out)
    }
}

fn attribute(text: &str) -> Option<Position> {
    let (path, index) = match text.strip_suffix(']').and_then(|t| t.split_once('[')) {
        Some((path, index)) => (path, index.parse().ok()?),
        None => (text, 0),
    };
    let (var, name) = match path.split_once('@') {
        Some((var, name)) => (Some(var.to_owned()), name),
        None => (None, path),
    };
    (!name.is_empty()).then(|| Position::Attribute { var, name: name.to_owned(), index })
}

/// A scheme that the user describes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GenericScheme {
    /// One for every split dimension.
    pub placements: Vec<Placement>,
    /// File names, with `{K}` where numbers stand: `ocean_{j}_{i}.nc`.
    pub pattern: Option<String>,
}

impl GenericScheme {
    /// The number at `{key}` of the pattern, in a file's name.
    fn in_name(&self, name: &str, key: &str) -> Option<i64> {
        let mut rest = name;
        let mut pattern = self.pattern.as_deref()?;
        let mut found = None;
        while let Some(open) = pattern.find('{') {
            rest = rest.strip_prefix(&pattern[..open])?;
            let close = open + pattern[open..].find('}')?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number: i64 = rest[..digits].parse().ok()?;
            if &pattern[open + 1..close] == key {
                found = Some(number);
            }
            rest = &rest[digits..];
            pattern = &pattern[close + 1..];
        }
        (rest == pattern).then_some(found)?
    }
}

impl Scheme for GenericScheme {
    fn name(&self) -> &'static str {
        "generic"
    }

    fn detect(&self, _tile: &Header<'_>) -> bool {
        true
    }

    fn place(&self, tile: &Header<'_>) -> Result<TilePosition> {
        let file = tile.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut place = TilePosition::default();
        for p in &self.placements {
            let dim = tile.dim(&p.dim).ok_or_else(|| tile.wrong(format!("has no dimension `{}`", p.dim)))?;
            let number = match &p.position {
                Position::Attribute { var, name, index } => {
                    let attr: Option<&Attribute> = match var {
                        None => tile.global(name),
                        Some(v) => tile.schema.find_var(v).and_then(|v| tile.schema.var(v).attr(name)),
                    };
                    attr.and_then(ints).and_then(|v| v.get(*index).copied()).ok_or_else(|| {
                        let of = var.as_ref().map_or(String::new(), |v| format!("{v}@"));
                        tile.wrong(format!("has no whole number in the attribute `{of}{name}[{index}]`"))
                    })?
                }
                Position::Name(key) | Position::Tile(key) => self.in_name(&file, key).ok_or_else(|| {
                    let pattern = self.pattern.as_deref().unwrap_or("(none given)");
                    tile.wrong(format!("has no number at {{{key}}} of the pattern `{pattern}`"))
                })?,
            };
            let len = i64::try_from(tile.schema.dim(dim).len).unwrap_or(i64::MAX);
            let (low, high) = (p.halo.0 as i64, p.halo.1 as i64);
            let count = len.saturating_sub(low).saturating_sub(high);
            let axis = tile.axis(dim, number.saturating_sub(p.base), low, count)?;
            let counts_tiles = matches!(p.position, Position::Tile(_));
            place.axes.push(AxisPlace { whole: p.whole, counts_tiles, ..axis });
        }
        Ok(place)
    }

    fn is_of_tile(&self, global_attribute: &str) -> bool {
        self.placements.iter().any(|p| match &p.position {
            Position::Attribute { var: None, name, .. } => {
                name == global_attribute || xios_beside(name).iter().any(|n| n == global_attribute)
            }
            _ => false,
        })
    }

    fn is_of_file(&self, first: &Schema, name: &str) -> bool {
        XIOS_FILE.contains(&name) && !xios_attributes(first).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names() {
        let s = GenericScheme { pattern: Some("run1_{j}_{i}.nc".into()), placements: vec![] };
        assert_eq!(s.in_name("run1_002_14.nc", "j"), Some(2));
        assert_eq!(s.in_name("run1_002_14.nc", "i"), Some(14));
        assert_eq!(s.in_name("run2_002_14.nc", "i"), None);
        assert_eq!(s.in_name("run1_002_14.nc4", "i"), None);
        assert_eq!(s.in_name("run1_002_14.nc", "k"), None);
    }

    #[test]
    fn placements_are_read() {
        let p = Placement::parse("x=attr:lon@where[3],halo:2:1,base:1").unwrap();
        let position = Position::Attribute { var: Some("lon".into()), name: "where".into(), index: 3 };
        assert_eq!(p, Placement { dim: "x".into(), position, base: 1, halo: (2, 1), whole: None });
        for bad in ["x", "x=what:k", "x=attr:", "x=attr:a[b]", "x=name:i,halo", "x=name:i,base:z"] {
            assert!(Placement::parse(bad).is_err(), "{bad}");
        }
    }
}
