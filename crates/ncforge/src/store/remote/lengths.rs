//! Lengths that a server leaves out of its answers, and that `object_store` wants to know.
//!
//! An answer in pieces (`Transfer-Encoding: chunked`) has no `Content-Length`: `Content-Range` tells it.
//!
//! The length of the file is not in `Content-Range: bytes 0-99/*`, which RFC 9110, section 14.4, allows. It is asked for once for each version of a file: with `HEAD`, or with a request for the last
//! byte, whose place is in the answer. If neither tells it, an answer that brings less than was asked for ends the file.

use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpService, ReqwestConnector,
};
use object_store::{ClientOptions, HeaderMap, HeaderValue};

/// The error of an answer whose bytes are not those of the file.
pub(super) const COMPRESSES: &str = "the server compresses what it sends";

/// Files whose lengths are known at a time.
const KNOWN: usize = 64;

/// Connects to web servers.
#[derive(Debug, Default)]
pub(super) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Lengths { client, known: Mutex::default() }))
    }
}

/// The version of a file: its URL, `ETag` and `Last-Modified`.
type Version = (String, Option<HeaderValue>, Option<HeaderValue>);

/// A client that adds lengths to answers.
#[derive(Debug)]
struct Lengths {
    client: HttpClient,
    known: Mutex<Vec<(Version, u64)>>,
}

impl HttpService for Lengths {
    fn call<'s, 'f>(
        &'s self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let asked = request.headers().get("range").and_then(last_asked);
            let Some(asked) = asked else { return self.client.execute(request).await };
            let again = like(&request, "HEAD", None);
            let mut response = self.client.execute(request).await?;
            // Parts of a compressed file are not those of the file.
            if response.headers().get("content-encoding").is_some_and(|how| how != "identity") {
                let wrong = io::Error::new(io::ErrorKind::InvalidData, COMPRESSES);
                return Err(HttpError::new(HttpErrorKind::Decode, wrong));
            }
            if let Some((bytes, _)) = range_of(response.headers()) {
                let len = HeaderValue::from(bytes.end - bytes.start);
                response.headers_mut().entry("content-length").or_insert(len);
            }
            if let Some((bytes, None)) = range_of(response.headers())
                && let Some(len) = self.length(&again, response.headers(), &bytes, asked).await
                && let Ok(whole) =
                    format!("bytes {}-{}/{len}", bytes.start, bytes.end - 1).parse::<HeaderValue>()
            {
                response.headers_mut().insert("content-range", whole);
            }
            Ok(response)
        })
    }
}

impl Lengths {
    /// The length of the file of which these bytes came, when all up to byte `asked` were asked for.
    async fn length(
        &self,
        head: &HttpRequest,
        answer: &HeaderMap,
        bytes: &Range<u64>,
        asked: u64,
    ) -> Option<u64> {
        let header = |name: &str| answer.get(name).cloned();
        let version = (head.uri().to_string(), header("etag"), header("last-modified"));
        let known = self
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .find(|(v, _)| *v == version)
            .map(|(_, len)| *len);
        if known.is_some() {
            return known;
        }
        let fits = |len: &u64| *len >= bytes.end;
        let told = self.told(head).await.filter(fits);
        let len = told.or_else(|| Some(bytes.end).filter(|&end| asked >= end))?;
        // Without marks of a version, the next answer may be of another one.
        if version.1.is_some() || version.2.is_some() {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= KNOWN {
                known.clear();
            }
            known.push((version, len));
        }
        Some(len)
    }

    /// The length that the server tells when it is asked for nothing else.
    async fn told(&self, head: &HttpRequest) -> Option<u64> {
        let answer = self.client.execute(like(head, "HEAD", None)).await.ok();
        let number = |text: &HeaderValue| text.to_str().ok()?.trim().parse::<u64>().ok();
        let length = answer
            .filter(|a| a.status().is_success())
            .and_then(|a| number(a.headers().get("content-length")?))
            .filter(|&len| len > 0);
        if length.is_some() {
            return length;
        }
        let answer = self.client.execute(like(head, "GET", Some("bytes=-1"))).await.ok()?;
        let (bytes, len) = range_of(answer.headers()).filter(|_| answer.status().as_u16() == 206)?;
        len.or(Some(bytes.end))
    }
}

/// A request for the same file, of another method and range.
fn like(request: &HttpRequest, method: &str, range: Option<&'static str>) -> HttpRequest {
    let mut out = HttpRequest::new(HttpRequestBody::empty());
    *out.uri_mut() = request.uri().clone();
    *out.headers_mut() = request.headers().clone();
    if let Ok(method) = method.parse() {
        *out.method_mut() = method;
    }
    out.headers_mut().remove("range");
    range.map(|range| out.headers_mut().insert("range", HeaderValue::from_static(range)));
    out
}

/// The last byte that a header `Range` asks for.
fn last_asked(range: &HeaderValue) -> Option<u64> {
    range.to_str().ok()?.trim().strip_prefix("bytes=")?.split_once('-')?.1.parse().ok()
}

/// The bytes that came, and the length of the file, by a header `Content-Range`.
fn range_of(headers: &HeaderMap) -> Option<(Range<u64>, Option<u64>)> {
    let text = headers.get("content-range")?.to_str().ok()?;
    let (bytes, len) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = bytes.trim().split_once('-')?;
    let end = last.trim().parse::<u64>().ok()?.checked_add(1)?;
    let start = first.trim().parse().ok().filter(|&first| first < end)?;
    let len = match len.trim() {
        "*" => None,
        len => Some(len.parse().ok()?),
    };
    Some((start..end, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let of = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("content-range", HeaderValue::from_static(text));
            range_of(&headers)
        };
        assert_eq!(of("bytes 0-99/*"), Some((0..100, None)));
        assert_eq!(of("bytes 5-5/6"), Some((5..6, Some(6))));
        for text in
            ["bytes */6", "bytes 9-5/6", "items 0-1/2", "bytes 0-18446744073709551615/*", "", "bytes 1-2/x"]
        {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(last_asked(&HeaderValue::from_static("bytes=10-99")), Some(99));
        assert_eq!(last_asked(&HeaderValue::from_static("bytes=10-")), None);
    }
}
