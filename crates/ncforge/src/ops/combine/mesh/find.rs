//! What a description says of meshes: which dimensions count cells, nodes, edges and links, and which variables hold
//! numbers of those.
//!
//! Two forms, both of D-Flow FM. **UGRID** (1.0, <https://ugrid-conventions.github.io>): a variable with `cf_role =
//! "mesh_topology"` names coordinates and connectivity; cells are faces, or of a mesh of one dimension its nodes, and
//! `MESH_flowelem_domain` and `MESH_flowelem_globalnr` lie along them. **The older one**: `FlowElemDomain`,
//! `FlowElemGlobalNr`, and lists of fixed names.

use crate::error::{Error, Result};
use crate::model::{DimId, Schema, VarId};

use super::super::scheme::ints;

/// The number of a [`SetPlan`].
pub(super) type SetId = usize;
/// The number of a [`Connection`].
pub(super) type ConnectionId = usize;

/// Things that are numbered, and how their numbers of the whole are found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SetPlan {
    /// `cell`, `node`, `edge`, …, for messages.
    pub(super) what: &'static str,
    /// The mesh that they are of.
    pub(super) mesh: String,
    /// The dimensions that count them.
    pub(super) dims: Vec<DimId>,
    pub(super) how: How,
}

/// How numbers of the whole are found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum How {
    /// Variables tell them, and whose each is.
    Cells { domain: VarId, number: VarId },
    /// From the cells whose corners they are, and by their coordinates.
    Nodes { cells: SetId, corners: ConnectionId, at: Option<[VarId; 2]>, edges: Option<ConnectionId> },
    /// From what lies at their ends. `sides` are the cells beside them. `lower`: where no cell lies beside, they belong
    /// to the lower owner of their ends, else to the higher.
    Pairs { ends: ConnectionId, sides: Option<ConnectionId>, lower: bool },
    /// They have none: one file's stand behind the other's.
    List,
}

/// A variable whose values are numbers of other things.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Connection {
    pub(super) var: VarId,
    /// What it is told of.
    pub(super) from: SetId,
    /// Its dimension that counts those.
    pub(super) axis: usize,
    /// What is told: in its first column, and in the others.
    pub(super) to: [SetId; 2],
    /// The number of the first.
    pub(super) base: i64,
    /// Whether numbers may lie beyond the last: points of the boundary.
    pub(super) beyond: bool,
}

/// All meshes of a description.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    pub(super) sets: Vec<SetPlan>,
    pub(super) connections: Vec<Connection>,
}

/// Names of the older form that list what only one partition has: edges of its own rim, by their numbers in it.
pub(super) const OF_ONE: [&str; 1] = ["BndLink"];

const DOMAIN: &str = "flowelem_domain";
const NUMBER: &str = "flowelem_globalnr";
const OLD_DOMAIN: &str = "FlowElemDomain";
const OLD_NUMBER: &str = "FlowElemGlobalNr";

/// Whether a file is a partition of a mesh: it says whose its cells are.
pub(super) fn is_partition(schema: &Schema) -> bool {
    schema.vars.iter().any(|v| v.name == OLD_DOMAIN || v.name.to_ascii_lowercase().ends_with(DOMAIN))
}

/// Finds them.
///
/// # Errors
/// The reason, without the file.
pub(super) fn find(schema: &Schema) -> Result<Found, String> {
    let mut finder = Finder { schema, found: Found::default(), places: Vec::new() };
    for v in schema.var_ids() {
        if finder.text(v, "cf_role") == Some("mesh_topology") {
            finder.ugrid(v)?;
        }
    }
    for v in schema.var_ids() {
        if finder.text(v, "cf_role") == Some("mesh_topology_contact") {
            finder.contact(v)?;
        }
    }
    finder.old()?;
    finder.boundaries();
    if !finder.found.sets.iter().any(|s| matches!(s.how, How::Cells { .. })) {
        return Err(
            "says whose its cells are, but no mesh_topology variable has a mesh with such cells".into()
        );
    }
    Ok(finder.found)
}

struct Finder<'a> {
    schema: &'a Schema,
    found: Found,
    /// Mesh, `node`, `edge` or `face`, and the set.
    places: Vec<(String, &'static str, SetId)>,
}

