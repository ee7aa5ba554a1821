//! Tables: records whose columns are stored in trees of their own.
//!
//! Byte `p` of a table is byte `p mod s` of record `p div s`, where `s` is the size of a record. A column has the same
//! few bytes of every record, one after the other: its blocks contain one variable's values only, and a new
//! column does not change the stored bytes of the others.

use super::format::Column;

/// A column and its offset in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// First byte in a record.
    pub(super) at: u64,
    /// Bytes of each record.
    pub(super) bytes: u64,
    pub(super) tree: u32,
}

/// Records in columns. There is at least one, and none is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Bytes of a record.
    pub(super) stride: u64,
    pub(super) columns: Vec<Placed>,
}

impl Table {
    pub(super) fn new(columns: &[Column]) -> Self {
        let mut stride = 0;
        let columns = columns
            .iter()
            .map(|c| {
                let at = stride;
                stride += u64::from(c.bytes);
                Placed { at, bytes: u64::from(c.bytes), tree: c.tree }
            })
            .collect();
        Table { stride, columns }
    }

    /// The stored form.
    pub(super) fn stored(&self) -> Vec<Column> {
        self.columns.iter().map(|c| Column { bytes: c.bytes as u32, tree: c.tree }).collect()
    }

    /// The column of a byte of the records, its byte in the column's tree, and the number of bytes from it to the end of the
    /// column in this record.
    pub(super) fn locate(&self, place: u64) -> (&Placed, u64, u64) {
        let (record, inside) = (place / self.stride, place % self.stride);
        let c = &self.columns[self.columns.partition_point(|c| c.at <= inside) - 1];
        (c, record * c.bytes + (inside - c.at), c.bytes - (inside - c.at))
    }

    /// Bytes of a column's tree before byte `place` of the records.
    pub(super) fn before(&self, c: &Placed, place: u64) -> u64 {
        let (record, inside) = (place / self.stride, place % self.stride);
        record * c.bytes + inside.saturating_sub(c.at).min(c.bytes)
    }

    /// The byte of the records that is byte `t` of a column's tree.
    pub(super) fn place_of(&self, c: &Placed, t: u64) -> u64 {
        (t / c.bytes).saturating_mul(self.stride).saturating_add(c.at + t % c.bytes)
    }

    /// Scatters bytes of a column, from byte `t` of its tree on, into `records`, which begin with byte `place` of the table.
    pub(super) fn scatter(&self, c: &Placed, t: u64, mut from: &[u8], place: u64, records: &mut [u8]) {
        let (width, step) = (c.bytes as usize, self.stride as usize);
        let inside = (t % c.bytes) as usize;
        let mut at = (self.place_of(c, t) - place) as usize;
        if inside > 0 {
            let n = from.len().min(width - inside);
            records[at..at + n].copy_from_slice(&from[..n]);
            from = &from[n..];
            at += step - inside;
        }
        if from.is_empty() {
            return;
        }
        let to = &mut records[at..];
        match width {
            1 => spread::<1>(from, to, step),
            2 => spread::<2>(from, to, step),
            4 => spread::<4>(from, to, step),
            8 => spread::<8>(from, to, step),
            _ => {
                for (run, to) in from.chunks(width).zip(to.chunks_mut(step)) {
                    to[..run.len()].copy_from_slice(run);
                }
                return;
            }
        }
        let whole = from.len() / width;
        let rest = &from[whole * width..];
        to.get_mut(whole * step..whole * step + rest.len()).into_iter().for_each(|t| t.copy_from_slice(rest));
    }

    /// The inverse: gathers bytes of a column from records.
    pub(super) fn gather(&self, c: &Placed, t: u64, mut to: &mut [u8], place: u64, records: &[u8]) {
        let (width, step) = (c.bytes as usize, self.stride as usize);
        let inside = (t % c.bytes) as usize;
        let mut at = (self.place_of(c, t) - place) as usize;
        if inside > 0 {
            let n = to.len().min(width - inside);
            let (first, rest) = to.split_at_mut(n);
            first.copy_from_slice(&records[at..at + n]);
            to = rest;
            at += step - inside;
        }
        if to.is_empty() {
            return;
        }
        let from = &records[at..];
        match width {
            1 => collect::<1>(from, to, step),
            2 => collect::<2>(from, to, step),
            4 => collect::<4>(from, to, step),
            8 => collect::<8>(from, to, step),
            _ => {
                for (run, from) in to.chunks_mut(width).zip(from.chunks(step)) {
                    run.copy_from_slice(&from[..run.len()]);
                }
                return;
            }
        }
        let whole = to.len() / width;
        let rest = &mut to[whole * width..];
        let n = rest.len();
        from.get(whole * step..whole * step + n).into_iter().for_each(|f| rest.copy_from_slice(f));
    }
}

fn spread<const W: usize>(from: &[u8], to: &mut [u8], step: usize) {
    for (to, from) in to.chunks_mut(step).zip(from.as_chunks::<W>().0) {
        to[..W].copy_from_slice(from);
    }
}

fn collect<const W: usize>(from: &[u8], to: &mut [u8], step: usize) {
    for (from, to) in from.chunks(step).zip(to.as_chunks_mut::<W>().0) {
        to.copy_from_slice(&from[..W]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every range of the records survives gathering and scattering, and every byte is where `locate` says.
        #[test]
        fn columns_and_records_are_the_same_bytes(
            widths in prop::collection::vec(prop_oneof![1..5u32, Just(8), Just(13)], 1..6),
            from in 0..90u64, len in 1..200usize
        ) {
            let columns: Vec<Column> =
                widths.iter().zip(0..).map(|(&bytes, tree)| Column { bytes, tree }).collect();
            let table = Table::new(&columns);
            prop_assert_eq!(table.stored(), columns);
            let records: Vec<u8> = (0..len).map(|i| (i * 7 + 1) as u8).collect();
            let mut back = vec![0; len];
            let mut total = 0;
            for c in &table.columns {
                let (a, b) = (table.before(c, from), table.before(c, from + len as u64));
                let mut part = vec![0; (b - a) as usize];
                if part.is_empty() {
                    continue;
                }
                table.gather(c, a, &mut part, from, &records);
                table.scatter(c, a, &part, from, &mut back);
                for (i, byte) in part.iter().enumerate() {
                    let place = table.place_of(c, a + i as u64);
                    prop_assert_eq!(*byte, records[(place - from) as usize]);
                    let (found, t, rest) = table.locate(place);
                    prop_assert_eq!((found, t), (c, a + i as u64));
                    prop_assert_eq!(rest, c.bytes - t % c.bytes);
                }
                total += part.len();
            }
            prop_assert_eq!(total, len);
            prop_assert_eq!(back, records);
        }
    }
}
