//! Comments behind the attributes of variables of times: their values as dates.

use super::Writer;
use super::times::Times;
use crate::describe::text::up_to_nul;
use ncforge::model::{Atomic, Attribute, DType, Values, VarId};

/// A list of more values than this is wrapped.
const ON_ONE_LINE: usize = 2;

impl Writer<'_> {
    /// The comment behind an attribute of a variable of times; remembers the name in `bounds`.
    pub(super) fn times_of_attribute(&mut self, v: VarId, attr: &Attribute) {
        let Some(times) = &mut self.times else { return };
        let (DType::Atomic(kind), Values::Fixed(bytes)) = (attr.dtype, &attr.values) else { return };
        if kind == Atomic::Char {
            if attr.name == "bounds" && !bytes.is_empty() {
                times.bounds.push((up_to_nul(bytes).to_vec(), v));
            }
            return;
        }
        // The attributes of bounds are their own.
        let own = Times::new(times.separator);
        let Some(units) = own.of(self.schema, v) else { return };
        let count = bytes.len() / kind.size();
        let mut line = 0;
        for (i, one) in bytes.chunks_exact(kind.size()).enumerate() {
            let mut text = Vec::new();
            units.push(&mut text, self.digits, kind, one, own.separator);
            if i + 1 < count {
                text.push(b',');
            }
            line += 1 + text.len();
            let breaks = count > ON_ONE_LINE && (i == 0 || line > self.length + 2);
            if breaks {
                self.out.push(b'\n');
                self.indent();
                self.out.extend_from_slice(b"\t\t  ");
                line = 16 + 2 + text.len();
            } else {
                self.out.push(b' ');
            }
            if i == 0 || breaks {
                self.out.extend_from_slice(b"// ");
                line += 3;
            }
            self.out.extend_from_slice(&text);
        }
    }
}
