//! Attributes of quantized values: those of netCDF-C, those of the CF conventions, those of NCO.
//!
//! netCDF-C has one attribute, whose name tells the algorithm. The CF conventions (1.12, section 8.4) have a *container variable*, whose
//! attributes `algorithm` and `implementation` say how and by whom, and on each quantized variable `quantization`, the name of
//! the container, and `quantization_nsb` (bits) or `quantization_nsd` (digits). They ask for theirs beside netCDF-C's. NCO before 5.2.7
//! writes netCDF-C's names without the underscore.

use ncforge_codec::quantize::Quantize;

use super::{Atomic, Attribute, GroupId, Number, Schema, Values, VarId, Variable};

/// The attribute with the name of the container variable.
const CF_CONTAINER: &str = "quantization";
/// The container variable's usual name, that of CF's examples.
const CONTAINER_NAME: &str = "quantization_info";
/// The quantizing software, in CF's words (1.12, section 8.4.1).
const IMPLEMENTATION: &str = concat!("ncforge version ", env!("CARGO_PKG_VERSION"));

/// The attribute with which netCDF-C says so: an `int` with the number of digits or bits.
pub fn quantization_attribute(quantize: Quantize) -> Attribute {
    kept(quantize.attribute_name(), quantize)
}

fn kept(name: &str, quantize: Quantize) -> Attribute {
    Attribute {
        name: name.to_owned(),
        dtype: Atomic::Int.into(),
        values: Values::fixed(&(quantize.kept().cast_signed()).to_ne_bytes()),
    }
}

/// The quantization of a variable, as netCDF-C's attributes say: values that are written to it are quantized so, too.
pub fn quantization_of(var: &Variable) -> Option<Quantize> {
    let kinds = [Quantize::GranularBitRound, Quantize::BitRound, Quantize::BitGroom];
    kinds.into_iter().find_map(|kind| {
        let attr = var.attr(kind(0).attribute_name())?;
        let bytes = attr.values.bytes().filter(|_| attr.dtype == Atomic::Int.into())?;
        let n = i32::from_ne_bytes(bytes.first_chunk().copied()?);
        let found = kind(u32::try_from(n).ok()?);
        found.check(var.dtype).is_ok().then_some(found)
    })
}

/// CF's word for an algorithm, and its attribute for the digits or bits that are kept.
fn cf_words(quantize: Quantize) -> (&'static str, &'static str) {
    match quantize {
        Quantize::GranularBitRound(_) => ("granular_bitround", "quantization_nsd"),
        Quantize::BitRound(_) => ("bitround", "quantization_nsb"),
        Quantize::BitGroom(_) => ("bitgroom", "quantization_nsd"),
    }
}

/// Claims about quantization in the attributes of a variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuantizationClaims {
    /// netCDF-C does; the digits or bits.
    pub netcdf: Option<i64>,
    /// NCO does, in its own words.
    pub nco: bool,
    /// The digits or bits that CF's attributes tell.
    pub cf: Option<i64>,
    /// Whether CF's attributes name a container.
    pub names_container: bool,
    /// The container, if the file has it, and it says both what it must.
    pub container: Option<VarId>,
}

impl QuantizationClaims {
    /// Whether anybody claims it.
    pub fn any(self) -> bool {
        self.netcdf.is_some() || self.nco || self.cf.is_some() || self.names_container
    }
}

/// The attributes and the container that a description lacks to say that a variable is quantized.
pub(crate) struct NewClaim {
    /// Attributes of the variable.
    pub(crate) attrs: [Attribute; 3],
    /// The container that they name, unless it is there.
    pub(crate) container: Option<Variable>,
}

