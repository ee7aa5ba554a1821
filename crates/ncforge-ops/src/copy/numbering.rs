//! The order in which the objects of an output are numbered when it is opened again.
//!
//! A netCDF-4 file has no numbers of groups and variables: they are counted in the order in which they are found, which is that of
//! netCDF-C: each group before those inside it, groups depth first, and the variables group by group. Descriptions may be in another
//! order: what external links lead to comes after all else, and so does the container that says how values were quantized. A plan
//! is numbered as its output will be, so that one number means the same variable in both.

use super::schema::Moved;
use ncforge::model::{GroupId, Schema, VarId};
use ncforge::{Error, Result};

/// Numbers a description as a file of it is numbered, and so the variables that are moved into it, and `others` of its own.
pub(super) fn number_as_stored(schema: &mut Schema, vars: &mut [Moved], others: &mut [VarId]) {
    let groups = places(&depth_first(schema));
    let group = |g: GroupId| GroupId(groups[g.0]);
    let mut order: Vec<usize> = (0..schema.vars.len()).collect();
    order.sort_by_key(|&v| group(schema.vars[v].group));
    let numbers = places(&order);
    arrange(&mut schema.groups, &groups);
    arrange(&mut schema.vars, &numbers);
    schema.groups.iter_mut().for_each(|g| g.parent = g.parent.map(group));
    let in_dims = schema.dims.iter_mut().map(|d| &mut d.group);
    let in_types = schema.types.iter_mut().map(|t| &mut t.group);
    let in_vars = schema.vars.iter_mut().map(|v| &mut v.group);
    in_dims.chain(in_types).chain(in_vars).for_each(|g| *g = group(*g));
    let moved = vars.iter_mut().map(|m| &mut m.to);
    moved.chain(others).for_each(|v| *v = VarId(numbers[v.0]));
}

/// An error unless a file that was made by this description has the same numbers for its variables.
pub(super) fn check(planned: &Schema, made: &Schema) -> Result<()> {
    if planned.var_ids().map(|v| planned.var_path(v)).eq(made.var_ids().map(|v| made.var_path(v))) {
        return Ok(());
    }
    Err(Error::Verify("the output numbers its variables in another order than the plan".into()))
}

/// Groups, each before those inside it, siblings in their order.
fn depth_first(schema: &Schema) -> Vec<usize> {
    let mut children = vec![Vec::new(); schema.groups.len()];
    for (g, group) in schema.groups.iter().enumerate() {
        if let Some(parent) = group.parent {
            children[parent.0].push(g);
        }
    }
    let (mut order, mut todo) = (Vec::new(), vec![Schema::ROOT.0]);
    while let Some(g) = todo.pop() {
        order.push(g);
        todo.extend(children[g].iter().rev());
    }
    order
}

/// The place of each object in an order.
fn places(order: &[usize]) -> Vec<usize> {
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &object)| places[object] = place);
    places
}

fn arrange<T>(objects: &mut Vec<T>, places: &[usize]) {
    let mut placed: Vec<(usize, T)> = places.iter().copied().zip(objects.drain(..)).collect();
    placed.sort_by_key(|(place, _)| *place);
    objects.extend(placed.into_iter().map(|(_, object)| object));
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::{Atomic, DimId, Dimension, Format, Group, Variable};

    fn schema() -> Schema {
        let mut s = Schema::new(Format::Netcdf4);
        // Last comes what a link in the first group leads to.
        for (name, parent) in [("a", 0), ("b", 0), ("linked", 1)] {
            s.groups.push(Group { name: name.into(), parent: Some(GroupId(parent)), attrs: vec![] });
        }
        for (group, len) in [(2, 3), (3, 4)] {
            s.dims.push(Dimension { name: "x".into(), group: GroupId(group), len, unlimited: false });
        }
        for (name, group, dim) in [("v", 2, 0), ("w", 3, 1)] {
            let var = Variable::new(name, Atomic::Int, vec![DimId(dim)]);
            s.vars.push(Variable { group: GroupId(group), ..var });
        }
        s.vars.push(Variable::new("container", Atomic::Char, vec![]));
        s
    }

    #[test]
    fn groups_come_depth_first_and_variables_group_by_group() {
        let before = schema();
        let mut after = before.clone();
        let mut vars = [0, 1].map(|v| Moved { from: VarId(v), to: VarId(v), values: true });
        let mut others = [VarId(2)];
        number_as_stored(&mut after, &mut vars, &mut others);
        let paths: Vec<String> = after.var_ids().map(|v| after.var_path(v)).collect();
        assert_eq!(paths, ["container", "/a/linked/w", "/b/v"]);
        let groups: Vec<String> = (0..4).map(|g| after.group_path(GroupId(g))).collect();
        assert_eq!(groups, ["/", "/a", "/a/linked", "/b"]);
        for (from, to) in vars.map(|m| (m.from, m.to)).into_iter().chain([(VarId(2), others[0])]) {
            assert_eq!(before.var_path(from), after.var_path(to));
            assert_eq!(before.shape(from), after.shape(to));
        }
        assert_eq!(after.group_path(after.dim(DimId(1)).group), "/a/linked");
        assert!(check(&after, &after).is_ok());
        assert!(matches!(check(&after, &before), Err(Error::Verify(_))));
    }

    #[test]
    fn an_order_that_files_have_stays() {
        let mut s = schema();
        number_as_stored(&mut s, &mut [], &mut []);
        let mut again = s.clone();
        number_as_stored(&mut again, &mut [], &mut []);
        assert_eq!(s, again);
    }
}
