//! `ncforge completions`, `ncforge man`: made from the declaration of the command line.

mod reference;

use std::path::Path;

use ncforge::store::OutputFile;

use crate::args::{CompletionsArgs, ManArgs, declaration, declared};
use crate::exit::{Exit, Failure, Result};
use crate::printer::Printer;

/// Prints the completion script of a shell.
pub(crate) fn completions(args: &CompletionsArgs, printer: &Printer) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut declared(), "ncforge", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if args.shell == clap_complete::Shell::Bash {
        script = with_files(&script);
    }
    printer.data(&script);
    Ok(Exit::Ok)
}

/// In the script for bash, clap offers options where a file is due, and no files. Without those, bash does what it does by default.
const FILES: &str = r#"
_ncforge_or_files() {
    _ncforge "$@"
    [[ "${COMP_WORDS[COMP_CWORD]}" == -* ]] && return 0
    local word kept=()
    for word in "${COMPREPLY[@]}"; do
        [[ "${word}" == [-\<\[]* ]] || kept+=("${word}")
    done
    COMPREPLY=("${kept[@]}")
}
"#;

/// The script for bash with files where no option was begun.
fn with_files(script: &str) -> String {
    let calls = script.replace("complete -F _ncforge -o", "complete -F _ncforge_or_files -o");
    match calls.rfind("\nif [[ \"${BASH_VERSINFO") {
        Some(at) => format!("{}{FILES}{}", &calls[..at], &calls[at..]),
        None => script.to_owned(),
    }
}

/// Prints one manual page, or writes all of them.
pub(crate) fn man(args: &ManArgs, printer: &Printer) -> Result {
    // A manual page has a list of commands of its own.
    let page = |declared: clap::Command| declared.disable_help_subcommand(true).before_help(None);
    let mut root = page(if args.markdown.is_some() { declared() } else { declaration() });
    root.build();
    if let Some(apart) = args.markdown {
        printer.data(&reference::markdown(&root, apart.is_some()));
        return Ok(Exit::Ok);
    }
    if let Some(dir) = &args.dir {
        return write_all(root, dir, printer);
    }
    let page = match &args.command[..] {
        [] => render(root)?,
        words => render(below(&root, words)?)?,
    };
    printer.data(&String::from_utf8_lossy(&page));
    Ok(Exit::Ok)
}

fn write_all(root: clap::Command, dir: &Path, printer: &Printer) -> Result {
    std::fs::create_dir_all(dir).map_err(|e| Failure::system(ncforge::Op::Create, dir, e))?;
    for command in with_all_below(root) {
        let path = dir.join(format!("{}.1", command.get_name()));
        OutputFile::write_whole(&path, &render(command)?, true)?;
        printer.detail(path.display());
    }
    Ok(Exit::Ok)
}

/// The command that these words name, under the name that its page has.
fn below(root: &clap::Command, words: &[String]) -> Result<clap::Command, Failure> {
    words.iter().try_fold(root.clone(), |command, word| match command.find_subcommand(word) {
        Some(sub) => Ok(named_below(&command, sub)),
        None => Err(Failure::usage(
            format!("no command `{}`", words.join(" ")),
            "`ncforge help` lists the commands, `ncforge bench --help` those below `bench`",
        )),
    })
}

/// A command, and all that are below it.
fn with_all_below(command: clap::Command) -> Vec<clap::Command> {
    let subs: Vec<_> = command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help")
        .map(|sub| named_below(&command, sub))
        .collect();
    std::iter::once(command).chain(subs.into_iter().flat_map(with_all_below)).collect()
}

/// A sub-command under the name that its page has: `ncforge-copy`, `ncforge-bench-io`.
fn named_below(above: &clap::Command, sub: &clap::Command) -> clap::Command {
    let name = format!("{}-{}", above.get_name(), sub.get_name());
    sub.clone().name(name).version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true)
}

fn render(command: clap::Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|e| Failure::system(ncforge::Op::Other("render"), Path::new("manual page"), e))?;
    Ok(page)
}
