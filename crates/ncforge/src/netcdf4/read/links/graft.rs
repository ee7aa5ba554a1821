//! The description of a file with the objects of other files, to which its external links lead.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::again::{Shown, bytes};
use super::super::scan::{FoundExternal, MAX_GROUPS, cause_elsewhere};
use super::{Object, Pool, Source, Target};
use crate::error::Error;
use crate::layout::printable;
use crate::model::{
    Attribute, Cause, DType, DimId, Dimension, Field, GroupId, Schema, Skipped, Storage, TypeId, UserKind,
    UserType, VarId, decode_name,
};

/// Links that lead to links.
const MAX_HOPS: usize = 32;

/// Groups that are being walked: the files, without symbolic links, and the groups in them.
type Chain = Vec<(PathBuf, GroupId)>;

/// The path of a link.
pub(super) fn path_in(schema: &Schema, link: &FoundExternal) -> String {
    format!("{}/{}", schema.group_path(link.group).trim_end_matches('/'), link.name)
}

/// The description of the file at `path` with the targets of its links, and the variables of other files.
pub(super) fn all(
    schema: Schema,
    links: &[FoundExternal],
    path: &Path,
    pool: &Arc<Pool>,
) -> (Schema, Vec<Arc<Source>>) {
    let mut graft = Graft { schema, vars: Vec::new(), pool, shown: Shown::default() };
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for link in links {
        let at = path_in(&graft.schema, link);
        let chain: Chain = ancestors(&graft.schema, link.group).map(|g| (real.clone(), g)).collect();
        let done = graft.link(link.group, link, path, &chain, MAX_HOPS);
        match done {
            Ok(()) => graft.schema.skipped.retain(|s| s.path != at),
            Err(Dead { why, cause }) => {
                let skipped = graft.schema.skipped.iter_mut().find(|s| s.path == at);
                if let Some(skipped) = skipped {
                    (skipped.why, skipped.cause) = (format!("{}, {why}", skipped.why), cause);
                }
            }
        }
    }
    (graft.schema, graft.vars)
}

/// A group and those that contain it.
fn ancestors(schema: &Schema, group: GroupId) -> impl Iterator<Item = GroupId> + '_ {
    std::iter::successors(Some(group), |g| schema.group(*g).parent)
}

/// Why a link is left out.
struct Dead {
    why: String,
    cause: Cause,
}

impl Dead {
    fn absent() -> Self {
        Dead { why: "which is not there".into(), cause: Cause::Absent }
    }

    /// `what` did not happen because of an error in the other file.
    fn failed(what: &str, e: &Error) -> Self {
        Dead { why: format!("which cannot be {what} ({e})"), cause: cause_elsewhere(e) }
    }
}

impl From<String> for Dead {
    fn from(why: String) -> Self {
        Dead { why, cause: Cause::Foreign }
    }
}

struct Graft<'a> {
    schema: Schema,
    vars: Vec<Arc<Source>>,
    pool: &'a Arc<Pool>,
    /// Groups of other files.
    shown: Shown<(PathBuf, GroupId)>,
}

/// The new numbers of the objects of a target.
struct Numbers<'a> {
    target: &'a Arc<Target>,
    /// The group to which the link leads, or in which the variable is.
    root: GroupId,
    groups: HashMap<GroupId, GroupId>,
    dims: HashMap<DimId, DimId>,
    types: HashMap<TypeId, TypeId>,
}

