//! Nodes: files give them no number of the whole.
//!
//! Two nodes of different files are the same
//! 1. where they are the same corner of the same cell. Cells have numbers, and ghosts are in several files. Where the
//!    list of a cell's corners begins, and which way round it goes, may differ; the turn is taken in which coordinates
//!    fit best (they may differ by rounding, or by a turn around the globe);
//! 2. where they lie on the rims of what their files hold, at the same coordinates to the bit. Files without ghosts,
//!    and nodes of no cell, have nothing else in common. Coordinates at which one file has two nodes say nothing.
//!
//! A node belongs to the lowest partition that owns a cell around it; one without cells to the lowest that has it.
//! Nodes are numbered partition after partition, in the order of their files. Of a cell that nobody has given, nodes
//! are kept as far as they are another cell's.

use super::find::{Connection, ConnectionId, SetId};
use super::parts::{Parts, Table};
use super::set::{Bits, NONE, Set};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{Schema, VarId};

/// Corners of one cell in two files may lie apart by this part of the cell's size.
const APART: f64 = 0.01;

/// What the numbering of nodes looks at.
pub(super) struct Look<'a> {
    pub(super) parts: &'a Parts,
    pub(super) whole: &'a Schema,
    pub(super) engine: &'a Engine,
    pub(super) connections: &'a [Connection],
    pub(super) sets: &'a [Set],
    /// The set to be numbered.
    pub(super) nodes: SetId,
    pub(super) cells: SetId,
    pub(super) corners: ConnectionId,
    pub(super) at: Option<[VarId; 2]>,
    pub(super) edges: Option<ConnectionId>,
}

/// What one file says of its nodes.
struct Said {
    corners: Table,
    at: Option<[Vec<f64>; 2]>,
    /// By node: on the rim of what the file holds.
    rim: Vec<bool>,
}

/// A cell's corners in one file: from where on in the lists, and how many.
struct Ring {
    cell: u32,
    from: u32,
    len: u32,
}

/// The corners of the cells that several files have, one cell behind the other.
#[derive(Default)]
struct Rings {
    all: Vec<Ring>,
    nodes: Vec<u32>,
    at: Vec<[f64; 2]>,
}

/// Gives the nodes their places: their set, numbered.
pub(super) fn number(look: &Look<'_>) -> Result<Set> {
    let mut nodes = look.sets[look.nodes].clone();
    let cells = &look.sets[look.cells];
    let n = nodes.place.len();
    let (mut has_cell, mut has_own) = (Bits::new(n), Bits::new(n));
    let shared = cells.shared();
    let mut rings = Rings::default();
    let mut rims: Vec<(u64, u64, u32)> = Vec::new();
    look.parts.in_order(
        look.engine,
        |p| look.say(p),
        |p, said| {
            let begin = nodes.first[p];
            for (i, row) in said.corners.rows().enumerate() {
                let one = cells.first[p] + i as u32;
                let cell = cells.place[one as usize];
                let is_own = cells.source[cell as usize] == one;
                let corners = row.iter().copied().filter(|&c| c != NONE);
                for c in corners.clone() {
                    has_cell.set(c);
                    if is_own {
                        has_own.set(c);
                    }
                }
                if shared.get(cell) {
                    rings.add(cell, corners, begin, said.at.as_ref());
                }
            }
            if let Some([x, y]) = &said.at {
                for (i, (x, y)) in x.iter().zip(y).enumerate() {
                    if said.rim[i] && x.is_finite() && y.is_finite() {
                        // Adding zero makes one of both zeros.
                        rims.push(((x + 0.0).to_bits(), (y + 0.0).to_bits(), begin + i as u32));
                    }
                }
            }
            Ok(())
        },
    )?;
    let mut same = Same::new(n);
    rings.join(look, &mut same, look.at.is_some_and(|at| in_degrees(look.whole, at[0])))?;
    join_rims(rims, &nodes, &mut same);
    settle(look.parts, &mut nodes, &mut same, &has_cell, &has_own)?;
    Ok(nodes)
}

fn in_degrees(whole: &Schema, x: VarId) -> bool {
    whole.var(x).attr("units").and_then(|a| a.as_text()).is_some_and(|u| u.starts_with("degree"))
}

