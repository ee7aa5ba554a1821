//! Errors of `object_store` as this crate's: what failed, where, and what the server said, in one line.

use std::error::Error as StdError;
use std::io::{self, ErrorKind};

use object_store::Error as Remote;

use super::lengths::COMPRESSES;
use super::shown;
use crate::error::{Error, Op};

/// Longest part of a server's answer in a message.
const LONGEST: usize = 200;

/// The error of an operation on the object of a URL.
pub(super) fn explain(op: Op, url: &str, error: &Remote) -> Error {
    let name = shown(url);
    let chain = chain(error);
    let has = |part: &str| chain.iter().any(|text| text.contains(part));
    if has("Range request not supported") || has("non-partial response") {
        return Error::NoRanges { url: name };
    }
    if has("value for CONTENT_RANGE") {
        let what = "a server that does not tell how long its files are".to_owned();
        return Error::Unsupported { path: name, what };
    }
    let status = status(&chain);
    let (kind, what) = match (error, status) {
        (Remote::Precondition { .. }, _) => return Error::Changed { path: name },
        (Remote::NotFound { .. }, _) | (_, Some(404 | 410))
            if ["NoSuchBucket", "bucket does not exist", "ContainerNotFound"].iter().any(|s| has(s)) =>
        {
            (ErrorKind::NotFound, "the server has no such bucket".to_owned())
        }
        (Remote::NotFound { .. }, _) | (_, Some(404 | 410)) => {
            (ErrorKind::NotFound, "the server has no such object".to_owned())
        }
        (Remote::PermissionDenied { .. } | Remote::Unauthenticated { .. }, _) | (_, Some(401 | 403)) => {
            let status = status.map_or_else(String::new, |s| format!(" (status {s})"));
            (ErrorKind::PermissionDenied, format!("the server refuses access{status}"))
        }
        (Remote::AlreadyExists { .. }, _) => return Error::Exists(url.into()),
        (Remote::UnknownConfigurationKey { key, .. }, _) => return unknown_option(key),
        // It was longer when it was opened.
        (_, Some(416)) if op.reads() && op != Op::Open => return Error::Changed { path: name },
        (_, Some(416)) => (ErrorKind::UnexpectedEof, "the object is empty".to_owned()),
        // Where no credentials are given, Amazon's machines are asked for some.
        _ if has("169.254.169.254") || has("metadata.google.internal") => {
            (ErrorKind::PermissionDenied, "no credentials were found".to_owned())
        }
        _ if has("InvalidContentType") => {
            let what = "the server does not encrypt: it speaks http, not https";
            (ErrorKind::ConnectionAborted, what.to_owned())
        }
        _ if has("onnection refused") => {
            (ErrorKind::ConnectionRefused, "no server answers there (connection refused)".to_owned())
        }
        _ if has("dns error") || has("failed to lookup address") => {
            (ErrorKind::HostUnreachable, "no server of this name is known".to_owned())
        }
        _ if is_silence(&chain) => (ErrorKind::TimedOut, "the server did not answer in time".to_owned()),
        _ if has(COMPRESSES) => (ErrorKind::InvalidData, COMPRESSES.to_owned()),
        _ if has("header not present in partial response") || has("Requested ") && has(", got ") => {
            (ErrorKind::InvalidData, "the server sends another part than it was asked for".to_owned())
        }
        _ if is_cut(error) => {
            (ErrorKind::UnexpectedEof, "the server's answer ended before its end".to_owned())
        }
        _ if has("too many redirects") => {
            (ErrorKind::Other, "the server redirects the request in a circle".to_owned())
        }
        _ if has("redirect without LOCATION") => {
            let what = "the bucket is in another region: give it with the option `region`, or AWS_REGION";
            (ErrorKind::Other, what.to_owned())
        }
        (_, Some(status)) => (ErrorKind::Other, format!("the server answers with status {status}")),
        _ => (ErrorKind::Other, last(&chain)),
    };
    Error::io(op, name, io::Error::new(kind, what))
}

/// Options that are asked for most.
const OPTIONS: [&str; 17] = [
    "endpoint",
    "region",
    "access_key_id",
    "secret_access_key",
    "session_token",
    "timeout",
    "proxy_url",
    "allow_http",
    "allow_invalid_certificates",
    "virtual_hosted_style_request",
    "skip_signature",
    "service_account",
    "application_credentials",
    "account_name",
    "account_key",
    "sas_key",
    "container_name",
];

/// An option that the store does not have.
pub(super) fn unknown_option(key: &str) -> Error {
    let what = match crate::nearest(&key.to_ascii_lowercase(), OPTIONS) {
        Some(name) if name.eq_ignore_ascii_case(key) => {
            format!("`{key}` is an option of other kinds of stores than this one")
        }
        Some(name) => format!("the store has no option `{key}`: did you mean `{name}`?"),
        None => format!(
            "the store has no option `{key}`, as endpoint, region, access_key_id, secret_access_key are"
        ),
    };
    Error::bad_option("storage option", what)
}

/// The error of a request for a list of files.
pub(super) fn of_list(url: &str, error: &reqwest::Error) -> Error {
    let mut texts = vec![error.to_string()];
    let mut at = error.source();
    while let Some(e) = at {
        texts.push(e.to_string());
        at = e.source();
    }
    let what = match error.status() {
        Some(status) => format!("the server answers with status {}", status.as_u16()),
        None if error.is_timeout() => "the server did not answer in time".to_owned(),
        None => last(&texts),
    };
    Error::io(Op::List, shown(url), io::Error::other(what))
}

/// Whether the answer ended before its end: worth another request. After a silence it is not: that took the time in which
/// requests are repeated.
pub(super) fn is_cut(error: &Remote) -> bool {
    let chain = chain(error);
    status(&chain).is_none()
        && !is_silence(&chain)
        && [
            "error reading a body",
            "error decoding response body",
            "connection closed",
            "request or response body",
        ]
        .iter()
        .any(|part| chain.iter().any(|text| text.contains(part)))
}

/// Whether the server sent nothing for the longest time that is waited.
fn is_silence(chain: &[String]) -> bool {
    chain.iter().any(|text| text.contains("timed out"))
}

/// An error, and what caused it, and so on.
fn chain(error: &Remote) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut at: Option<&(dyn StdError + 'static)> = error.source();
    while let Some(e) = at {
        texts.push(e.to_string());
        at = e.source();
    }
    texts
}

/// The status of the answer, if there was one.
fn status(chain: &[String]) -> Option<u16> {
    chain.iter().find_map(|text| {
        let (_, rest) = text.split_once("status code: ")?;
        rest.get(..3)?.parse().ok()
    })
}

/// The innermost cause, on one line.
fn last(chain: &[String]) -> String {
    let text = chain.last().map_or("", String::as_str);
    let line = text.lines().next().unwrap_or("").trim();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
