//! The outputs of a stream: their names and parts, one after the other.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::super::concat::length;
use super::super::mosaic::Note;
use super::axis::Axis;
use super::making::{Making, Within, is_of_files};
use super::names::Named;
use super::pattern::Facts;
use super::report::{OutputReport, StreamReport};
use super::stream::{Refused, Stream};
use super::variables::names;
use crate::boxes::work_bytes;
use crate::copy::{CopyOptions, Lasting, Names, copy_of, plan};
use crate::progress::{Parts, Progress, check_stop};
use crate::select::Selection;
use ncforge::model::{VarId, shape};
use ncforge::raw::{Ranges, Span, View};
use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Error, Op, Result, Stale};

/// What outputs are parts of.
pub(super) struct Whole<'a> {
    pub(super) named: &'a Named,
    pub(super) source: &'a Dataset,
    /// The dimension along which files follow each other.
    pub(super) dim: &'a str,
    /// The dates along it, if they are told.
    pub(super) axis: Option<&'a Axis>,
}

/// An output that is wanted.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The variable's path.
    pub(super) variable: String,
    /// The variables in it.
    pub(super) only: Names,
    /// Its steps of the source.
    pub(super) steps: Range<u64>,
    pub(super) start: String,
    pub(super) end: String,
    pub(super) path: PathBuf,
    /// Bytes of its values.
    pub(super) bytes: u64,
}

