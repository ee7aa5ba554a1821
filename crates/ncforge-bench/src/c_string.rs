//! Names as libraries in C take them.

use std::ffi::CString;

use crate::error::{Error, Result};

/// A text that ends with a zero byte.
///
/// # Errors
/// [`Error::Invalid`] when one stands within it.
pub(crate) fn c_string(text: impl AsRef<std::ffi::OsStr>) -> Result<CString> {
    let text = text.as_ref();
    CString::new(text.as_encoded_bytes())
        .map_err(|_| Error::Invalid(format!("`{}` holds a zero byte", text.display())))
}
