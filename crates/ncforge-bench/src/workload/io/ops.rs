//! A log of every operation: who moved what, when it began, and how long it took.
//!
//! Each rank keeps its own part beside the file while it measures, written between stretches of calls; at the end the first rank joins them. With
//! a log the clock is looked at around every call; without one, nothing of this is in the way.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::options::CacheAsk;
use super::places::Places;
use super::result::PhaseKind;
use crate::clock;
use crate::error::{Error, Result};
use crate::team::{Team, agree};

/// The columns.
const HEAD: &str = "case,repetition,phase,cache,rank,operation,kind,variable,begin_s,seconds,bytes\n";

/// The part of a rank.
pub(super) struct OpsLog {
    path: PathBuf,
    rank: usize,
    part: BufWriter<File>,
    /// Seconds of the clock that count as 0.
    zero: f64,
    /// Case and repetition; `None`: warm-up, which is not kept.
    now: Option<(String, usize)>,
    /// Operations of this phase so far.
    count: u64,
}

impl OpsLog {
    /// Begins the log of a run; every rank calls this.
    ///
    /// # Errors
    /// [`Error::Io`] on any rank.
    pub(super) fn begin(team: &dyn Team, path: &Path) -> Result<Self> {
        let rank = team.rank();
        let part = part(path, rank);
        let file = File::create(&part).map_err(|e| Error::io("create", &part, e));
        let file = agree(team, file)?;
        // Ranks of a machine have one clock.
        team.barrier()?;
        let zero = crate::team::exchange(team, &clock::now())?;
        let zero = if team.nodes() > 1 { zero[rank] } else { zero[0] };
        Ok(OpsLog { path: path.to_owned(), rank, part: BufWriter::new(file), zero, now: None, count: 0 })
    }

    /// What comes next.
    pub(super) fn next(&mut self, now: Option<(String, usize)>) {
        (self.now, self.count) = (now, 0);
    }

    /// A new phase of it.
    pub(super) fn phase(&mut self) {
        self.count = 0;
    }

    /// The operations of a stretch: begins and ends, in their order.
    pub(super) fn add(
        &mut self,
        (kind, cache): (PhaseKind, Option<CacheAsk>),
        times: &[(f64, f64)],
        places: &Places,
        name: &dyn Fn(usize) -> String,
    ) -> Result<()> {
        let Some((case, repetition)) = &self.now else { return Ok(()) };
        let head = format!(
            "{},{repetition},{},{},{}",
            quoted(case),
            kind.name(),
            cache.map_or("", |c| c.told().trim_start()),
            self.rank
        );
        let what = if kind == PhaseKind::Read { "read" } else { "write" };
        for ((begin, end), place) in times.iter().zip(places.all()) {
            // In collective calls some ranks have nothing to move.
            let what = if place.owned { what } else { "take-part" };
            let line = writeln!(
                self.part,
                "{head},{},{what},{},{:.9},{:.9},{}",
                self.count,
                quoted(&name(place.field)),
                begin - self.zero,
                end - begin,
                place.len
            );
            line.map_err(|e| Error::io("write", &part(&self.path, self.rank), e))?;
            self.count += 1;
        }
        Ok(())
    }

    /// Joins the parts; every rank calls this. Where the run went wrong, nothing is left.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn end(mut self, team: &dyn Team, well: bool) -> Result<()> {
        let path = part(&self.path, self.rank);
        let done = self.part.flush().map_err(|e| Error::io("write", &path, e));
        // After an error nobody waits for anybody.
        if !well {
            let _ = std::fs::remove_file(path);
            return Ok(());
        }
        agree(team, done)?;
        let joined = if self.rank == 0 { self.join(team.size()) } else { Ok(()) };
        let joined = agree(team, joined);
        let _ = std::fs::remove_file(path);
        joined
    }

    fn join(&self, ranks: usize) -> Result<()> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |e| Error::io("write", &path, e)
        };
        let mut whole = File::create(&self.path).map_err(io(&self.path))?;
        whole.write_all(HEAD.as_bytes()).map_err(io(&self.path))?;
        for rank in 0..ranks {
            let from = part(&self.path, rank);
            let mut file = File::open(&from).map_err(|e| Error::io("open", &from, e))?;
            std::io::copy(&mut file, &mut whole).map_err(io(&self.path))?;
        }
        Ok(())
    }
}

fn part(path: &Path, rank: usize) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(format!(".rank-{rank}"));
    name.into()
}

/// As CSV wants words with commas.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
