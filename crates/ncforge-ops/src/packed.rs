//! Packed variables as the variables that they mean.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::alike;
use crate::conversion::resize;
use crate::copy::Names;
use crate::series::is_coordinate;
use ncforge::model::{Atomic, Attribute, Endian, Schema, Values, VarId, Variable};
use ncforge::raw::{Convert, Packing, Unpacked, View};
use ncforge::{Dataset, Engine, Error, Result};

/// Attributes that speak of packed numbers.
const OF_PACKED: [&str; 10] = [
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "_Unsigned",
    "valid_min",
    "valid_max",
    "valid_range",
    "flag_values",
    "flag_masks",
];

/// Makes a packed variable one of unpacked numbers, which have the type that NumPy gives them; a reason where that cannot be.
pub(crate) fn unpack(schema: &Schema, var: &mut Variable) -> std::result::Result<(), String> {
    match Packing::of(schema, var)? {
        Some(packing) if packing.is_packed() => {
            if var.attr("_Unsigned").is_some() {
                return Err(
                    "it is packed in numbers whose attribute `_Unsigned` is not of the CF conventions".into(),
                );
            }
            declare(var, packing.kind());
        }
        None if OF_PACKED[..2].iter().any(|name| var.attr(name).is_some()) => {
            return Err("it is packed, and has no numbers".into());
        }
        _ => {}
    }
    Ok(())
}

/// Declares a variable as one of unpacked numbers.
fn declare(var: &mut Variable, kind: Atomic) {
    var.dtype = kind.into();
    var.endian = Endian::Native;
    resize(&mut var.storage, kind.size());
    var.attrs.retain(|a| !OF_PACKED.contains(&a.name.as_str()));
    let values = Values::fixed(&kind.default_fill());
    var.attrs.insert(0, Attribute { name: "_FillValue".into(), dtype: kind.into(), values });
}

/// Variables of which files are seen unpacked: their paths, and the types of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decoded(BTreeMap<String, Atomic>);

/// What files say of a variable.
struct Said {
    packing: Packing,
    kind: Atomic,
    differs: bool,
}

impl Decoded {
    /// The variables whose numbers these files pack in several ways, or of which other numbers are missing. `dim` is the dimension whose
    /// coordinate puts the files in order.
    pub(crate) fn of(files: &[PathBuf], only: Option<&Names>, dim: &str, engine: &Engine) -> Result<Self> {
        let all: Mutex<BTreeMap<String, Said>> = Mutex::default();
        alike::each(files, engine, |i| {
            let file = Dataset::open_with(&files[i], engine)?;
            let own = file.schema();
            let is_wanted =
                |v: &VarId| only.is_none_or(|only| only.has(own, *v)) || is_coordinate(own, *v, dim);
            for v in own.var_ids().filter(is_wanted) {
                let Some(packing) = packing(&file, v)? else { continue };
                let (path, kind) = (own.var_path(v), packing.kind());
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                let said = all.entry(path).or_insert_with(|| Said {
                    packing: packing.clone(),
                    kind,
                    differs: false,
                });
                said.differs |= !said.packing.is_same(&packing);
                said.kind = if said.kind == kind { kind } else { Atomic::Double };
            }
            Ok(())
        })?;
        let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let unlike = all.into_iter().filter(|(_, said)| said.differs);
        Ok(Decoded(unlike.map(|(path, said)| (path, said.kind)).collect()))
    }

    /// A file in which these variables are unpacked.
    pub(crate) fn seen_in(&self, file: Dataset) -> Result<Dataset> {
        let own = file.schema();
        let mut schema = own.clone();
        let mut changes: Vec<(VarId, Arc<dyn Convert>)> = Vec::new();
        for (path, kind) in &self.0 {
            let Some(v) = own.find_var(path) else { continue };
            let Some(packing) = packing(&file, v)? else { continue };
            declare(&mut schema.vars[v.0], *kind);
            let name = path.trim_start_matches('/');
            let change = Unpacked::new(packing, *kind, kind.default_fill(), name, &file.name());
            changes.push((v, Arc::new(change)));
        }
        Ok(if changes.is_empty() { file } else { file.view(View::converted(schema, changes)) })
    }

    /// Whether a variable is one of them.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// A note for each of them.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().map(|(path, kind)| {
            let name = path.trim_start_matches('/');
            format!(
                "`{name}` has not the same scale_factor, add_offset and missing values in all files: it is unpacked, as {}",
                kind.cdl_name()
            )
        })
    }
}

/// What packs the numbers of a file's variable.
fn packing(file: &Dataset, v: VarId) -> Result<Option<Packing>> {
    Packing::of(file.schema(), file.schema().var(v)).map_err(|what| Error::Unsupported {
        path: format!("{}: {}", file.name(), file.schema().var_path(v).trim_start_matches('/')),
        what: format!("unpacking {what}"),
    })
}
