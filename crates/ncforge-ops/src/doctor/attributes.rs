//! NC6: attributes that do not say what programs take from them.

use super::Examined;
use super::finding::Finding;
use super::fix::Fix;
use super::rule::{Rule, rule, rules};
use ncforge::model::{QuantizationClaims, Schema, Variable};

pub(super) const RULES: &[Rule] = rules!(Always:
    ("NC601", "fill-value", Warning, "copy, where the type has the value",
        "A `_FillValue` is not one value of its variable's type: nccopy refuses the file, references lose the mask."),
    ("NC602", "quantization", Info, "the missing attributes",
        "Attributes that say how values were quantized belong together: netCDF-C's, and those of CF 1.12, section 8.4."),
);

pub(super) fn check(x: &Examined<'_>, out: &mut Vec<Finding>) {
    let schema = x.facts.schema();
    for v in schema.var_ids() {
        let (var, path) = (schema.var(v), schema.var_path(v));
        let path = path.as_str();
        out.extend(fill_value(schema, var, path));
        if let Some(message) = quantization(schema.quantization_claims(var)) {
            out.push(Finding::new(rule(RULES, "NC602"), Some(path), message));
        }
    }
}

fn fill_value(schema: &Schema, var: &Variable, path: &str) -> Option<Finding> {
    let own = var.attr("_FillValue")?;
    let found = |message| Finding::new(rule(RULES, "NC601"), Some(path), message);
    match schema.exact_fill(var)? {
        Ok(exact) if exact.fill == *own => None,
        Ok(_) => {
            let n = match own.len(schema) {
                1 => "of".to_owned(),
                n => format!("{n} values of"),
            };
            let (is, of) = (schema.type_name(own.dtype), schema.type_name(var.dtype));
            Some(
                found(format!("`_FillValue` is {n} type {is}, the variable of type {of}"))
                    .fixed_by(Fix::plain()),
            )
        }
        Err(why) => Some(found(why)),
    }
}

/// The first omission among claims of quantization.
fn quantization(claims: QuantizationClaims) -> Option<String> {
    let cf = claims.cf.is_some() || claims.names_container;
    Some(match (claims.netcdf, claims.cf) {
        _ if !claims.any() => return None,
        (None, None) if claims.nco => "quantized, as an attribute of NCO says; those of CF and of netCDF-C do not".into(),
        (Some(_), _) if !cf => "quantized, as netCDF-C's attribute says; those of CF do not".into(),
        _ if !claims.names_container => {
            "`quantization_nsb` or `quantization_nsd` without `quantization`, which names the container variable".into()
        }
        (_, None) => "`quantization` without `quantization_nsb` or `quantization_nsd`".into(),
        _ if claims.container.is_none() => {
            "`quantization` names no variable with the attributes `algorithm` and `implementation`".into()
        }
        (Some(own), Some(cf)) if own != cf => {
            format!("quantized to {own}, as netCDF-C's attribute says, and to {cf}, as CF's says")
        }
        (Some(_), Some(_)) => return None,
        (None, Some(_)) => {
            "quantized, as CF's attributes say; netCDF-C's does not, and does not round what is written later".into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::VarId;

    #[test]
    fn one_claim_asks_for_the_other() {
        let none = QuantizationClaims::default();
        let cf = QuantizationClaims { cf: Some(9), names_container: true, container: Some(VarId(1)), ..none };
        let both = QuantizationClaims { netcdf: Some(9), ..cf };
        assert_eq!((quantization(none), quantization(both)), (None, None));
        let says =
            |claims, what: &str| assert!(quantization(claims).is_some_and(|m| m.contains(what)), "{what}");
        says(QuantizationClaims { netcdf: Some(9), ..none }, "those of CF do not");
        says(cf, "netCDF-C's does not");
        says(QuantizationClaims { nco: true, ..none }, "NCO");
        says(QuantizationClaims { container: None, ..both }, "names no variable");
        says(QuantizationClaims { netcdf: Some(8), ..both }, "to 8");
        says(
            QuantizationClaims { names_container: false, container: None, ..both },
            "without `quantization`",
        );
        says(QuantizationClaims { cf: None, ..both }, "without `quantization_nsb`");
    }
}
