//! Edges, flow links, contacts: what lies between two ends.
//!
//! Two of different files are the same if their ends are, and the first, second, … of the same ends in each file. They
//! belong to the lowest partition that owns a cell beside them: of all who have them, the one of which D-Flow FM takes
//! the flow across. Where no cell lies beside, to the higher owner of both ends (to the lower one on meshes of one
//! dimension, and of links), or to the lowest partition that has it. A link from a cell to the boundary is its cell's
//! owner's. They are numbered partition after partition, in the order of their files.

use std::collections::BTreeMap;

use super::find::{Connection, ConnectionId, SetId};
use super::parts::{Parts, Table};
use super::set::{Bits, NONE, Set};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::Schema;

/// What the numbering of pairs looks at.
pub(super) struct Look<'a> {
    pub(super) parts: &'a Parts,
    pub(super) whole: &'a Schema,
    pub(super) engine: &'a Engine,
    pub(super) connections: &'a [Connection],
    pub(super) sets: &'a [Set],
    /// The set to be numbered.
    pub(super) pairs: SetId,
    pub(super) ends: ConnectionId,
    pub(super) sides: Option<ConnectionId>,
    pub(super) lower: bool,
}

/// The cells beside some pairs, where the file that has its values does not know all of them: by number in the whole.
pub(super) type Beside = BTreeMap<u32, [u32; 2]>;

/// One that several files may have.
struct Candidate {
    /// Its ends in the whole.
    ends: [u32; 2],
    one: u32,
    /// The cells beside it, in the whole.
    beside: [u32; 2],
}

/// Gives the pairs their places: their set, numbered, and what is beside some of them.
pub(super) fn number(look: &Look<'_>) -> Result<(Set, Beside)> {
    let mut pairs = look.sets[look.pairs].clone();
    let to = look.connections[look.ends].to;
    let ends = to.map(|s| &look.sets[s]);
    let is_alike = to[0] == to[1];
    let shared = [ends[0].shared(), if is_alike { Bits::new(0) } else { ends[1].shared() }];
    let is_shared = |k: usize, place: u32| shared[if is_alike { 0 } else { k }].get(place);
    let beyond = look.connections[look.ends].beyond;
    let cells = look.sides.map(|s| &look.sets[look.connections[s].to[0]]);
    let mut kept = Bits::new(pairs.place.len());
    let mut candidates: Vec<Candidate> = Vec::new();
    look.parts.in_order(
        look.engine,
        |p| look.say(p),
        |p, (told, beside)| {
            if !told.ones.is_empty() && told.columns != 2 {
                let name = look.whole.var_path(look.connections[look.ends].var);
                return Err(look.parts.wrong(p, &format!("has a list `{name}` of {} ends", told.columns)));
            }
            for (i, row) in told.rows().enumerate() {
                let one = pairs.first[p] + i as u32;
                let place = |k: usize, c: u32| if c == NONE { NONE } else { ends[k].place[c as usize] };
                let at = [place(0, row[0]), place(1, row[1])];
                let beside = cells.zip(beside.as_ref()).map_or([NONE; 2], |(cells, table)| {
                    let row = &table.ones[i * table.columns..][..table.columns];
                    [0, 1].map(|k| {
                        row.get(k).filter(|c| **c != NONE).map_or(NONE, |&c| cells.place[c as usize])
                    })
                });
                match at {
                    [NONE, NONE] => {}
                    [x, NONE] | [NONE, x] => {
                        let k = usize::from(at[0] == NONE);
                        if beyond && ends[k].owner(x) == p as u32 {
                            kept.set(one);
                        }
                    }
                    [x, y] if is_shared(0, x) && is_shared(1, y) => {
                        let at = if is_alike { [x.min(y), x.max(y)] } else { at };
                        candidates.push(Candidate { ends: at, one, beside });
                    }
                    _ => {
                        if look.owner(ends, at, cells, beside) != NONE {
                            kept.set(one);
                        }
                    }
                }
            }
            Ok(())
        },
    )?;
    candidates.sort_unstable_by_key(|c| (c.ends, c.one));
    // The same as which, by number among all partitions'.
    let mut same: Vec<(u32, u32)> = Vec::new();
    let mut filled: Vec<(u32, [u32; 2])> = Vec::new();
    for group in candidates.chunk_by(|a, b| a.ends == b.ends) {
        for members in by_turn(group, &pairs) {
            look.settle(&members, ends, cells, &pairs, &mut kept, &mut same, &mut filled);
        }
    }
    pairs.number(&kept);
    for (one, chosen) in same {
        pairs.place[one as usize] = pairs.place[chosen as usize];
    }
    let beside = filled.into_iter().map(|(one, cells)| (pairs.place[one as usize], cells)).collect();
    Ok((pairs, beside))
}

