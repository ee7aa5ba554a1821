//! How bytes are encoded: the crate `ncforge-codec`, and the conversion of its errors.

pub use ncforge_codec::*;

/// The placeholder for the path in an error, until [`locate`] replaces it.
const CHUNK: &str = "chunk";

impl From<Error> for crate::Error {
    fn from(e: Error) -> Self {
        match e {
            Error::Corrupt(what) => crate::Error::corrupt(CHUNK, None, what),
            Error::Unsupported(what) => crate::Error::Unsupported { path: CHUNK.into(), what },
            Error::BadFilter(what) => crate::Error::BadFilter(what),
            Error::BadType(what) => crate::Error::BadType(what),
            Error::Length(what) => crate::Error::Length(what),
            Error::Memory(bytes) => crate::Error::Memory { bytes },
            Error::BadOption { option, what } => crate::Error::BadOption { option, what },
            other => crate::Error::Internal(other.to_string()),
        }
    }
}

/// Inserts the file (and the chunk's byte offset) into an error of a chain of filters.
///
/// ```
/// # use ncforge::codec::{CodecChain, filters, locate};
/// let chain = CodecChain::new(&[filters::fletcher32()], 1)?;
/// let error = chain.decode(&[1, 2, 3, 4, 9, 9, 9, 9], 0, &mut [0; 4]).unwrap_err();
/// let error = locate(error, "a.nc", 4096);
/// assert!(error.to_string().starts_with("`a.nc` is damaged at byte 4096: fletcher32"));
/// # Ok::<(), ncforge::Error>(())
/// ```
pub fn locate(
    error: impl Into<crate::Error>,
    file: impl Into<String>,
    at: impl Into<Option<u64>>,
) -> crate::Error {
    match error.into() {
        crate::Error::Corrupt { path, offset: None, what } if path == CHUNK => {
            crate::Error::corrupt(file, at, what)
        }
        crate::Error::Unsupported { path, what } if path == CHUNK => {
            crate::Error::Unsupported { path: file.into(), what }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_filter_is_named_with_its_file() {
        let zfp = Filter { id: 32013, params: vec![1, 2], optional: false };
        let error = locate(CodecChain::new(&[zfp], 4).unwrap_err(), "a.nc", None);
        assert_eq!(error.to_string(), "`a.nc`: filter 32013 (zfp) is not supported");
    }
}
