//! Files of many definitions by ncforge.

use std::path::Path;

use ncforge::engine::{Engine, EngineOptions};
use ncforge::model::{Attribute, DType, DimId, Dimension, Fill, Group, GroupId, Values, Variable};
use ncforge::{Atomic, CreateOptions, Dataset, DatasetMut, Schema};

use crate::driver::definitions::{
    ATTR, DIM, DTYPE, Definitions, GROUP, Held, Inquired, LEN, StepTimes, VAR, named,
};
use crate::driver::steps::Steps;
use crate::error::Result;

fn attribute((name, held): (String, Held)) -> Attribute {
    match held {
        Held::Text(text) => Attribute::text(name, &text),
        Held::Number(n) => {
            Attribute { name, dtype: Atomic::Double.into(), values: Values::fixed(&n.to_ne_bytes()) }
        }
    }
}

/// Creates the file: all is known before a byte is written.
pub(super) fn define(options: EngineOptions, path: &Path, spec: &Definitions) -> Result<StepTimes> {
    let engine = Engine::new(options)?;
    let mut steps = Steps::begin();
    let mut schema = Schema::new(spec.format);
    for d in 0..spec.dims {
        let name = named::dim(d);
        schema.dims.push(Dimension { name, group: Schema::ROOT, len: LEN, unlimited: false });
    }
    for g in 0..spec.groups {
        schema.groups.push(Group { name: named::group(g), parent: Some(Schema::ROOT), attrs: Vec::new() });
    }
    schema.groups[0].attrs.extend((0..spec.attrs).map(|a| attribute(spec.attribute(a, None))));
    for v in 0..spec.vars {
        let dims = spec.dims_of(v).into_iter().map(|d| DimId(d as usize)).collect();
        let mut var = Variable::new(named::var(v), DTYPE, dims);
        var.group = spec.group_of(v).map_or(Schema::ROOT, |g| GroupId(g as usize + 1));
        var.fill = Fill::None;
        var.attrs.extend((0..spec.attrs).map(|a| attribute(spec.attribute(a, Some(v)))));
        schema.vars.push(var);
    }
    steps.end("define");
    let options =
        CreateOptions { overwrite: true, engine: Some(engine), fill: false, ..CreateOptions::default() };
    let file = DatasetMut::create(path, schema, options)?;
    steps.end("create");
    file.close()?;
    steps.end("close");
    Ok(steps.into_times())
}

/// Opens it, and looks at everything in it.
pub(super) fn inquire(options: EngineOptions, path: &Path) -> Result<(StepTimes, Inquired)> {
    let engine = Engine::new(options)?;
    let mut steps = Steps::begin();
    let dataset = Dataset::open_with(path, &engine)?;
    steps.end("open");
    let schema = dataset.schema();
    let mut found = Inquired::default();
    let attributes = |found: &mut Inquired, place: &str, all: &[Attribute]| {
        for a in all {
            let DType::Atomic(kind) = a.dtype else { continue };
            let bytes = a.values.bytes().unwrap_or_default();
            found.add(ATTR, place, a.name.as_bytes(), &[&[kind as u8], bytes]);
        }
    };
    for (g, group) in schema.groups.iter().enumerate() {
        let path = schema.group_path(GroupId(g));
        let place = path.trim_end_matches('/');
        if g > 0 {
            found.add(GROUP, place, group.name.as_bytes(), &[]);
        }
        attributes(&mut found, place, &group.attrs);
        for d in schema.dims_in(GroupId(g)) {
            let dim = schema.dim(d);
            found.add(DIM, place, dim.name.as_bytes(), &[&dim.len.to_le_bytes()]);
        }
        for id in schema.vars_in(GroupId(g)) {
            let var = schema.var(id);
            let DType::Atomic(kind) = var.dtype else { continue };
            let kind = [kind as u8];
            let mut held: Vec<&[u8]> = vec![&kind];
            held.extend(var.dims.iter().map(|&d| schema.dim(d).name.as_bytes()));
            found.add(VAR, place, var.name.as_bytes(), &held);
            attributes(&mut found, &format!("{place}/{}", var.name), &var.attrs);
        }
    }
    steps.end("inquire");
    drop(dataset);
    steps.end("close");
    Ok((steps.into_times(), found))
}
