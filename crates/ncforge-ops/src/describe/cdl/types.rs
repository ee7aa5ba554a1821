//! Declarations of types, and their names as a group sees them.

use std::io::Write;

use super::Writer;
use crate::describe::text::push_name;
use ncforge::model::{DType, GroupId, TypeId, UserKind};

impl Writer<'_> {
    pub(super) fn types(&mut self, group: GroupId) {
        let types = std::mem::take(&mut self.tree.types[group.0]);
        if types.is_empty() {
            return;
        }
        self.indent();
        self.out.extend_from_slice(b"types:\n");
        self.indent += 2;
        for t in types {
            self.user_type(group, t);
        }
        self.indent -= 2;
    }

    fn user_type(&mut self, group: GroupId, id: TypeId) {
        let schema = self.schema;
        let this = DType::User(id);
        self.indent();
        match &schema.user_type(id).kind {
            UserKind::Vlen { base } => {
                self.type_name(group, *base);
                self.out.extend_from_slice(b"(*) ");
                self.type_name(group, this);
                self.out.extend_from_slice(b" ;\n");
            }
            UserKind::Opaque { size } => {
                let _ = write!(self.out, "opaque({size}) ");
                self.type_name(group, this);
                self.out.extend_from_slice(b" ;\n");
            }
            UserKind::Enum { base, members } => {
                let mut head = base.cdl_name().as_bytes().to_vec();
                head.extend_from_slice(b" enum ");
                push_name(&mut head, &schema.user_type(id).name);
                head.extend_from_slice(b" {");
                self.put(&head);
                for (i, (name, value)) in members.iter().enumerate() {
                    let mut text = Vec::new();
                    push_name(&mut text, name);
                    // Values above 2^63 are shown as ncdump shows them, as signed numbers.
                    let end = if i + 1 == members.len() { "} ;\n" } else { ", " };
                    let _ = write!(text, " = {}{end}", *value as i64);
                    self.put(&text);
                }
            }
            UserKind::Compound { fields, .. } => {
                self.out.extend_from_slice(b"compound ");
                self.type_name(group, this);
                self.out.extend_from_slice(b" {\n");
                for field in fields {
                    self.indent();
                    self.out.extend_from_slice(b"  ");
                    self.type_name(group, field.dtype);
                    self.out.push(b' ');
                    push_name(&mut self.out, &field.name);
                    if !field.shape.is_empty() {
                        let shape: Vec<String> = field.shape.iter().map(u32::to_string).collect();
                        let _ = write!(self.out, "({})", shape.join(", "));
                    }
                    self.out.extend_from_slice(b" ;\n");
                }
                self.indent();
                self.out.extend_from_slice(b"}; // ");
                self.type_name(group, this);
                self.out.push(b'\n');
            }
        }
    }

    /// The name of a type as seen from a group: with its group's path when no group on the way up to the root
    /// has a type of this name.
    pub(super) fn type_name(&mut self, from: GroupId, dtype: DType) {
        let schema = self.schema;
        if let DType::User(t) = dtype {
            let name = &schema.user_type(t).name;
            let mut at = Some(from);
            let mut seen = false;
            while let Some(g) = at.filter(|_| !seen) {
                seen = self.tree.type_names[g.0].contains(name);
                at = schema.group(g).parent;
            }
            if !seen {
                let path = schema.group_path(schema.user_type(t).group);
                push_name(&mut self.out, &path);
                self.out.push(b'/');
            }
        }
        push_name(&mut self.out, schema.type_name(dtype));
    }
}
