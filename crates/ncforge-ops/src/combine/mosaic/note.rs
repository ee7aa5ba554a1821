//! Notes for the user on the files of a set, by what they are about.

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// Steps that no file has.
    Gap(String),
    /// Steps that several files have.
    Overlap(String),
    /// An attribute that differs between files.
    Attribute(String),
    /// Anything else.
    Other(String),
}

impl Note {
    /// The note in words.
    pub(crate) fn text(&self) -> &str {
        match self {
            Note::Gap(text) | Note::Overlap(text) | Note::Attribute(text) | Note::Other(text) => text,
        }
    }
}

impl From<String> for Note {
    fn from(text: String) -> Note {
        Note::Other(text)
    }
}