impl Look<'_> {
    fn say(&self, p: usize) -> Result<Said> {
        let corners = self.parts.table(p, self.whole, &self.connections[self.corners], self.sets)?;
        let set = &self.sets[self.nodes];
        let n = set.len_in(p) as usize;
        let at = match self.at {
            Some([x, y]) if n > 0 => {
                let read = |v| self.parts.doubles(p, self.whole, v);
                read(x)?.zip(read(y)?).map(|(x, y)| [x, y]).filter(|[x, y]| x.len() == n && y.len() == n)
            }
            _ => None,
        };
        // Around a node inside there are as many edges as cells, on the rim one more. Without edges every node may be
        // on it.
        let mut rim = vec![true; n];
        if let Some(edges) = self.edges {
            let edges = self.parts.table(p, self.whole, &self.connections[edges], self.sets)?;
            let mut more = vec![0i32; n];
            let begin = set.first[p];
            let mut count = |table: &Table, by: i32| {
                table.ones.iter().filter(|&&c| c != NONE).for_each(|&c| more[(c - begin) as usize] += by);
            };
            count(&edges, 1);
            count(&corners, -1);
            rim = more.iter().map(|&m| m != 0).collect();
        }
        Ok(Said { corners, at, rim })
    }
}

impl Rings {
    fn add(&mut self, cell: u32, corners: impl Iterator<Item = u32>, begin: u32, at: Option<&[Vec<f64>; 2]>) {
        let from = self.nodes.len() as u32;
        for c in corners {
            self.nodes.push(c);
            let i = (c - begin) as usize;
            self.at.push(at.map_or([f64::NAN; 2], |[x, y]| [x[i], y[i]]));
        }
        self.all.push(Ring { cell, from, len: self.nodes.len() as u32 - from });
    }

    /// Joins the corners of each cell in one file with those in the others.
    fn join(&mut self, look: &Look<'_>, same: &mut Same, in_degrees: bool) -> Result<()> {
        self.all.sort_by_key(|r| (r.cell, r.from));
        for rings in self.all.chunk_by(|a, b| a.cell == b.cell) {
            let first = &rings[0];
            for other in &rings[1..] {
                let (a, b) = (self.of(first), self.of(other));
                let Some(turn) = turn(a.1, b.1, in_degrees) else {
                    let nodes = &look.sets[look.nodes];
                    let name = |r: &[u32]| {
                        r.first()
                            .map_or_else(|| "a file".into(), |&c| look.parts.tiles.name(nodes.part_of(c)))
                    };
                    return Err(Error::Tiles(format!(
                        "`{}` and `{}` do not go together: the corners of cell {} of the whole lie elsewhere",
                        name(a.0),
                        name(b.0),
                        first.cell + 1
                    )));
                };
                for (i, &c) in a.0.iter().enumerate() {
                    same.join(c, b.0[turn.of(i, b.0.len())]);
                }
            }
        }
        Ok(())
    }

    fn of(&self, r: &Ring) -> (&[u32], &[[f64; 2]]) {
        let range = r.from as usize..(r.from + r.len) as usize;
        (&self.nodes[range.clone()], &self.at[range])
    }
}

/// How the corners of a cell in one file follow those in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    by: usize,
    backwards: bool,
}

impl Turn {
    fn of(self, i: usize, n: usize) -> usize {
        if self.backwards { (self.by + n - i) % n } else { (self.by + i) % n }
    }
}

