//! Datasets: what the messages of a dataset's header say, together.

use super::dataspace::Dataspace;
use super::datatype::Datatype;
use super::file::File;
use super::fill::FillValue;
use super::layout::Layout;
use super::message::{ObjectHeader, kind};
use super::pipeline;
use crate::error::Result;
use crate::model::Filter;

/// A dataset's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dataset {
    /// Type of its elements.
    pub datatype: Datatype,
    /// The committed type that it has.
    pub committed: Option<u64>,
    /// Its shape.
    pub space: Dataspace,
    /// The place of its bytes.
    pub layout: Layout,
    /// The filters of its chunks.
    pub filters: Vec<Filter>,
    /// The value of unwritten elements.
    pub fill: FillValue,
    /// Whether its bytes are in other files.
    pub external: bool,
}

impl File {
    /// Reads a dataset's description from its header.
    pub(crate) fn dataset(&self, header: &ObjectHeader) -> Result<Dataset> {
        let (datatype, committed) = self.datatype(header)?;
        let need = |k: u16, what: &str| {
            header
                .find(k)
                .ok_or_else(|| self.source.fail(header.address, format!("a dataset without {what}")))
        };
        let body = self.body(need(kind::DATASPACE, "a dataspace")?)?;
        let space = Dataspace::parse(&mut self.cursor(&body))?;
        let body = self.body(need(kind::LAYOUT, "a data layout")?)?;
        let layout = Layout::parse(&mut self.cursor(&body))?;
        let filters = match header.find(kind::PIPELINE) {
            Some(m) => pipeline::parse(&mut self.cursor(&self.body(m)?))?,
            None => Vec::new(),
        };
        // The newer message rules where a file has both.
        let fill = match (header.find(kind::FILL), header.find(kind::FILL_OLD)) {
            (Some(m), _) => FillValue::parse(&mut self.cursor(&self.body(m)?))?,
            (None, Some(m)) => FillValue::parse_old(&mut self.cursor(&self.body(m)?))?,
            (None, None) => FillValue::default(),
        };
        if let Layout::Chunked(l) = &layout
            && l.chunk.len() != space.dims().len()
        {
            let (chunk, rank) = (l.chunk.len(), space.dims().len());
            let what = format!("a dataset of {rank} dimensions with chunks of {chunk}");
            return Err(self.source.fail(header.address, what));
        }
        let external = header.has(kind::EXTERNAL_FILES);
        Ok(Dataset { datatype, committed, space, layout, filters, fill, external })
    }
}
