//! `ncforge completions`, `ncforge man`: made from the declaration of the command line.

mod reference;

use std::path::Path;

use crate::args::{CompletionsArgs, ManArgs, declaration};
use crate::exit::{Exit, Failure, Result};
use crate::printer::Printer;

/// Prints the completion script of a shell.
pub(crate) fn completions(args: &CompletionsArgs, printer: &Printer) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut declaration(), "ncforge", &mut script);
    printer.data(&String::from_utf8_lossy(&script));
    Ok(Exit::Ok)
}

/// Prints one manual page, or writes all of them.
pub(crate) fn man(args: &ManArgs, printer: &Printer) -> Result {
    // A manual page has a list of commands of its own.
    let mut root = declaration().disable_help_subcommand(true).before_help(None);
    root.build();
    if args.markdown {
        printer.data(&reference::markdown(&root));
        return Ok(Exit::Ok);
    }
    if let Some(dir) = &args.dir {
        return write_all(root, dir, printer);
    }
    let page = match &args.command {
        None => render(root)?,
        Some(name) => {
            let sub = root.find_subcommand(name).ok_or_else(|| {
                Failure::usage(format!("no command `{name}`"), "`ncforge help` lists the commands")
            })?;
            render(named_with_root(sub))?
        }
    };
    printer.data(&String::from_utf8_lossy(&page));
    Ok(Exit::Ok)
}

fn write_all(root: clap::Command, dir: &Path, printer: &Printer) -> Result {
    std::fs::create_dir_all(dir).map_err(|e| Failure::system("create", dir, e))?;
    let subs: Vec<_> = root.get_subcommands().map(named_with_root).collect();
    for command in std::iter::once(root).chain(subs) {
        let path = dir.join(format!("{}.1", command.get_name()));
        std::fs::write(&path, render(command)?).map_err(|e| Failure::system("write", &path, e))?;
        printer.detail(path.display());
    }
    Ok(Exit::Ok)
}

/// A sub-command under the name that its page has: `ncforge-copy`.
fn named_with_root(sub: &clap::Command) -> clap::Command {
    let name = format!("ncforge-{}", sub.get_name());
    sub.clone().name(name).version(env!("CARGO_PKG_VERSION"))
}

fn render(command: clap::Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|e| Failure::system("render", Path::new("manual page"), e))?;
    Ok(page)
}