/// The turn in which corners fit best; `None` if they are as many in none, or do not lie where the others do.
fn turn(a: &[[f64; 2]], b: &[[f64; 2]], in_degrees: bool) -> Option<Turn> {
    let n = a.len();
    if n != b.len() {
        return None;
    }
    let straight = Turn { by: 0, backwards: false };
    if a.iter().chain(b).flatten().any(|x| !x.is_finite()) || n == 0 {
        return Some(straight);
    }
    let apart = |p: &[f64; 2], q: &[f64; 2]| {
        let dx = p[0] - q[0];
        let dx = if in_degrees { dx - 360.0 * (dx / 360.0).round() } else { dx };
        dx.hypot(p[1] - q[1])
    };
    let farthest = |t: Turn| (0..n).map(|i| apart(&a[i], &b[t.of(i, n)])).fold(0.0, f64::max);
    if farthest(straight) == 0.0 {
        return Some(straight);
    }
    let turns = (0..n).flat_map(|by| [false, true].map(|backwards| Turn { by, backwards }));
    let (best, error) =
        turns.map(|t| (t, farthest(t))).min_by(|x, y| x.1.total_cmp(&y.1)).unwrap_or((straight, f64::MAX));
    let size = a.iter().map(|p| apart(&a[0], p)).fold(0.0, f64::max);
    (error <= APART * size).then_some(best)
}

/// Joins nodes on rims that lie at the same place.
fn join_rims(mut rims: Vec<(u64, u64, u32)>, nodes: &Set, same: &mut Same) {
    rims.sort_unstable();
    for there in rims.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let ones: Vec<u32> = there.iter().map(|r| r.2).collect();
        // In the order of the files.
        let says_nothing = ones.windows(2).any(|w| nodes.part_of(w[0]) == nodes.part_of(w[1]));
        if !says_nothing {
            ones[1..].iter().for_each(|&c| same.join(ones[0], c));
        }
    }
}

/// Decides which node of each group of the same has the values, and numbers those.
fn settle(parts: &Parts, nodes: &mut Set, same: &mut Same, has_cell: &Bits, has_own: &Bits) -> Result<()> {
    let n = nodes.place.len() as u32;
    let (mut chosen, mut last) = (vec![NONE; n as usize], vec![NONE; n as usize]);
    let mut around = Bits::new(n as usize);
    for c in 0..n {
        let root = same.root(c) as usize;
        if has_cell.get(c) {
            around.set(root as u32);
        }
        if has_own.get(c) && chosen[root] == NONE {
            chosen[root] = c;
        }
        let before = std::mem::replace(&mut last[root], c);
        if before != NONE && nodes.part_of(before) == nodes.part_of(c) {
            let p = nodes.part_of(c);
            let local = |c: u32| c - nodes.first[p] + 1;
            return Err(parts.wrong(
                p,
                &format!(
                    "has two nodes, {} and {}, that would be one by the cells it shares with others",
                    local(before),
                    local(c)
                ),
            ));
        }
    }
    drop(last);
    let mut kept = Bits::new(n as usize);
    for c in 0..n {
        let root = same.root(c);
        if chosen[root as usize] == NONE && !around.get(root) {
            // Of no cell at all: the first that has it.
            chosen[root as usize] = c;
        }
        if chosen[root as usize] == c {
            kept.set(c);
        }
    }
    nodes.number(&kept);
    for c in 0..n {
        let one = chosen[same.root(c) as usize];
        nodes.place[c as usize] = if one == NONE { NONE } else { nodes.place[one as usize] };
    }
    Ok(())
}

/// Groups of what is the same.
struct Same(Vec<u32>);

impl Same {
    fn new(n: usize) -> Same {
        Same((0..n as u32).collect())
    }

    /// The lowest of its group.
    fn root(&mut self, c: u32) -> u32 {
        let mut at = c;
        while self.0[at as usize] != at {
            let up = self.0[at as usize];
            self.0[at as usize] = self.0[up as usize];
            at = self.0[at as usize];
        }
        at
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_recognised_whichever_way_it_is_told() {
        let a = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        for by in 0..4 {
            for backwards in [false, true] {
                let told = Turn { by, backwards };
                let mut b = a;
                (0..4).for_each(|i| b[told.of(i, 4)] = [a[i][0] + 1e-9, a[i][1]]);
                assert_eq!(turn(&a, &b, false), Some(told));
                b.iter_mut().for_each(|p| p[0] += 360.0);
                assert_eq!(turn(&a, &b, true), Some(told));
                assert_eq!(turn(&a, &b, false), None);
            }
        }
        assert_eq!(turn(&a, &a[..3], false), None);
        assert!(turn(&[[f64::NAN; 2]; 3], &a[..3], false).is_some(), "without coordinates, as they stand");
    }
}