impl Schema {
    /// Claims about quantization in the attributes of a variable.
    pub fn quantization_claims(&self, var: &Variable) -> QuantizationClaims {
        let number = |attr: &Attribute| {
            let kind = self.number_of(attr.dtype)?;
            Number::read(kind, attr.values.bytes()?)?.whole()
        };
        let named = |a: &&Attribute| {
            let ends =
                ["NumberOfSignificantDigits", "NumberOfSignificantBits"].iter().any(|e| a.name.ends_with(e));
            ends && a.name.trim_start_matches('_').starts_with("Quantize")
        };
        let mut claims = QuantizationClaims::default();
        for attr in var.attrs.iter().filter(named) {
            match attr.name.starts_with('_') {
                true => claims.netcdf = Some(number(attr).unwrap_or_default()),
                false => claims.nco = true,
            }
        }
        claims.nco |= var.attr("number_of_significant_digits").is_some();
        let cf = ["quantization_nsb", "quantization_nsd"].iter().find_map(|name| var.attr(name));
        claims.cf = cf.map(|attr| number(attr).unwrap_or_default());
        claims.names_container = var.attr(CF_CONTAINER).is_some();
        claims.container = self
            .quantization_container(var)
            .filter(|&c| ["algorithm", "implementation"].iter().all(|name| self.var(c).attr(name).is_some()));
        claims
    }

    /// The variable that the attribute `quantization` names: by path, or in the variable's group or the nearest above it.
    pub fn quantization_container(&self, var: &Variable) -> Option<VarId> {
        let name = var.attr(CF_CONTAINER)?.as_text()?.trim();
        if name.contains('/') {
            return self.find_var(name);
        }
        let mut at = Some(var.group);
        while let Some(group) = at {
            if let Some(found) = self.vars_in(group).find(|&v| self.var(v).name == name) {
                return Some(found);
            }
            at = self.group(group).parent;
        }
        None
    }

    /// The variables whose attribute `quantization` names this container, each with what stands in front of the name there.
    pub(crate) fn quantized_with(&self, container: VarId) -> Vec<(VarId, String)> {
        // Nearly no variable is one.
        if !self.var(container).dims.is_empty() || self.var(container).attr("algorithm").is_none() {
            return Vec::new();
        }
        let naming = self.var_ids().filter_map(|v| {
            let name = self.var(v).attr(CF_CONTAINER)?.as_text()?.trim();
            (self.quantization_container(self.var(v)) == Some(container))
                .then(|| (v, name[..name.rfind('/').map_or(0, |at| at + 1)].to_owned()))
        });
        naming.collect()
    }

    /// Says that a variable is quantized, with the attributes of netCDF-C and of the CF conventions. Variables that were
    /// quantized in the same way share a container, in the root group.
    ///
    /// ```
    /// use ncforge::codec::quantize::Quantize;
    /// use ncforge::model::{Atomic, Format, Schema, VarId, Variable};
    /// let mut schema = Schema::new(Format::Netcdf4);
    /// schema.vars.push(Variable::new("ps", Atomic::Float, vec![]));
    /// schema.claim_quantization(VarId(0), Quantize::BitRound(9));
    /// let names: Vec<_> = schema.vars[0].attrs.iter().map(|a| a.name.as_str()).collect();
    /// assert_eq!(names, ["_QuantizeBitRoundNumberOfSignificantBits", "quantization", "quantization_nsb"]);
    /// let container = schema.quantization_container(&schema.vars[0]).unwrap();
    /// assert_eq!(schema.var(container).attr("algorithm").unwrap().as_text(), Some("bitround"));
    /// ```
    pub fn claim_quantization(&mut self, var: VarId, quantize: Quantize) {
        let new = self.new_claim(var, quantize);
        self.vars.extend(new.container);
        let attrs = &mut self.vars[var.0].attrs;
        attrs.retain(|a| new.attrs.iter().all(|n| n.name != a.name));
        attrs.extend(new.attrs);
    }

