//! Names of libraries in results of earlier versions, which called the system's netCDF-C `libnetcdf` and its HDF5 `h5`.

use serde_json::Value;

/// The old names, and what the options and results call these libraries now.
const RENAMED: [(&str, &str); 2] = [("libnetcdf", "netcdf-c"), ("h5", "hdf5")];

/// Replaces old names in the texts of a document, wherever they are words of their own: paths and names of files stay.
pub(super) fn replace(value: &mut Value) {
    match value {
        Value::String(text) => *text = replaced(text),
        Value::Array(all) => all.iter_mut().for_each(replace),
        Value::Object(all) => all.values_mut().for_each(replace),
        _ => {}
    }
}

fn replaced(text: &str) -> String {
    let word = |word: &str| {
        let name = word.trim_matches([',', ';', ':', '.', '(', ')', '`']);
        match RENAMED.iter().find(|(old, _)| *old == name) {
            Some((old, new)) => word.replacen(old, new, 1),
            None => word.to_owned(),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_and_files_are_not() {
        let mut value = serde_json::json!({
            "engine": "libnetcdf",
            "rows": [{"case": "libnetcdf, cdf5"}, {"case": "h5"}],
            "words": ["the fastest is libnetcdf, then h5.", "libnetcdf 4.9.0: HDF5 1.10.8"],
            "notes": ["/opt/lib/libnetcdf.so 4.9", "made by: --library=libnetcdf_pnetcdf.so.19 -f=t.h5", "a.h5"],
        });
        replace(&mut value);
        let now = serde_json::json!({
            "engine": "netcdf-c",
            "rows": [{"case": "netcdf-c, cdf5"}, {"case": "hdf5"}],
            "words": ["the fastest is netcdf-c, then hdf5.", "netcdf-c 4.9.0: HDF5 1.10.8"],
            "notes": ["/opt/lib/libnetcdf.so 4.9", "made by: --library=libnetcdf_pnetcdf.so.19 -f=t.h5", "a.h5"],
        });
        assert_eq!(value, now);
    }
}
