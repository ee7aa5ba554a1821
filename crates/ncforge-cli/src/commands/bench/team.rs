//! Starting the processes of a team: this command once more, as many times as there are ranks.

use ncforge_bench::team::launch;

use super::itself::Itself;
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

/// Starts them with the words of this command line, and waits for them. Their exit code is the command's.
pub(super) fn start(ranks: usize, cx: &Context<'_>) -> Result {
    interrupt::catch();
    let itself = Itself::of(cx)?;
    let ended = launch(&itself.program, &itself.arguments(&cx.argv[1..]), ranks)?;
    match ended.message {
        Some(message) => Err(Failure {
            class: None,
            message,
            hint: "fewer processes show whether one fails alone, too".into(),
            exit: Exit::Failed,
        }),
        None => Ok(Exit::from_code(ended.code)),
    }
}