/// The dimensions of one mesh, as it is being found.
struct Mesh {
    name: String,
    node: Option<SetId>,
    edge: Option<SetId>,
    face: Option<SetId>,
}

impl Finder<'_> {
    fn text(&self, v: VarId, name: &str) -> Option<&str> {
        self.schema.var(v).attr(name).and_then(|a| a.as_text())
    }

    fn var(&self, name: &str) -> Option<VarId> {
        self.schema.vars_in(Schema::ROOT).find(|v| self.schema.var(*v).name == name)
    }

    fn dim(&self, name: &str) -> Option<DimId> {
        self.schema.dims_in(Schema::ROOT).find(|d| self.schema.dim(*d).name == name)
    }

    /// The variables that an attribute names.
    fn named(&self, v: VarId, attr: &str) -> Vec<VarId> {
        let names = self.text(v, attr).unwrap_or_default();
        names.split_whitespace().filter_map(|n| self.var(n)).collect()
    }

    fn add(&mut self, what: &'static str, mesh: &str, dims: Vec<DimId>, how: How) -> SetId {
        self.found.sets.push(SetPlan { what, mesh: mesh.to_owned(), dims, how });
        self.found.sets.len() - 1
    }

    fn connect(
        &mut self,
        var: VarId,
        from: SetId,
        to: [SetId; 2],
        beyond: bool,
    ) -> Result<ConnectionId, String> {
        let v = self.schema.var(var);
        let dims = |set: SetId| &self.found.sets[set].dims;
        if let Some(known) = self.found.connections.iter().position(|c| c.var == var) {
            let c = &self.found.connections[known];
            if dims(c.from) == dims(from) && c.to.map(dims) == to.map(dims) {
                return Ok(known);
            }
            let named = |from: SetId, to: [SetId; 2]| {
                format!("{}s of a {}", self.found.sets[to[1]].what, self.found.sets[from].what)
            };
            let (one, other) = (named(c.from, c.to), named(from, to));
            return Err(format!("says that `{}` lists the {one}, and the {other}", v.name));
        }
        let axis = v.dims.iter().position(|d| self.found.sets[from].dims.contains(d));
        let Some(axis) = axis.filter(|_| v.dims.len() == 2) else {
            return Err(format!(
                "has a list `{}` that is not a table with a row for every {}",
                v.name, self.found.sets[from].what
            ));
        };
        let base = v.attr("start_index").and_then(ints).and_then(|i| i.first().copied());
        let base = base.unwrap_or(i64::from(beyond));
        if ![0, 1].contains(&base) {
            return Err(format!(
                "says that numbers in `{}` count from {base} (start_index): 0 or 1 may be",
                v.name
            ));
        }
        self.found.connections.push(Connection { var, from, axis, to, base, beyond });
        Ok(self.found.connections.len() - 1)
    }

    /// The variables along a dimension that say whose cells are, and which.
    fn owners(&self, mesh: &str, cells: DimId) -> Option<(Option<VarId>, Option<VarId>)> {
        let along = |end: &str| {
            let exact = self.var(&format!("{mesh}_{end}"));
            exact.filter(|v| self.schema.var(*v).dims == [cells]).or_else(|| {
                self.schema.vars_in(Schema::ROOT).find(|v| {
                    let v = self.schema.var(*v);
                    v.dims == [cells] && v.name.to_ascii_lowercase().ends_with(end)
                })
            })
        };
        let told = (along(DOMAIN), along(NUMBER));
        (told != (None, None)).then_some(told)
    }

    fn ugrid(&mut self, topology: VarId) -> Result<(), String> {
        let name = self.schema.var(topology).name.clone();
        let rank = self.schema.var(topology).attr("topology_dimension").and_then(ints);
        let is_line = rank.and_then(|r| r.first().copied()) == Some(1);
        let at = self.named(topology, "node_coordinates");
        let dim_of = |v: &VarId| self.schema.var(*v).dims.first().copied();
        let dim_named = |attr: &str| self.text(topology, attr).and_then(|n| self.dim(n));
        let nodes = at.first().and_then(dim_of).or_else(|| dim_named("node_dimension"));
        let first = |attr: &str| self.named(topology, attr).first().copied();
        let (corners, edges) = (first("face_node_connectivity"), first("edge_node_connectivity"));
        let sides = first("edge_face_connectivity");
        let edge_dim = dim_named("edge_dimension").or_else(|| edges.as_ref().and_then(dim_of));
        let cells =
            if is_line { nodes } else { dim_named("face_dimension").or(corners.as_ref().and_then(dim_of)) };
        let Some(cells) = cells else { return Ok(()) };
        let (domain, number) = match self.owners(&name, cells) {
            // The same in every file, such as the network under a mesh of one dimension.
            None => return Ok(()),
            Some((Some(domain), Some(number))) => (domain, number),
            Some(_) => return Err(format!("has only one of `{name}_{DOMAIN}` and `{name}_{NUMBER}`")),
        };
        let mut mesh = Mesh { name: name.clone(), node: None, edge: None, face: None };
        let what = if is_line { "node" } else { "cell" };
        let cell = self.add(what, &name, vec![cells], How::Cells { domain, number });
        if is_line {
            mesh.node = Some(cell);
        } else {
            mesh.face = Some(cell);
        }
        if !is_line && let (Some(nodes), Some(corners)) = (nodes, corners) {
            let at = <[VarId; 2]>::try_from(at.get(..2).unwrap_or_default()).ok();
            self.nodes(&mut mesh, cell, nodes, corners, at)?;
        }
        if let (Some(dim), Some(edges)) = (edge_dim, edges) {
            self.edges(&mut mesh, dim, edges, sides, is_line)?;
        }
        self.roles(topology, &mesh)?;
        for (place, set) in [("node", mesh.node), ("edge", mesh.edge), ("face", mesh.face)] {
            self.places.extend(set.map(|set| (name.clone(), place, set)));
        }
        Ok(())
    }

    fn nodes(
        &mut self,
        mesh: &mut Mesh,
        cells: SetId,
        dim: DimId,
        corners: VarId,
        at: Option<[VarId; 2]>,
    ) -> Result<(), String> {
        let set = self.found.sets.len();
        // Its own number is known before it is there.
        self.add("node", &mesh.name, vec![dim], How::List);
        let corners = self.connect(corners, cells, [set; 2], false)?;
        self.found.sets[set].how = How::Nodes { cells, corners, at, edges: None };
        mesh.node = Some(set);
        Ok(())
    }

    fn edges(
        &mut self,
        mesh: &mut Mesh,
        dim: DimId,
        ends: VarId,
        sides: Option<VarId>,
        lower: bool,
    ) -> Result<(), String> {
        let Some(node) = mesh.node else { return Ok(()) };
        let set = self.add("edge", &mesh.name, vec![dim], How::List);
        let ends = self.connect(ends, set, [node; 2], false)?;
        let sides = match (sides, mesh.face) {
            (Some(sides), Some(face)) => Some(self.connect(sides, set, [face; 2], false)?),
            _ => None,
        };
        self.found.sets[set].how = How::Pairs { ends, sides, lower };
        if let How::Nodes { edges, .. } = &mut self.found.sets[node].how {
            *edges = Some(ends);
        }
        mesh.edge = Some(set);
        Ok(())
    }

    /// Connectivity, by the attributes of the topology, or by the variables' own roles.
    fn roles(&mut self, topology: VarId, mesh: &Mesh) -> Result<(), String> {
        for (role, from, to) in [
            ("face_node_connectivity", mesh.face, mesh.node),
            ("face_edge_connectivity", mesh.face, mesh.edge),
            ("face_face_connectivity", mesh.face, mesh.face),
            ("edge_node_connectivity", mesh.edge, mesh.node),
            ("edge_face_connectivity", mesh.edge, mesh.face),
        ] {
            let (Some(from), Some(to)) = (from, to) else { continue };
            let told = self.named(topology, role);
            let own: Vec<VarId> = self
                .schema
                .var_ids()
                .filter(|&v| self.text(v, "cf_role") == Some(role))
                .filter(|&v| self.schema.var(v).dims.iter().any(|d| self.found.sets[from].dims.contains(d)))
                .collect();
            for v in told.into_iter().chain(own) {
                self.connect(v, from, [to; 2], false)?;
            }
        }
        Ok(())
    }

    /// Links between two meshes: `contact: "mesh1d: node mesh2d: face"`.
    fn contact(&mut self, v: VarId) -> Result<(), String> {
        let words: Vec<String> =
            self.text(v, "contact").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let ends: Vec<SetId> = words
            .chunks(2)
            .filter_map(|w| {
                let (mesh, place) = (w[0].trim_end_matches(':'), w.get(1)?);
                self.places.iter().find(|(m, p, _)| m == mesh && p == place).map(|x| x.2)
            })
            .collect();
        let (Some(&dim), &[one, other]) = (self.schema.var(v).dims.first(), &ends[..]) else { return Ok(()) };
        let name = self.schema.var(v).name.clone();
        let set = self.add("contact", &name, vec![dim], How::List);
        let ends = self.connect(v, set, [one, other], false)?;
        self.found.sets[set].how = How::Pairs { ends, sides: None, lower: true };
        Ok(())
    }

    /// The form that came before UGRID.
    fn old(&mut self) -> Result<(), String> {
        let (domain, number) = match (self.var(OLD_DOMAIN), self.var(OLD_NUMBER)) {
            (None, _) => return Ok(()),
            (Some(domain), Some(number)) => (domain, number),
            (Some(_), None) => return Err(format!("has `{OLD_DOMAIN}` and no `{OLD_NUMBER}`")),
        };
        let first_dim = |finder: &Self, name: &str| {
            finder.var(name).and_then(|v| finder.schema.var(v).dims.first().copied())
        };
        let Some(cells) = first_dim(self, OLD_NUMBER) else {
            return Err(format!("has an `{OLD_NUMBER}` without a dimension"));
        };
        let mut mesh = Mesh { name: String::new(), node: None, edge: None, face: None };
        let mut dims = vec![cells];
        for (name, v) in [(OLD_DOMAIN, domain), (OLD_NUMBER, number)] {
            if self.schema.var(v).dims != [cells] {
                let cells = &self.schema.dim(cells).name;
                return Err(format!("has a `{name}` that is not one for every cell, along `{cells}` alone"));
            }
        }
        // Cells of the flow, and of the net: the same.
        dims.extend(first_dim(self, "NetElemNode").filter(|d| *d != cells));
        let cell = self.add("cell", "", dims, How::Cells { domain, number });
        mesh.face = Some(cell);
        if let (Some(dim), Some(corners)) = (first_dim(self, "NetNode_x"), self.var("NetElemNode")) {
            let at = self.var("NetNode_x").zip(self.var("NetNode_y")).map(<[VarId; 2]>::from);
            self.nodes(&mut mesh, cell, dim, corners, at)?;
        }
        if let (Some(dim), Some(ends)) = (first_dim(self, "NetLink"), self.var("NetLink")) {
            let sides = self.var("ElemLink");
            self.edges(&mut mesh, dim, ends, sides, false)?;
        }
        if let (Some(v), Some(edge)) = (self.var("NetElemLink"), mesh.edge) {
            self.connect(v, cell, [edge; 2], false)?;
        }
        if let (Some(dim), Some(v)) = (first_dim(self, "FlowLink"), self.var("FlowLink")) {
            let set = self.add("link", "", vec![dim], How::List);
            let ends = self.connect(v, set, [cell; 2], true)?;
            self.found.sets[set].how = How::Pairs { ends, sides: None, lower: true };
        }
        // These lists count from one and do not say so.
        for c in &mut self.found.connections {
            let is_old = ["NetElemNode", "NetLink", "ElemLink", "NetElemLink"]
                .contains(&self.schema.var(c.var).name.as_str());
            if is_old && self.schema.var(c.var).attr("start_index").is_none() {
                c.base = 1;
            }
        }
        Ok(())
    }

    /// Points of the boundary: every file has its own.
    fn boundaries(&mut self) {
        for d in self.schema.dims_in(Schema::ROOT).collect::<Vec<_>>() {
            let name = self.schema.dim(d).name.to_ascii_lowercase();
            let is_boundary = name.ends_with("flowelembnd") || name.ends_with("facebnd");
            if is_boundary && !self.found.sets.iter().any(|s| s.dims.contains(&d)) {
                self.add("boundary point", "", vec![d], How::List);
            }
        }
    }
}

/// An error about a file, in the words of [`find`].
pub(super) fn wrong(path: &std::path::Path, what: &str) -> Error {
    Error::Tiles(format!("`{}` {what}", path.display()))
}
