//! How variables are stored, in a few words.

use ncforge::codec::filter_name;
use ncforge::codec::quantize::Quantize;
use ncforge::model::{Filter, Storage};
use ncforge::raw::{Kept, NotFollowed, Place, VarLayout};

/// The place of a variable of the source, in words.
pub(super) fn describe_place(layout: &VarLayout) -> String {
    match &layout.place {
        Place::Nowhere => "not written".into(),
        Place::Inline(_) => "compact".into(),
        Place::Contiguous { .. } => "contiguous".into(),
        Place::Records { .. } => "records".into(),
        Place::Chunked { chunk, codecs, .. } => describe_chunks(chunk, codecs.filters()),
        Place::Parts(parts) => match parts.kept() {
            Kept::Chunks(c) => describe_chunks(c.chunk, c.codecs.filters()),
            Kept::Rows => "contiguous".into(),
            Kept::Otherwise => "virtual".into(),
        },
        Place::Unsupported(why) | Place::NotFollowed(NotFollowed { why, .. }) => why.clone(),
    }
}

/// The storage of a variable of the output, and the rounding before, in words.
pub(super) fn describe_storage(s: &Storage, rounded: Option<Quantize>) -> String {
    let stored = match s {
        Storage::Contiguous => "contiguous".into(),
        Storage::Compact => "compact".into(),
        Storage::Chunked { chunks, filters } => describe_chunks(chunks, filters),
    };
    match rounded {
        None => stored,
        Some(Quantize::BitRound(n)) => format!("{stored}, rounded to {n} bits"),
        Some(how) => format!("{stored}, rounded to {} digits", how.kept()),
    }
}

fn describe_chunks(chunks: &[u64], list: &[Filter]) -> String {
    let lens: Vec<String> = chunks.iter().map(u64::to_string).collect();
    let mut text = format!("chunks {}", lens.join("x"));
    for f in list {
        text.push(' ');
        text.push_str(filter_name(f.id));
        if let Some(level) = f.level().filter(|_| !f.params.is_empty()) {
            text.push_str(&format!(" {level}"));
        }
    }
    text
}
