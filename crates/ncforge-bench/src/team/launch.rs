//! Starts the processes of a team, and waits for them.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use super::SharedTeam;
use super::shared::VARIABLE;
use crate::error::{Error, Result};

/// The time for ranks that know of a failure to clean up before they are ended.
const GRACE: Duration = Duration::from_secs(10);

/// The end of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// The exit code: 0 when all ranks gave 0, else that of the first one that failed.
    pub code: u8,
    /// The failure that no rank reports: a rank that was killed.
    pub message: Option<String>,
}

/// Runs `program` with `arguments` as `ranks` processes that find one another by
/// [`SharedTeam::from_environment`], and waits for all of them. When one fails the others get ten seconds to leave,
/// and are ended then.
///
/// # Errors
/// When a process cannot be started.
pub fn launch(program: &Path, arguments: &[OsString], ranks: usize) -> Result<Launched> {
    // Memory that is a file: no disk is touched by a barrier.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let file = tempfile::Builder::new().prefix("ncforge-bench-team-").tempfile_in(&folder);
    let file = file.map_err(|e| Error::io("create a file in", &folder, e))?;
    let grow = file.as_file().set_len(SharedTeam::file_len(ranks));
    grow.map_err(|e| Error::io("enlarge", file.path(), e))?;
    let team = SharedTeam::join(file.path(), 0, ranks)?;
    let mut children = Children(Vec::with_capacity(ranks));
    for rank in 0..ranks {
        let place = format!("{rank}/{ranks}/{}", file.path().display());
        let mut command = Command::new(program);
        command.args(arguments).env(VARIABLE, place);
        die_with_parent(&mut command);
        children.0.push(command.spawn().map_err(|e| Error::io("start", program, e))?);
    }
    let mut codes: Vec<Option<u8>> = vec![None; ranks];
    let mut first = None;
    let mut message = None;
    let mut until = None;
    let mut nap = Duration::from_micros(500);
    while codes.iter().any(Option::is_none) {
        for (rank, child) in
            children.0.iter_mut().enumerate().filter(|(r, _)| codes[*r].is_none()).collect::<Vec<_>>()
        {
            let Some(status) = child.try_wait().map_err(|e| Error::io("wait for", program, e))? else {
                continue;
            };
            let code = code_of(status);
            codes[rank] = Some(code);
            if code != 0 && first.is_none() {
                first = Some(code);
                until = Some(Instant::now() + GRACE);
                if status.code().is_none() {
                    let text = format!("ended by {}", how(status));
                    team.fail_as(rank, code, &text);
                    message = Some(format!("rank {rank} was {text}"));
                } else {
                    // A rank that left without a word (a crash in a library that calls exit) must not be waited for.
                    team.fail_as(rank, code, &format!("left with exit code {code}"));
                }
            }
        }
        if until.is_some_and(|t| Instant::now() > t) {
            break;
        }
        std::thread::sleep(nap);
        nap = (nap * 2).min(Duration::from_millis(10));
    }
    drop(children);
    Ok(Launched { code: first.unwrap_or(0), message })
}

/// Processes that do not outlive this.
struct Children(Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            if matches!(child.try_wait(), Ok(None)) {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

fn code_of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        // As shells count it.
        (None, Some(signal)) => 128u8.wrapping_add(signal as u8),
        (None, None) => 1,
    }
}

fn how(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    status.signal().map_or_else(|| status.to_string(), |s| format!("signal {s}"))
}

/// Lets the kernel end the process when this one is gone.
fn die_with_parent(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;
        // SAFETY: prctl is a plain system call, allowed between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, ranks: usize) -> Launched {
        launch(Path::new("/bin/sh"), &["-c".into(), script.into()], ranks).unwrap()
    }

    #[test]
    fn the_first_failure_is_the_teams() {
        assert_eq!(shell("exit 0", 3), Launched { code: 0, message: None });
        let script = format!("case ${VARIABLE} in 1/*) exit 4;; esac");
        assert_eq!(shell(&script, 3).code, 4);
        let script = format!("case ${VARIABLE} in 0/*) kill -9 $$;; esac");
        let killed = shell(&script, 2);
        assert_eq!((killed.code, killed.message.as_deref()), (137, Some("rank 0 was ended by signal 9")));
    }
}
