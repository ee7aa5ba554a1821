//! What a user types: options, and whole commands.

use std::ffi::OsString;

use ncforge::store::remote::shown_word;
use ncforge_ops::doctor::{Commands, Repair, Style};
use ncforge_ops::request::{Front, escaped};
use ncforge_tune::words::quoted;
use serde_json::Value;

/// Options and commands as a POSIX shell takes them.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommandLine;

impl Front for CommandLine {
    fn option(&self, name: &str) -> String {
        format!("--{}", name.replace('_', "-"))
    }

    fn setting(&self, name: &str, value: &str) -> String {
        format!("{} {value}", self.option(name))
    }
}

/// A report without colours.
impl Style for CommandLine {}

impl Commands for CommandLine {
    /// ```
    /// use ncforge_cli::CommandLine;
    /// use ncforge_ops::doctor::{Commands, Fix};
    /// let command = |files: &[&str]| CommandLine.copy(&Fix::default().repairs(files)[0]);
    /// assert_eq!(command(&["my file.nc"]), "ncforge copy 'my file.nc' 'my file-fixed.nc'");
    /// assert_eq!(command(&["d/1.nc", "d/2.nc"]), "ncforge copy d/1.nc d/2.nc d/fixed/");
    /// ```
    fn copy(&self, repair: &Repair<'_>) -> String {
        let mut words = vec!["ncforge".to_owned(), "copy".to_owned()];
        words.extend(repair.inputs.iter().map(|input| name_word(input)));
        words.push(name_word(&repair.output));
        let mut options: Vec<(String, Value)> = repair.fix.options().into_iter().collect();
        // What concerns the whole file comes before the lists of variables.
        options.sort_by_key(|(name, _)| match name.as_str() {
            "format" => 0,
            "chunks" => 2,
            "filters" => 3,
            "vars" => 4,
            _ => 1,
        });
        words.extend(options.iter().flat_map(|(name, value)| self.words(name, value)));
        words.join(" ")
    }
}

impl CommandLine {
    /// An option of a request as words of a command line.
    fn words(self, name: &str, value: &Value) -> Vec<String> {
        let with = |text: &str| vec![self.option(name), quoted(text)];
        match value {
            Value::Bool(true) => vec![self.option(name)],
            Value::Bool(false) => vec![self.option(&format!("no_{name}"))],
            Value::Array(list) if name == "vars" => {
                let names = list.iter().filter_map(Value::as_str).map(|name| escaped(name, &[',']));
                with(&names.collect::<Vec<_>>().join(","))
            }
            Value::Array(list) => list.iter().flat_map(|one| self.words(name, one)).collect(),
            Value::String(text) => with(text),
            other => with(&other.to_string()),
        }
    }
}

/// Words of a command as others may see them, in `history`, reports and messages: URLs without passwords and queries, options of
/// stores without their values.
pub(crate) fn public(words: &[OsString], storage_options: &[(String, String)]) -> Vec<String> {
    let public = |word: &OsString| {
        let word = word.to_string_lossy();
        let given = |(name, value): &&(String, String)| {
            word.strip_suffix(value.as_str()).is_some_and(|rest| rest.ends_with(&format!("{name}=")))
        };
        match storage_options.iter().find(given) {
            Some((_, value)) => format!("{}…", &word[..word.len() - value.len()]),
            None => shown_word(&word),
        }
    };
    words.iter().map(public).collect()
}

/// A file's name as a word that is no option.
fn name_word(name: &str) -> String {
    if name.starts_with('-') { quoted(&format!("./{name}")) } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use ncforge_ops::copy::CopyRequest;
    use ncforge_ops::doctor::Fix;
    use ncforge_ops::request::from_options;
    use serde_json::json;

    use super::*;
    use crate::args::{Command, parse};

    /// What the command takes the words of a line for.
    fn typed(line: &str) -> CopyRequest {
        let words = std::process::Command::new("sh").arg("-c").arg(format!("printf '%s\\n' {line}")).output();
        let words = String::from_utf8(words.unwrap().stdout).unwrap();
        let cli = parse(&words.lines().map(Into::into).collect::<Vec<_>>()).unwrap();
        let Command::Copy(args) = cli.command else { panic!("{line}") };
        let mut request = args.request(String::new()).unwrap();
        // The command sets these by itself.
        (request.run.history, request.run.checkpoint) = (None, None);
        request
    }

    #[test]
    fn secrets_are_left_out() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (line, want) in [
            ("copy --storage-option key=S in.nc out.nc", "copy --storage-option key=… in.nc out.nc"),
            ("copy --storage-option=key=S=T/= a.nc", "copy --storage-option=key=… a.nc"),
            ("copy http://u:P@h/a.nc?sig=S s3://b/x?y.nc", "copy http://h/a.nc?… s3://b/x?y.nc"),
            ("combine --coords=https://u:P@h/a.nc t.nc", "combine --coords=https://h/a.nc t.nc"),
            ("copy --select time=0:2 a.nc", "copy --select time=0:2 a.nc"),
        ] {
            let options = [("key".to_owned(), "S".to_owned()), ("key".to_owned(), "S=T/=".to_owned())];
            assert_eq!(public(&words(line), &options).join(" "), want);
        }
    }

    #[test]
    fn a_command_asks_for_the_same_as_its_request() {
        for name in ["tas", "a;b", "a,b", "a:b", "a|b&c", r"a\", "it's *", "*"] {
            let given = json!({
                "format": "netcdf4", "endian": "native", "skip_fill": true, "shuffle": false,
                "vars": [name, "lat"],
                "chunks": format!("{}:8,9;lat:3", escaped(name, &[';'])),
                "filters": [format!("{},shuffle|deflate,1", escaped(name, &[',', '|', '&', '*']))],
            });
            let fix: Fix = serde_json::from_value(given.clone()).unwrap();
            let line = CommandLine.copy(&fix.repairs(&["-in.nc"])[0]);
            assert!(line.starts_with("ncforge copy ./-in.nc ./-in-fixed.nc --format netcdf4 "), "{line}");
            let request: CopyRequest = from_options(given.as_object().unwrap().clone()).unwrap();
            assert_eq!(typed(&line), request, "{line}");
        }
    }
}
