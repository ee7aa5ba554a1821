//! The attributes by which netCDF-C says that values were quantized.

use ncforge_codec::quantize::Quantize;

use super::{Atomic, Attribute, Values, Variable};

/// The attribute that says so: an `int` with the number of digits or bits.
pub fn quantization_attribute(quantize: Quantize) -> Attribute {
    Attribute {
        name: quantize.attribute_name().to_owned(),
        dtype: Atomic::Int.into(),
        values: Values::fixed(&(quantize.kept().cast_signed()).to_ne_bytes()),
    }
}

/// How a variable's values were quantized, as its attributes say.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attribute_says_how_values_were_quantized() {
        let mut var = Variable::new("v", Atomic::Double, vec![]);
        assert_eq!(quantization_of(&var), None);
        var.attrs.push(quantization_attribute(Quantize::BitRound(9)));
        assert_eq!(quantization_of(&var), Some(Quantize::BitRound(9)));
    }
}
