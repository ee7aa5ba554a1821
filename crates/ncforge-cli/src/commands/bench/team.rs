//! Starting the processes of a team: this command once more, as many times as there are ranks.

use ncforge_bench::team::launch;

use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

/// Starts them with the words of this command line, and waits for them. Their exit code is the command's.
pub(super) fn start(ranks: usize, cx: &Context<'_>) -> Result {
    interrupt::catch();
    let (program, first) = match cx.again.split_first() {
        Some((program, first)) => (program.into(), first),
        None => {
            let own = std::env::current_exe();
            (own.map_err(|e| failed(format!("cannot find the program itself: {e}")))?, &[][..])
        }
    };
    let arguments = [first, &cx.argv[1..]].concat();
    let ended = launch(&program, &arguments, ranks)?;
    match ended.message {
        Some(message) => Err(failed(message)),
        None => Ok(Exit::from_code(ended.code)),
    }
}

fn failed(message: String) -> Failure {
    let hint = "fewer processes show whether one fails alone, too".into();
    Failure { message, hint, exit: Exit::Failed }
}
