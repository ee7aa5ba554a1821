//! URLs and options; servers are in `tests/test_remote.py`.

use std::path::Path;

use super::client::{Place, Target};
use super::*;
use crate::Error;

fn options(name: &str, value: &str) -> RemoteOptions {
    RemoteOptions { anonymous: true, options: [(name.to_owned(), value.to_owned())].into() }
}

#[test]
fn urls_are_distinguished_from_paths() {
    for url in ["s3://b/k.nc", "HTTPS://h/k.nc", "abfss://c@a.dfs.core.windows.net/k.nc", "gs://b/k"] {
        assert_eq!(url_of(Path::new(url)), Some(url));
    }
    for path in ["a.nc", "/s3/b/k.nc", "s3:/b/k.nc", "ftp://h/k.nc", "C://x", "file:///a.nc"] {
        assert_eq!(url_of(Path::new(path)), None, "{path}");
    }
}

#[test]
fn messages_show_no_secrets() {
    for (url, text) in [
        ("https://user:word@host/a.nc?X-Amz-Signature=abc", "https://host/a.nc?…"),
        ("https://host/a@b.nc", "https://host/a@b.nc"),
        ("abfss://c@a.dfs.core.windows.net/k.nc", "abfss://c@a.dfs.core.windows.net/k.nc"),
        ("s3://bucket/a.nc", "s3://bucket/a.nc"),
        ("s3://bucket/run#1?.nc", "s3://bucket/run#1?.nc"),
    ] {
        assert_eq!(shown(url), text);
    }
    let secret = options("secret_access_key", "hidden");
    assert!(!format!("{secret:?}").contains("hidden"));
}

#[test]
fn options_are_checked() {
    let refused = |url: &str, o: RemoteOptions| Target::of(url, &o).map(|_| ()).unwrap_err();
    for url in ["s3://b/k", "http://h/k", "gs://b/k"] {
        let e = refused(url, options("nonsense", "1"));
        assert!(matches!(&e, Error::BadOption { what, .. } if what.contains("`nonsense`")), "{url}: {e}");
        assert_eq!(e.kind(), crate::error::ErrorKind::Request);
    }
    for text in ["soon", "-1", "0", "inf"] {
        let e = refused("http://h/k", options("timeout", text));
        assert!(matches!(&e, Error::BadOption { option: "timeout", .. }), "{text}: {e}");
    }
    assert!(Target::of("http://h/k", &options("timeout", "1.5 s")).is_ok());
    for url in ["s3://b/k", "az://b/k"] {
        for text in ["127.0.0.1:5077", "localhost:5077", "http://", "minio"] {
            let e = refused(url, options("endpoint", text));
            assert!(matches!(&e, Error::BadOption { option: "endpoint", .. }), "{url}, {text}: {e}");
        }
    }
    for (name, near) in [("acces_key_id", "access_key_id"), ("regio", "region"), ("end_point", "endpoint")] {
        let e = refused("s3://b/k", options(name, "1")).to_string();
        assert!(e.contains(&format!("did you mean `{near}`?")), "{e}");
    }
}

#[test]
fn paths_in_stores() {
    let path = |url: &str| Target::of(url, &options("timeout", "1s")).map(|t| t.path.to_string());
    assert_eq!(path("http://h/a/b%20c.nc").unwrap(), "a/b c.nc");
    assert_eq!(path("http://h/a.nc?version=2").unwrap(), "", "the URL is the client's");
    assert_eq!(path("http://h//a//b.nc").unwrap(), "", "not a path that can be built again");
    for key in ["run#1.nc", "k/x?y.nc", "q%41.nc", "a b[1].nc", "ü*.nc"] {
        for scheme in ["s3", "gs"] {
            assert_eq!(path(&format!("{scheme}://bucket/{key}")).unwrap(), key);
        }
    }
    assert_eq!(Place::parse("az://bucket/run#1.nc").unwrap().path.as_ref(), "run#1.nc");
    for url in ["http://h", "http://h/", "s3://bucket", "s3:///a", "s3://b/k/", "s3://b//k", "s3://b/a/../k"]
    {
        assert!(matches!(path(url), Err(Error::BadOption { option: "URL", .. })), "{url}");
    }
}

#[test]
fn clients_are_shared() {
    let of = |url| Target::of(url, &options("timeout", "7s")).unwrap().store;
    assert!(Arc::ptr_eq(&of("http://h:81/a"), &of("http://h:81/b/c")));
    assert!(!Arc::ptr_eq(&of("http://h:81/a"), &of("http://h:82/a")));
}