    /// The attributes and the container that [`Schema::claim_quantization`] adds.
    pub(crate) fn new_claim(&self, var: VarId, quantize: Quantize) -> NewClaim {
        let (algorithm, kept_name) = cf_words(quantize);
        let says = |v: VarId| {
            let text = |name: &str| self.var(v).attr(name).and_then(Attribute::as_text);
            self.var(v).dims.is_empty()
                && text("algorithm") == Some(algorithm)
                && text("implementation") == Some(IMPLEMENTATION)
        };
        let (name, container) = match self.vars_in(Schema::ROOT).find(|&v| says(v)) {
            Some(v) => (self.var(v).name.clone(), None),
            None => {
                let mut container = Variable::new(self.free_name(), Atomic::Char, vec![]);
                container.attrs = vec![
                    Attribute::text("algorithm", algorithm),
                    Attribute::text("implementation", IMPLEMENTATION),
                ];
                (container.name.clone(), Some(container))
            }
        };
        // A variable of that name in a group on the way would be found first.
        let path = match self.var(var).group == Schema::ROOT {
            true => name,
            false => format!("/{name}"),
        };
        let attrs = [
            quantization_attribute(quantize),
            Attribute::text(CF_CONTAINER, &path),
            kept(kept_name, quantize),
        ];
        NewClaim { attrs, container }
    }

    /// A name for a container that nothing in the root group has.
    fn free_name(&self) -> String {
        let taken = |name: &String| {
            let in_root = |g: GroupId| g == Schema::ROOT;
            self.vars.iter().any(|v| v.name == *name && in_root(v.group))
                || self.groups.iter().any(|g| g.name == *name && g.parent == Some(Schema::ROOT))
                || self.types.iter().any(|t| t.name == *name && in_root(t.group))
        };
        let mut names = (1..).map(|i| match i {
            1 => CONTAINER_NAME.to_owned(),
            _ => format!("{CONTAINER_NAME}_{i}"),
        });
        names.find(|name| !taken(name)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Group};
    use super::*;

    #[test]
    fn the_attribute_says_how_values_were_quantized() {
        let mut var = Variable::new("v", Atomic::Double, vec![]);
        assert_eq!(quantization_of(&var), None);
        var.attrs.push(quantization_attribute(Quantize::BitRound(9)));
        assert_eq!(quantization_of(&var), Some(Quantize::BitRound(9)));
    }

    #[test]
    fn every_claim_is_known() {
        let schema = Schema::new(Format::Netcdf4);
        let claims = |name: &str| {
            let mut var = Variable::new("v", Atomic::Float, vec![]);
            var.attrs = vec![kept(name, Quantize::BitRound(9))];
            schema.quantization_claims(&var)
        };
        assert_eq!(claims("_QuantizeBitGroomNumberOfSignificantDigits").netcdf, Some(9));
        assert!(claims("QuantizeDigitRoundNumberOfSignificantDigits").nco);
        assert_eq!(claims("quantization_nsd").cf, Some(9));
        assert!(!claims("significant_digits").any() && claims("quantization").names_container);
    }

    #[test]
    fn variables_share_a_container_that_others_do_not() {
        let mut s = Schema::new(Format::Netcdf4);
        s.groups.push(Group { name: "g".into(), parent: Some(Schema::ROOT), attrs: vec![] });
        s.vars.push(Variable::new("quantization_info", Atomic::Int, vec![]));
        for group in [0, 0, 1] {
            let mut v = Variable::new(format!("v{}", s.vars.len()), Atomic::Float, vec![]);
            v.group = GroupId(group);
            s.vars.push(v);
        }
        s.claim_quantization(VarId(1), Quantize::BitRound(9));
        s.claim_quantization(VarId(2), Quantize::GranularBitRound(3));
        s.claim_quantization(VarId(3), Quantize::BitRound(4));
        let container = |v: usize| s.quantization_claims(&s.vars[v]).container;
        assert_eq!(
            (container(1), container(2), container(3)),
            (Some(VarId(4)), Some(VarId(5)), Some(VarId(4)))
        );
        assert_eq!(s.quantization_claims(&s.vars[3]).cf, Some(4));
        assert_eq!(s.vars[4].name, "quantization_info_2");
    }
}