/// Those between the same ends: the first ones of all files, then the second ones.
fn by_turn<'a>(group: &'a [Candidate], pairs: &Set) -> Vec<Vec<&'a Candidate>> {
    let mut turns: Vec<Vec<&Candidate>> = Vec::new();
    for of_part in group.chunk_by(|a, b| pairs.part_of(a.one) == pairs.part_of(b.one)) {
        for (turn, c) in of_part.iter().enumerate() {
            if turns.len() <= turn {
                turns.push(Vec::new());
            }
            turns[turn].push(c);
        }
    }
    turns
}

impl Look<'_> {
    fn say(&self, p: usize) -> Result<(Table, Option<Table>)> {
        let read = |c: ConnectionId| self.parts.table(p, self.whole, &self.connections[c], self.sets);
        let (ends, sides) = (read(self.ends)?, self.sides.map(read).transpose()?);
        if let Some(sides) = &sides
            && sides.ones.len() / sides.columns.max(1) != ends.ones.len() / ends.columns.max(1)
        {
            let path = self.parts.tiles.name(p);
            return Err(Error::corrupt(
                path,
                None,
                "edges have cells beside them for another number of edges",
            ));
        }
        Ok((ends, sides))
    }

    /// The partition that one belongs to; [`NONE`]: it is beside cells that nobody has given, and no others.
    fn owner(&self, ends: [&Set; 2], at: [u32; 2], cells: Option<&Set>, beside: [u32; 2]) -> u32 {
        if let Some(cells) = cells
            && beside != [NONE; 2]
        {
            return beside.into_iter().filter(|c| *c != NONE).map(|c| cells.owner(c)).min().unwrap_or(NONE);
        }
        let owners = [0, 1].map(|k| ends[k].owner(at[k]));
        match owners {
            [a, b] if self.lower || a == NONE || b == NONE => a.min(b),
            [a, b] => a.max(b),
        }
    }

    /// Decides whose values are taken of the same pair in several files.
    #[allow(clippy::too_many_arguments)] // what is being built is three lists
    fn settle(
        &self,
        members: &[&Candidate],
        ends: [&Set; 2],
        cells: Option<&Set>,
        pairs: &Set,
        kept: &mut Bits,
        same: &mut Vec<(u32, u32)>,
        filled: &mut Vec<(u32, [u32; 2])>,
    ) {
        let mut all: Vec<u32> = members.iter().flat_map(|m| m.beside).filter(|c| *c != NONE).collect();
        all.sort_unstable();
        all.dedup();
        let owners = all.iter().filter_map(|&c| cells.map(|cells| cells.owner(c)));
        let owner = match all.is_empty() {
            true => self.owner(ends, members[0].ends, None, [NONE; 2]),
            false => owners.min().unwrap_or(NONE),
        };
        if owner == NONE {
            return;
        }
        let theirs = members.iter().find(|m| pairs.part_of(m.one) == owner as usize);
        let chosen = theirs.unwrap_or(&members[0]);
        kept.set(chosen.one);
        same.extend(members.iter().filter(|m| m.one != chosen.one).map(|m| (m.one, chosen.one)));
        // What its own file does not know of, because it has no ghosts there.
        let mut beside = chosen.beside;
        for &c in all.iter().filter(|c| !chosen.beside.contains(c)) {
            if let Some(free) = beside.iter_mut().find(|b| **b == NONE) {
                *free = c;
            }
        }
        if beside != chosen.beside {
            filled.push((chosen.one, beside));
        }
    }
}