impl Making<'_> {
    /// Makes the outputs of a stream.
    pub(super) fn stream(&mut self, named: &Named) -> Result<StreamReport> {
        let (case, stream) = named.case_and_stream();
        let mut report = StreamReport {
            case: case.to_owned(),
            stream: stream.to_owned(),
            files: named.files.len(),
            ..StreamReport::default()
        };
        let mut refused = Vec::new();
        let done = self
            .open(&named.files, &mut report.bad, &mut refused)
            .and_then(|open| self.outputs(named, &open, &mut report));
        for Refused { variable, error } in refused {
            let variable = variable.trim_start_matches('/').to_owned();
            let (start, end) =
                (report.start.clone().unwrap_or_default(), report.end.clone().unwrap_or_default());
            let dots = variable.replace('/', ".");
            let name = self.options.name.name(&Facts { start: &start, end: &end, ..facts(named, &dots) });
            report.outputs.push(OutputReport {
                path: self.folder.join(name),
                state: "failed",
                error: Some(error.to_string()),
                error_kind: Some(error.class()),
                variable,
                start,
                end,
                ..OutputReport::default()
            });
        }
        match done {
            Err(e) if self.options.keep_going && is_of_files(&e) => {
                if let Error::Order { .. } = e {
                    report.overlaps.push(e.to_string());
                }
                (report.error, report.error_kind) = (Some(e.to_string()), Some(e.class()));
            }
            other => other?,
        }
        Ok(report)
    }

    fn outputs(&mut self, named: &Named, open: &Stream, report: &mut StreamReport) -> Result<()> {
        let Stream { whole, data, dim, vars } = open;
        report.files = whole.tiles.len();
        report.bytes = whole.bytes;
        report.along.clone_from(dim);
        report.note(whole.notes.iter().cloned());
        let select = &self.options.join.copy.select;
        let source = &select.of(data, None)?.map_or_else(|| data.clone(), |part| part.view(data));
        let len = length(&source.schema().dims, dim);
        report.length = len;
        let usual = named.dates.as_ref().map(|(start, _)| start.len());
        let axis = Axis::of(source, dim, usual)?.filter(|axis| axis.len() as u64 == len);
        (report.start, report.end) = ends(named, axis.as_ref(), 0..len);
        if self.options.append {
            return self.grow(named, open, axis.as_ref(), report);
        }
        let cuts = self.cuts(axis.as_ref(), len)?;
        let all = Whole { named, source, dim, axis: axis.as_ref() };
        let mut targets = Vec::new();
        for &v in &vars.own {
            let only = names(source.schema(), &vars.of_file(source.schema(), v));
            targets.extend(cuts.iter().map(|steps| self.target(&all, v, only.clone(), steps.clone())));
        }
        self.make_all(&all, &targets, report)
    }

    /// The parts of the steps that get files of their own.
    pub(super) fn cuts(&self, axis: Option<&Axis>, len: u64) -> Result<Vec<Range<u64>>> {
        match (axis, self.options.years) {
            _ if len == 0 => Ok(Vec::new()),
            (Some(axis), years) => Ok(axis.cuts(years)),
            (None, None) => Ok(std::iter::once(0..len).collect()),
            (None, Some(_)) => {
                Err(Error::bad_option("years", "the files tell no dates: nothing says where years begin"))
            }
        }
    }

    /// The output of some steps of a variable.
    pub(super) fn target(&self, whole: &Whole<'_>, v: VarId, only: Names, steps: Range<u64>) -> Target {
        let (schema, named) = (whole.source.schema(), whole.named);
        let (start, end) = ends(named, whole.axis, steps.clone());
        let (start, end) = (start.unwrap_or_default(), end.unwrap_or_default());
        let variable = schema.var_path(v).trim_start_matches('/').to_owned();
        let name = self.options.name.name(&Facts {
            start: &start,
            end: &end,
            ..facts(named, &variable.replace('/', "."))
        });
        let share = |v: VarId| -> u64 {
            let lens = schema.var(v).dims.iter().map(|d| match schema.dim(*d) {
                along if along.name == whole.dim => steps.end - steps.start,
                other => other.len,
            });
            let all = shape::bytes(&schema.shape(v), 1).max(1);
            let own = lens.fold(1, u64::saturating_mul);
            (u128::from(work_bytes(schema, v)) * u128::from(own) / u128::from(all)) as u64
        };
        let bytes =
            only.vars.iter().filter_map(|name| schema.find_var(name)).map(share).fold(0, u64::saturating_add);
        Target { variable, only, steps, start, end, path: self.folder.join(name), bytes }
    }

    /// Makes outputs that are parts of one source.
    fn make_all(&mut self, whole: &Whole<'_>, targets: &[Target], report: &mut StreamReport) -> Result<()> {
        targets.iter().try_for_each(|target| self.check_name(target))?;
        let sizes: Vec<u64> = targets.iter().map(|t| t.bytes).collect();
        let within = Within(self.parts, self.progress);
        let parts = self.parts_of(&within, &sizes);
        for (i, target) in targets.iter().enumerate() {
            parts.part(i, &shown_path(&target.path));
            let made = self.make(whole, target, None, &parts, report)?;
            report.outputs.push(made);
        }
        parts.finish();
        Ok(())
    }

    /// Progress of the outputs of a stream.
    pub(super) fn parts_of<'b>(&self, within: &'b dyn Progress, sizes: &'b [u64]) -> Parts<'b> {
        let copy = &self.options.join.copy;
        Parts::of(within, "series", sizes, 1 + u64::from(copy.verify) + u64::from(copy.switches.digest))
    }

    /// An error where two outputs have one name, or one is there that may not be replaced.
    pub(super) fn check_name(&mut self, target: &Target) -> Result<()> {
        if !self.seen.insert(target.path.clone()) {
            let what = format!("two outputs would have the name `{}`", shown_path(&target.path));
            return Err(Error::bad_option("name", what));
        }
        let copy = &self.options.join.copy;
        let may_exist = copy.overwrite || copy.resume || !self.is_made;
        match !may_exist && target.path.exists() {
            true => Err(Error::Exists(target.path.clone())),
            false => Ok(()),
        }
    }

    /// Makes an output, in the place of one that it `replaces`, or plans it.
    pub(super) fn make(
        &self,
        whole: &Whole<'_>,
        target: &Target,
        replaces: Option<&Path>,
        progress: &dyn Progress,
        report: &mut StreamReport,
    ) -> Result<OutputReport> {
        check_stop(self.progress, "making series")?;
        let source = &part(whole, &target.steps);
        let of_all = &self.options.join.copy;
        let options = CopyOptions {
            only: Some(target.only.clone()),
            select: Selection::default(),
            overwrite: of_all.overwrite || replaces == Some(target.path.as_path()),
            ..of_all.clone()
        };
        let replaces = replaces.map(Path::to_owned);
        let mut out = OutputReport {
            path: target.path.clone(),
            variable: target.variable.clone(),
            start: target.start.clone(),
            end: target.end.clone(),
            steps: target.steps.end - target.steps.start,
            values_bytes: target.bytes,
            ..OutputReport::default()
        };
        if !self.is_made {
            let plan = plan(source, &options.for_output(&target.path)?, self.engine)?;
            report.note(plan.notes.into_iter().map(Note::Other));
            out.chosen = plan.variables.into_iter().filter_map(|v| v.reads).collect();
            let (bytes, seconds) = (plan.totals.written, plan.totals.seconds);
            return Ok(OutputReport { state: "planned", bytes, seconds, replaces, ..out });
        }
        std::fs::create_dir_all(self.folder)
            .map_err(|e| Error::io(Op::Create, shown_path(self.folder), e))?;
        // What is replaced goes away: what takes its place must be on disk by then.
        let lasting = if replaces.is_some() { Lasting::Durable } else { Lasting::Relaxed };
        let copied = |options: &CopyOptions| {
            copy_of(source, &target.path, options, self.engine, progress, lasting, None)
        };
        let made = match copied(&options) {
            // The output from which this one takes its first variables has grown before the run was stopped.
            Err(Error::CannotResume { why: Stale::Source, .. }) if self.options.append => {
                copied(&CopyOptions { resume: false, ..options })
            }
            other => other,
        };
        match made {
            Ok(copy) => {
                report.note(copy.notes.into_iter().map(Note::Other));
                out.state = match (copy.was_complete, &replaces) {
                    (true, _) => "complete",
                    (false, Some(_)) => "grown",
                    (false, None) => "made",
                };
                out.bytes = copy.output_bytes;
                out.raw_variables = copy.raw_variables;
                out.verified = copy.verified;
                out.digest = copy.digest;
                out.chosen = copy.chosen;
                out.seconds = copy.seconds;
                out.replaces = replaces;
            }
            Err(e) if self.options.keep_going && is_of_files(&e) => {
                out.state = "failed";
                (out.error, out.error_kind) = (Some(e.to_string()), Some(e.class()));
            }
            Err(e) => return Err(e),
        }
        Ok(out)
    }
}

/// The facts of a stream's names, but for dates.
pub(super) fn facts<'a>(named: &'a Named, var: &'a str) -> Facts<'a> {
    let (case, stream) = named.case_and_stream();
    Facts { case, stream, var, start: "", end: "" }
}

/// The dates of the first and the last of some steps: those of the axis, else those of the files' names.
fn ends(named: &Named, axis: Option<&Axis>, steps: Range<u64>) -> (Option<String>, Option<String>) {
    match axis {
        Some(axis) if !steps.is_empty() => {
            let text = |step: u64| Some(axis.text(step as usize));
            (text(steps.start), text(steps.end - 1))
        }
        Some(_) => (None, None),
        None => named.dates.clone().unzip(),
    }
}

/// Some steps of a source.
fn part(whole: &Whole<'_>, steps: &Range<u64>) -> Dataset {
    let Whole { source, dim, .. } = *whole;
    let dims = &source.schema().dims;
    let ranges = dims.iter().map(|d| (d.name == dim).then(|| Ranges::new([Span::run(steps.clone())])));
    match dims.iter().all(|d| d.name != dim || *steps == (0..d.len)) {
        true => source.clone(),
        false => source.view(View::of(source.schema(), ranges.collect())),
    }
}