impl Graft<'_> {
    /// Adds what a link leads to, to the group `at`; the reason if it leads nowhere. `from`: the file that has the link.
    fn link(
        &mut self,
        at: GroupId,
        link: &FoundExternal,
        from: &Path,
        chain: &Chain,
        hops: usize,
    ) -> Result<(), Dead> {
        if hops == 0 {
            return Err("which leads to one link after the other".to_owned().into());
        }
        let target = self.pool.find(&link.file, from).map_err(|e| Dead::failed("opened", &e))?;
        let target = target.ok_or_else(Dead::absent)?;
        let found = target.find(&link.path).map_err(|e| Dead::failed("found", &e))?;
        match found.ok_or_else(Dead::absent)? {
            Object::Away(next) => {
                let next = FoundExternal { name: link.name.clone(), ..next };
                self.link(at, &next, &target.path, chain, hops - 1)
            }
            Object::Group(group) => Ok(self.group(at, &link.name, &target, group, chain)?),
            Object::Var(var) => {
                let (types, dims, groups) = (HashMap::new(), HashMap::new(), HashMap::new());
                let mut numbers = Numbers { target: &target, root: at, groups, dims, types };
                let own = target.schema().var(var);
                for id in &own.dims {
                    let dim = target.schema().dim(*id);
                    if (&dim.name, dim.group) == (&own.name, own.group) {
                        // A coordinate gives its dimension the name that it has.
                        let dim = Dimension { name: link.name.clone(), ..dim.clone() };
                        numbers.dims.insert(*id, self.outer(at, &dim));
                    }
                }
                self.var(&mut numbers, var, at, link.name.clone());
                Ok(())
            }
        }
    }

    /// Adds a group with all that is in it.
    fn group(
        &mut self,
        at: GroupId,
        name: &str,
        target: &Arc<Target>,
        group: GroupId,
        chain: &Chain,
    ) -> Result<(), String> {
        let own = (target.real.clone(), group);
        if chain.contains(&own) {
            return Err("a group that contains itself".into());
        }
        if ancestors(&self.schema, at).count() >= MAX_GROUPS || chain.len() >= MAX_GROUPS {
            return Err(format!("a group inside more than {MAX_GROUPS} others"));
        }
        let there = target.schema();
        let contents: Vec<GroupId> = (0..there.groups.len())
            .map(GroupId)
            .filter(|id| ancestors(there, *id).any(|g| g == group))
            .collect();
        for id in &contents {
            self.shown.is_first(&(target.real.clone(), *id))?;
        }
        let (dims, types, groups) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut numbers = Numbers { target, root: at, groups, dims, types };
        for id in contents {
            let mut new = there.group(id).clone();
            if id == group {
                (new.name, new.parent) = (name.to_owned(), Some(at));
            } else {
                new.parent = new.parent.and_then(|p| numbers.groups.get(&p).copied());
            }
            self.schema.groups.push(new);
            let made = GroupId(self.schema.groups.len() - 1);
            numbers.groups.insert(id, made);
            if id == group {
                numbers.root = made;
            }
            for dim in there.dims_in(id) {
                self.schema.dims.push(Dimension { group: made, ..there.dim(dim).clone() });
                numbers.dims.insert(dim, DimId(self.schema.dims.len() - 1));
            }
        }
        self.left_out(target, group, numbers.root);
        let mut inside: Vec<(GroupId, GroupId)> = numbers.groups.iter().map(|(a, b)| (*a, *b)).collect();
        inside.sort_unstable();
        for (id, made) in &inside {
            let attrs = self.attrs(&mut numbers, &there.group(*id).attrs);
            let mut attribute_bytes = bytes(&attrs);
            self.schema.groups[made.0].attrs = attrs;
            let mut objects = target.externals.iter().filter(|link| link.group == *id).count();
            for var in there.vars_in(*id) {
                (objects, attribute_bytes) = (objects + 1, attribute_bytes + bytes(&there.var(var).attrs));
                self.var(&mut numbers, var, *made, there.var(var).name.clone());
            }
            self.shown.note((target.real.clone(), *id), objects, attribute_bytes);
        }
        for link in &target.externals {
            let Some(made) = numbers.groups.get(&link.group).copied() else { continue };
            let mut longer = chain.clone();
            let within = ancestors(there, link.group).take_while(|g| numbers.groups.contains_key(g));
            longer.extend(within.map(|g| (target.real.clone(), g)));
            if let Err(Dead { why, cause }) = self.link(made, link, &target.path, &longer, MAX_HOPS) {
                let path = format!("{}/{}", self.schema.group_path(made).trim_end_matches('/'), link.name);
                let (object, file) = (decode_name(&link.path), decode_name(&link.file));
                let (object, file) = (printable(&object), printable(&file));
                let why = format!("an external link to `{object}` in `{file}`, {why}");
                self.schema.skipped.push(Skipped { path, why, cause });
            }
        }
        Ok(())
    }

    /// Notes what is left out of a group of another file, which is `made` here. Its links are followed, or noted, by themselves.
    fn left_out(&mut self, target: &Target, group: GroupId, made: GroupId) {
        let there = target.schema();
        let (old, new) = (there.group_path(group), self.schema.group_path(made));
        let links: HashSet<String> = target.externals.iter().map(|link| path_in(there, link)).collect();
        for skipped in there.skipped.iter().filter(|s| !links.contains(&s.path)) {
            let inside = skipped.path.strip_prefix(old.trim_end_matches('/'));
            if let Some(inside) = inside.filter(|rest| rest.starts_with('/')) {
                self.schema.skipped.push(Skipped { path: format!("{new}{inside}"), ..skipped.clone() });
            }
        }
    }

    /// Adds a variable.
    fn var(&mut self, numbers: &mut Numbers<'_>, id: VarId, group: GroupId, name: String) {
        let target = numbers.target;
        let there = target.schema();
        let mut var = there.var(id).clone();
        let source = Source {
            pool: self.pool.clone(),
            file: target.path.clone(),
            var: there.var_path(id),
            shape: there.shape(id),
        };
        for dim in &mut var.dims {
            *dim = match numbers.dims.get(dim) {
                Some(known) => *known,
                None => {
                    let new = self.outer(numbers.root, there.dim(*dim));
                    numbers.dims.insert(*dim, new);
                    new
                }
            };
        }
        var.dtype = self.dtype(numbers, var.dtype);
        var.attrs = self.attrs(numbers, &there.var(id).attrs);
        (var.name, var.group, var.storage) = (name, group, Storage::Contiguous);
        self.schema.vars.push(var);
        self.vars.push(Arc::new(source));
    }

    /// The dimension that stands for one of another file: one of the same name and length that is seen from a group, or a new one there.
    fn outer(&mut self, group: GroupId, dim: &Dimension) -> DimId {
        let known = self.schema.find_dim(group, &dim.name);
        if let Some(known) = known.filter(|d| self.schema.dim(*d).len == dim.len) {
            return known;
        }
        let is_free = |name: &String| !self.schema.dims_in(group).any(|d| self.schema.dim(d).name == *name);
        let mut names = (0u64..).map(|i| if i == 0 { dim.name.clone() } else { format!("{}_{i}", dim.name) });
        let name = names.find(is_free).unwrap_or_default();
        self.schema.dims.push(Dimension { name, group, ..dim.clone() });
        DimId(self.schema.dims.len() - 1)
    }

    fn attrs(&mut self, numbers: &mut Numbers<'_>, attrs: &[Attribute]) -> Vec<Attribute> {
        let new = |a: &Attribute| Attribute { dtype: self.dtype(numbers, a.dtype), ..a.clone() };
        attrs.iter().map(new).collect()
    }

    /// The type of another file's, which is added with those that it uses.
    fn dtype(&mut self, numbers: &mut Numbers<'_>, dtype: DType) -> DType {
        let DType::User(id) = dtype else { return dtype };
        if let Some(known) = numbers.types.get(&id) {
            return DType::User(*known);
        }
        let there = numbers.target.clone();
        let user = there.schema().user_type(id);
        let kind = match &user.kind {
            UserKind::Compound { size, fields } => {
                let field = |f: &Field| Field { dtype: self.dtype(numbers, f.dtype), ..f.clone() };
                UserKind::Compound { size: *size, fields: fields.iter().map(field).collect() }
            }
            UserKind::Vlen { base } => UserKind::Vlen { base: self.dtype(numbers, *base) },
            other => other.clone(),
        };
        let group = numbers.groups.get(&user.group).copied().unwrap_or(numbers.root);
        let is_free =
            |name: &String| !self.schema.types_in(group).any(|t| self.schema.user_type(t).name == *name);
        let mut names =
            (0u64..).map(|i| if i == 0 { user.name.clone() } else { format!("{}_{i}", user.name) });
        let name = names.find(is_free).unwrap_or_default();
        self.schema.types.push(UserType { name, group, kind });
        let new = TypeId(self.schema.types.len() - 1);
        numbers.types.insert(id, new);
        DType::User(new)
    }
}
