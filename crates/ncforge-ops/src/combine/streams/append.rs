//! Outputs of an earlier run grow: the last file of each variable is joined with the files that have later steps.

use std::path::{Path, PathBuf};

use super::super::concat::{ConcatOptions, length, whole};
use super::super::mosaic::{Facts, Mosaic, Note};
use super::axis::Axis;
use super::making::{Making, Within};
use super::names::Named;
use super::outputs::{Whole, facts};
use super::report::{OutputReport, StreamReport};
use super::stream::Stream;
use super::variables::names;
use crate::compare::{CompareOptions, compare};
use crate::copy::CopyOptions;
use crate::progress::{Progress, Silent};
use crate::select::Selection;
use ncforge::model::VarId;
use ncforge::store::OutputFile;
use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Error, Op, Result};

/// A variable's share of the progress.
const SHARE: u64 = 1 << 20;

/// The last output of a variable that an earlier run made.
struct Earlier {
    path: PathBuf,
    start: String,
    end: String,
}

impl Making<'_> {
    /// Makes the outputs of a stream, of which some are there: those of each variable grow by the steps behind its last one.
    pub(super) fn grow(
        &mut self,
        named: &Named,
        open: &Stream,
        axis: Option<&Axis>,
        report: &mut StreamReport,
    ) -> Result<()> {
        let Some(axis) = axis else {
            let what = "the files tell no dates: nothing says which steps an earlier output lacks";
            return Err(Error::bad_option("append", what));
        };
        if !self.options.join.copy.select.is_empty() {
            return Err(Error::bad_option(
                "append",
                "an output grows by whole files: nothing is selected of them",
            ));
        }
        let there = self.listed()?;
        // What each variable lacks is known when its last output is open: all count alike.
        let sizes = vec![SHARE; open.vars.own.len()];
        let within = Within(self.parts, self.progress);
        let parts = self.parts_of(&within, &sizes);
        for (i, &v) in open.vars.own.iter().enumerate() {
            parts.part(i, &open.whole.schema.var_path(v));
            let all = Whole { named, source: &open.data, dim: &open.dim, axis: Some(axis) };
            match self.earlier(named, open, v, &there, report)? {
                Some(earlier) => self.grow_one(&all, open, v, &earlier, &parts, report)?,
                None => {
                    let only = names(&open.whole.schema, &open.vars.of_file(&open.whole.schema, v));
                    for steps in self.cuts(all.axis, axis.len() as u64)? {
                        let target = self.target(&all, v, only.clone(), steps);
                        self.check_name(&target)?;
                        let made = self.make(&all, &target, None, &parts, report)?;
                        report.outputs.push(made);
                    }
                }
            }
        }
        parts.finish();
        Ok(())
    }

    /// The names in the folder.
    fn listed(&self) -> Result<Vec<String>> {
        let fail = |e| Error::io(Op::List, shown_path(self.folder), e);
        if !self.folder.exists() {
            return Ok(Vec::new());
        }
        let entries = std::fs::read_dir(self.folder).map_err(fail)?;
        let names = entries
            .map(|entry| entry.map(|e| e.file_name().into_string().ok()))
            .collect::<Result<Vec<_>, _>>();
        Ok(names.map_err(fail)?.into_iter().flatten().collect())
    }

    /// The last output of a variable.
    fn earlier(
        &self,
        named: &Named,
        open: &Stream,
        v: VarId,
        there: &[String],
        report: &mut StreamReport,
    ) -> Result<Option<Earlier>> {
        let variable = open.whole.schema.var_path(v).trim_start_matches('/').replace('/', ".");
        let facts = facts(named, &variable);
        let of = |name: &String| {
            let (start, end) = self.options.name.dates(&facts, name)?;
            Some(Earlier { path: self.folder.join(name), start, end })
        };
        let mut found: Vec<Earlier> = there.iter().filter_map(of).collect();
        // Dates of other digits are compared as text: a year lies before its months.
        found.sort_by(|a, b| a.end.cmp(&b.end).then(b.start.cmp(&a.start)));
        for (i, old) in found.iter().enumerate() {
            let is_longer = |other: &&Earlier| self.options.name.tells_end() && other.start == old.start;
            let Some(grown) = found[i + 1..].iter().rfind(is_longer) else { continue };
            let (shown, name) = (shown_path(&old.path), shown_path(&grown.path));
            // One that cannot be read stays.
            if self.is_made && matches!(self.is_beginning_of(&old.path, &grown.path, &open.dim), Ok(true)) {
                remove(&old.path)?;
                report.note([Note::Other(format!(
                    "`{shown}` is removed: `{name}` holds all of it; an earlier run was stopped before"
                ))]);
            } else {
                report.note([Note::Other(format!("`{shown}` and `{name}` begin at the same date"))]);
            }
        }
        Ok(found.pop())
    }

    /// Whether an output is the beginning of another one.
    fn is_beginning_of(&self, old: &Path, grown: &Path, dim: &str) -> Result<bool> {
        let (old, grown) = (Dataset::open_with(old, self.small)?, Dataset::open_with(grown, self.small)?);
        let select = Selection::first(dim, length(&old.schema().dims, dim));
        let found = compare(&old, &grown, &CompareOptions { select, ..CompareOptions::default() }, &Silent)?;
        Ok(found.is_same())
    }

    /// The outputs of a variable from the last one on.
    fn grow_one(
        &mut self,
        all: &Whole<'_>,
        open: &Stream,
        v: VarId,
        earlier: &Earlier,
        progress: &dyn Progress,
        report: &mut StreamReport,
    ) -> Result<()> {
        let (named, dim, Some(axis)) = (all.named, all.dim, all.axis) else { return Ok(()) };
        let old = Dataset::open_with(&earlier.path, self.small)?;
        let lacks =
            |what: &str| Error::Tiles(format!("`{}` cannot grow: it {what}", shown_path(&earlier.path)));
        let of_old = Axis::of(&old, dim, None)?.ok_or_else(|| lacks("tells no dates"))?;
        let last =
            of_old.len().checked_sub(1).and_then(|i| of_old.at(i)).ok_or_else(|| lacks("has no steps"))?;
        let Some(first) = (0..axis.len()).find(|i| axis.at(*i).is_some_and(|at| at > last)) else {
            if self.is_made {
                OutputFile::clear(&earlier.path);
            }
            report.outputs.push(OutputReport {
                path: earlier.path.clone(),
                variable: open.whole.schema.var_path(v).trim_start_matches('/').to_owned(),
                start: earlier.start.clone(),
                end: earlier.end.clone(),
                steps: of_old.len() as u64,
                state: "unchanged",
                bytes: earlier.path.metadata().map_or(0, |m| m.len()),
                ..OutputReport::default()
            });
            return Ok(());
        };
        let only = names(&open.whole.schema, &open.vars.of_file(&open.whole.schema, v));
        let join = ConcatOptions {
            along: None,
            copy: CopyOptions { only: Some(only.clone()), ..CopyOptions::default() },
            ..self.options.join.clone()
        };
        let files = [vec![earlier.path.clone()], files_from(&open.whole, dim, first as u64)].concat();
        drop(old);
        let joint = whole(files, dim, &join, (self.engine, self.small), progress)?;
        report.note(joint.notes.iter().cloned());
        let data = joint.dataset();
        let of_joint =
            Axis::of(&data, dim, None)?.filter(|axis| axis.len() as u64 == length(&joint.schema.dims, dim));
        let of_joint = of_joint.ok_or_else(|| lacks("tells other dates than the files"))?;
        let v = joint
            .schema
            .find_var(&open.whole.schema.var_path(v))
            .ok_or_else(|| lacks("lacks its variable"))?;
        let before = of_old.len() as u64;
        let mut is_replaced = false;
        for steps in of_joint.cuts(self.options.years).into_iter().filter(|steps| steps.end > before) {
            let grows = steps.start < before;
            let steps = if grows { 0..steps.end } else { steps };
            let grown = Whole { named, source: &data, dim, axis: Some(&of_joint) };
            let target = self.target(&grown, v, only.clone(), steps);
            let replaces = grows.then_some(earlier.path.as_path());
            if replaces != Some(target.path.as_path()) {
                self.check_name(&target)?;
            }
            let made = self.make(&grown, &target, replaces, progress, report)?;
            is_replaced |= made.error.is_none() && replaces.is_some_and(|old| old != target.path);
            report.outputs.push(made);
        }
        if is_replaced && self.is_made {
            remove(&earlier.path)?;
        }
        Ok(())
    }
}

fn remove(path: &Path) -> Result<()> {
    std::fs::remove_file(path).map_err(|e| Error::io(Op::Other("remove"), shown_path(path), e))
}

/// The files that have steps from one on.
fn files_from(whole: &Mosaic, dim: &str, first: u64) -> Vec<PathBuf> {
    let Some(d) = whole.schema.dims.iter().position(|d| d.name == dim) else { return Vec::new() };
    let ends_behind = |(_, facts): &(&PathBuf, &Facts)| {
        let span = facts.spans[d];
        span.first + span.count > first
    };
    whole.tiles.paths().iter().zip(&whole.facts).filter(ends_behind).map(|(path, _)| path.clone()).collect()
}
