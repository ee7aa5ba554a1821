//! The class `ncforge._core.Contents`: the objects of an open file by group and name. What a question costs depends on the answer,
//! not on how many objects the file has.

use ncforge::model::{GroupId, Members, Names, Schema, Scope};
use pyo3::prelude::*;

use crate::describe::{self, VarFacts};
use crate::errors::outside;
use crate::state::Shared;

/// A variable as it is identified: position, type, dimensions.
type Found<'py> = (usize, Bound<'py, PyAny>, Vec<usize>);

/// The objects of an open file. All are named by their position.
#[pyclass(frozen, module = "ncforge._core")]
pub(crate) struct Contents(pub(crate) Shared);

impl Contents {
    fn members<T: Send>(
        &self,
        py: Python<'_>,
        list: impl FnOnce(&Schema, &Members) -> Vec<T> + Send,
    ) -> PyResult<Vec<T>> {
        outside(py, || self.0.members(|s, m| Ok(list(s, m))))
    }

    fn find<T: Send>(
        &self,
        py: Python<'_>,
        find: impl FnOnce(&Schema, &Names) -> Option<T> + Send,
    ) -> PyResult<Option<T>> {
        outside(py, || self.0.named(|s, n| Ok(find(s, n))))
    }
}

#[pymethods]
impl Contents {
    /// Position and name of the groups below a group.
    fn groups(&self, py: Python<'_>, of: usize) -> PyResult<Vec<(usize, String)>> {
        self.members(py, |s, m| {
            m.groups(GroupId(of)).iter().map(|&g| (g.0, s.group(g).name.clone())).collect()
        })
    }

    /// Position, name and whether it is unlimited, of the dimensions that a group defines.
    fn dims(&self, py: Python<'_>, of: usize) -> PyResult<Vec<(usize, String, bool)>> {
        self.members(py, |s, m| {
            let dims = m.dimensions(GroupId(of)).iter().map(|&d| (d.0, s.dim(d)));
            dims.map(|(i, d)| (i, d.name.clone(), d.unlimited)).collect()
        })
    }

    /// Name, position, type and dimensions of the variables of a group.
    fn vars<'py>(&self, py: Python<'py>, of: usize) -> PyResult<Vec<(String, Found<'py>)>> {
        let found = self.members(py, |s, m| {
            m.variables(GroupId(of)).iter().map(|&v| (v.0, VarFacts::of(s.var(v)))).collect()
        })?;
        found.into_iter().map(|(at, facts)| facts.found(py, at)).collect()
    }

    /// The position of a group below a group.
    fn group(&self, py: Python<'_>, of: usize, name: &str) -> PyResult<Option<usize>> {
        self.find(py, |s, n| n.find(s, Scope::Groups(GroupId(of)), name))
    }

    /// The position of the dimension of this name that is visible from a group.
    fn visible_dim(&self, py: Python<'_>, of: usize, name: &str) -> PyResult<Option<usize>> {
        self.find(py, |s, n| n.visible_dimension(s, GroupId(of), name).map(|d| d.0))
    }

    /// A variable of a group.
    fn var<'py>(&self, py: Python<'py>, of: usize, name: &str) -> PyResult<Option<Found<'py>>> {
        let found = self.find(py, |s, n| {
            let at = n.find(s, Scope::Variables(GroupId(of)), name)?;
            Some((at, VarFacts::of(&s.vars[at])))
        })?;
        found.map(|(at, facts)| Ok(facts.found(py, at)?.1)).transpose()
    }

    /// Name, group and whether it is unlimited, of a dimension.
    fn dim(&self, py: Python<'_>, dim: usize) -> PyResult<(String, usize, bool)> {
        outside(py, || self.0.schema(|s| describe::dim(s, dim)))
    }
}
