//! The objects that match a pattern.

use futures_util::TryStreamExt;
use glob::{MatchOptions, Pattern};
use object_store::path::Path;
use url::Url;

use super::client::{self, Target};
use super::names::{PATTERN, is_web, pattern_part};
use super::{RemoteOptions, errors, runtime, shown};
use crate::error::{Error, Op, Result};

/// A wildcard matches within one part of a path.
const MATCHING: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

pub(super) fn glob(url: &str, options: &RemoteOptions) -> Result<Vec<String>> {
    let bad = |why: &str| Error::bad_option("URL", format!("`{}` cannot be listed: {why}", shown(url)));
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let (plain, query) = url.split_at(pattern_part(url).len());
    let host_end = plain[after_scheme..].find('/').map_or(plain.len(), |at| after_scheme + at);
    let (host, path) = plain.split_at(host_end);
    let Some(first) = path.find(PATTERN) else { return Ok(vec![url.to_owned()]) };
    let folder_end = path[..first].rfind('/').map_or(0, |at| at + 1);
    let folder = &path[..folder_end];
    let wanted = path.trim_start_matches('/');
    let deep = path[first..].contains('/');
    let web = is_web(url);
    let mut found = if web {
        if deep {
            return Err(bad(
                "a web server's folders are listed one at a time: only the last part may be a pattern",
            ));
        }
        of_page(&format!("{host}{folder}{query}"), options)?
    } else {
        of_store(url, host, folder, deep, options)?
    };
    if !web && found.iter().any(|path| path == wanted) {
        return Ok(vec![url.to_owned()]);
    }
    let pattern = Pattern::new(wanted).map_err(|e| bad(e.msg))?;
    found.retain(|path| pattern.matches_with(path, MATCHING));
    found.sort();
    found.dedup();
    Ok(found.into_iter().map(|path| format!("{host}/{path}{query}")).collect())
}

/// The objects below a folder, or in it.
fn of_store(url: &str, host: &str, folder: &str, deep: bool, options: &RemoteOptions) -> Result<Vec<String>> {
    // The client needs the name of some object.
    let target = Target::of(&format!("{host}/x"), options)?;
    let folder = Path::parse(folder).map_err(|e| errors::explain(Op::List, url, &e.into()))?;
    let prefix = Some(folder).filter(|p| !p.as_ref().is_empty());
    let listed = runtime::wait(url, async move {
        let objects = match deep {
            true => target.store.list(prefix.as_ref()).try_collect::<Vec<_>>().await?,
            false => target.store.list_with_delimiter(prefix.as_ref()).await?.objects,
        };
        Ok(objects.into_iter().map(|o| o.location.to_string()).collect())
    })?;
    listed.map_err(|e| errors::explain(Op::List, url, &e))
}

/// The files that a web server's page about a folder links to.
fn of_page(folder: &str, options: &RemoteOptions) -> Result<Vec<String>> {
    let base = Url::parse(folder).map_err(|e| Error::bad_option("URL", e.to_string()))?;
    let timeout = client::timeout_of(options)?;
    let url = base.clone();
    // Pages are often sent without their length, which `object_store` needs.
    let page = runtime::wait(folder, async move {
        client::prepare();
        let client = reqwest::Client::builder().read_timeout(timeout).connect_timeout(timeout).build()?;
        client.get(url).send().await?.error_for_status()?.bytes().await
    })?;
    let page = page.map_err(|e| errors::of_list(folder, &e))?;
    let text = String::from_utf8_lossy(&page);
    let links = text.split("href=").skip(1).filter_map(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        rest[1..].split(quote).next()
    });
    let here = |link: &str| {
        let there = base.join(link).ok()?;
        let same = there.host_str() == base.host_str() && there.path().starts_with(base.path());
        same.then(|| there.path().trim_start_matches('/').to_owned())
    };
    Ok(links.filter_map(here).collect())
}
