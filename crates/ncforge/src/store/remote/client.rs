//! The client of a URL's store, and the object's path in it.
//!
//! Clients are cached: files of one bucket or server share connections.

use std::str::FromStr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, resolve_bucket_region};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, ObjectStoreScheme, RetryConfig,
};
use url::Url;

use super::names::is_web;
use super::{RemoteOptions, errors, lengths, runtime, shown};
use crate::error::{Error, Op, Result};
use crate::store::PerProcess;

/// Seconds after which a server that sends nothing has failed, and in which failed requests are repeated; the option
/// `timeout` is another number.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Requests that fail are repeated this many times, with these waits between them at first and at most. Waits are random; each may be
/// `GROWTH` times the one before, so that all together outlast a server that is busy or starts anew for some seconds.
const RETRIES: usize = 6;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const GROWTH: f64 = 4.0;
const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// Clients in the cache at most.
const CACHED: usize = 64;

/// The place of an object.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) path: Path,
}

/// The clients of a process, and what each is for.
type Clients = Vec<((String, RemoteOptions), Arc<dyn ObjectStore>)>;

static CLIENTS: LazyLock<PerProcess<Mutex<Clients>>> = LazyLock::new(PerProcess::default);

impl Target {
    /// The client and the path of a URL.
    pub(super) fn of(url: &str, options: &RemoteOptions) -> Result<Self> {
        let place = Place::parse(url)?;
        let key = (place.base.clone(), options.clone());
        let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, store)) = clients.iter().find(|(k, _)| *k == key) {
            return Ok(Target { store: store.clone(), path: place.path });
        }
        let store = build(&place, options).map_err(|e| match e {
            Failed::Ours(e) => e,
            Failed::Theirs(e) => errors::explain(Op::Open, url, &e),
        })?;
        if clients.len() >= CACHED {
            clients.clear();
        }
        clients.push((key, store.clone()));
        Ok(Target { store, path: place.path })
    }
}

/// A URL in parts.
pub(super) struct Place {
    scheme: ObjectStoreScheme,
    /// The client's target: scheme and bucket or host; all of a URL of a web server that has a query.
    base: String,
    pub(super) path: Path,
}

impl Place {
    pub(super) fn parse(url: &str) -> Result<Self> {
        let bad = |why: String| Error::bad_option("URL", format!("`{}` cannot be opened: {why}", shown(url)));
        if !is_web(url) {
            return Self::in_bucket(url).map_err(bad);
        }
        let parsed = Url::parse(url).map_err(|e| bad(e.to_string()))?;
        let whole = |scheme| Place { scheme, base: url.to_owned(), path: Path::default() };
        match ObjectStoreScheme::parse(&parsed) {
            // The part after the `?` belongs to the request.
            Ok((ObjectStoreScheme::Http, _)) if parsed.query().is_some() => {
                Ok(whole(ObjectStoreScheme::Http))
            }
            // A name of an object that this crate does not write as it stands.
            Err(_) if parsed.scheme().starts_with("http") => Ok(whole(ObjectStoreScheme::Http)),
            Err(e) => Err(bad(e.to_string())),
            Ok((_, path)) if path.as_ref().is_empty() => Err(bad("it names no object".to_owned())),
            Ok((scheme, path)) => {
                let mut base = parsed.clone();
                base.set_query(None);
                base.set_fragment(None);
                // With the providers' own addresses the bucket is a part of the path.
                if scheme == ObjectStoreScheme::Http {
                    base.set_path("");
                }
                Ok(Place { scheme, base: base.to_string(), path })
            }
        }
    }

    /// The parts of `s3://bucket/key` and its like. The key may have any letters; those that mean something in URLs do
    /// not here.
    fn in_bucket(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let base = Url::parse(&format!("{scheme}://{bucket}")).map_err(|e| e.to_string())?;
        let (scheme, _) = ObjectStoreScheme::parse(&base).map_err(|e| e.to_string())?;
        if key.is_empty() || key.ends_with('/') {
            return Err("it names no object".to_owned());
        }
        if key.starts_with('/') || key.contains("//") {
            return Err("a part of the object's name is empty".to_owned());
        }
        let path = Path::parse(key).map_err(|e| e.to_string())?;
        Ok(Place { scheme, base: base.to_string(), path })
    }
}

enum Failed {
    Ours(Error),
    Theirs(object_store::Error),
}

impl From<object_store::Error> for Failed {
    fn from(e: object_store::Error) -> Self {
        Failed::Theirs(e)
    }
}

/// Makes sure that there is a provider of cryptography. It is the process': if another library has chosen its own before,
/// that is used.
pub(super) fn prepare() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The time-out that was asked for.
pub(super) fn timeout_of(options: &RemoteOptions) -> Result<Duration> {
    let Some(text) = options.options.get("timeout") else { return Ok(TIMEOUT) };
    let number = text.trim().trim_end_matches('s').trim_end().parse::<f64>().ok();
    match number.filter(|n| *n > 0.0 && n.is_finite()) {
        Some(seconds) => Ok(Duration::from_secs_f64(seconds.min(86_400.0))),
        None => {
            let what = format!("a time-out is a number of seconds such as `30s`, not `{text}`");
            Err(Error::bad_option("timeout", what))
        }
    }
}

/// Options of requests: a server may take as long as it sends something.
fn client_options(timeout: Duration) -> ClientOptions {
    ClientOptions::new()
        .with_timeout_disabled()
        .with_read_timeout(timeout)
        .with_connect_timeout(timeout.min(Duration::from_secs(10)))
        .with_user_agent(object_store::HeaderValue::from_static(concat!(
            "ncforge/",
            env!("CARGO_PKG_VERSION")
        )))
}

fn retries(timeout: Duration) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig { init_backoff: FIRST_WAIT, max_backoff: LONGEST_WAIT, base: GROWTH },
        max_retries: RETRIES,
        retry_timeout: timeout,
    }
}

/// Settings of a store: those of the environment whose names have a prefix, and those that were given, which prevail.
struct Settings<'a> {
    environment: Vec<(String, String)>,
    given: Vec<(&'a str, &'a str)>,
}

impl<'a> Settings<'a> {
    fn of(prefix: &str, options: &'a RemoteOptions) -> Self {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| !prefix.is_empty() && name.starts_with(prefix))
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect();
        let given = options.options.iter().filter(|(name, _)| *name != "timeout");
        Settings { environment, given: given.map(|(name, value)| (name.as_str(), value.as_str())).collect() }
    }

    /// Hands all of them to a builder. Variables of the environment may be for other programs; a name that was given and
    /// that the store does not know is an error.
    fn apply<B, K>(&self, builder: B, with: impl Fn(B, K, &str) -> B) -> Result<B, object_store::Error>
    where
        K: FromStr<Err = object_store::Error>,
    {
        let mut builder = builder;
        for (name, value) in &self.environment {
            if let Ok(key) = name.parse() {
                builder = with(builder, key, value);
            }
        }
        for (name, value) in &self.given {
            let key = name.to_ascii_lowercase().parse()?;
            builder = with(builder, key, value);
        }
        Ok(builder)
    }
}

fn build(place: &Place, options: &RemoteOptions) -> Result<Arc<dyn ObjectStore>, Failed> {
    prepare();
    let timeout = timeout_of(options).map_err(Failed::Ours)?;
    let (client, retry) = (client_options(timeout), retries(timeout));
    match place.scheme {
        ObjectStoreScheme::AmazonS3 => s3(place, options, client, retry),
        ObjectStoreScheme::GoogleCloudStorage => {
            let builder = GoogleCloudStorageBuilder::from_env().with_client_options(client).with_retry(retry);
            let mut builder = Settings::of("GOOGLE_", options)
                .apply(builder.with_url(&place.base), |b: GoogleCloudStorageBuilder, key, value| {
                    b.with_config(key, value)
                })?;
            let endpoint = builder.get_config_value(&GoogleConfigKey::BaseUrl);
            check_endpoint(endpoint.as_deref())?;
            if is_plain_http(endpoint) {
                builder = builder.with_config(GoogleConfigKey::Client(ClientConfigKey::AllowHttp), "true");
            }
            if options.anonymous {
                builder = builder.with_config(GoogleConfigKey::SkipSignature, "true");
            }
            Ok(Arc::new(builder.build()?))
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let builder = MicrosoftAzureBuilder::from_env().with_client_options(client).with_retry(retry);
            let mut builder = Settings::of("AZURE_", options)
                .apply(builder.with_url(&place.base), |b: MicrosoftAzureBuilder, key, value| {
                    b.with_config(key, value)
                })?;
            let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
            check_endpoint(endpoint.as_deref())?;
            if is_plain_http(endpoint) {
                builder = builder.with_allow_http(true);
            }
            if options.anonymous {
                builder = builder.with_config(AzureConfigKey::SkipSignature, "true");
            }
            Ok(Arc::new(builder.build()?))
        }
        _ => {
            let client = Settings::of("", options)
                .apply(client.with_allow_http(true), |c: ClientOptions, key, value| {
                    c.with_config(key, value)
                })?;
            let builder = HttpBuilder::new().with_url(&place.base).with_client_options(client);
            let builder = builder.with_http_connector(lengths::Connector);
            Ok(Arc::new(builder.with_retry(retry).build()?))
        }
    }
}

fn s3(
    place: &Place,
    options: &RemoteOptions,
    client: ClientOptions,
    retry: RetryConfig,
) -> Result<Arc<dyn ObjectStore>, Failed> {
    let builder = AmazonS3Builder::new().with_client_options(client.clone()).with_retry(retry);
    let mut builder = Settings::of("AWS_", options)
        .apply(builder.with_url(&place.base), |b: AmazonS3Builder, key, value| b.with_config(key, value))?;
    let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
    let endpoint = endpoint.or_else(|| builder.get_config_value(&AmazonS3ConfigKey::S3Endpoint));
    check_endpoint(endpoint.as_deref())?;
    let region = builder.get_config_value(&AmazonS3ConfigKey::Region);
    let region = region.or_else(|| builder.get_config_value(&AmazonS3ConfigKey::DefaultRegion));
    if endpoint.is_none() && region.is_none() && place.base.starts_with("s3") {
        // Amazon itself says in which region a bucket is; if it does not, the default is as good as any.
        let bucket = place.base.split("://").nth(1).unwrap_or_default().trim_end_matches('/').to_owned();
        let found = runtime::wait(&place.base, async move { resolve_bucket_region(&bucket, &client).await });
        if let Ok(Ok(region)) = found {
            builder = builder.with_region(region);
        }
    }
    if is_plain_http(endpoint) {
        builder = builder.with_allow_http(true);
    }
    if options.anonymous {
        builder = builder.with_skip_signature(true);
    }
    Ok(Arc::new(builder.build()?))
}

/// An error for an endpoint that is no URL, for which `object_store` panics.
fn check_endpoint(endpoint: Option<&str>) -> Result<(), Failed> {
    let Some(text) = endpoint else { return Ok(()) };
    let right = |url: Url| ["http", "https"].contains(&url.scheme()) && url.has_host();
    if Url::parse(text).is_ok_and(right) {
        return Ok(());
    }
    let what = match text.contains("://") {
        true => format!("the endpoint `{}` is no URL of a server", shown(text)),
        false => format!("the endpoint `{text}` has no scheme: write http:// or https:// in front"),
    };
    Err(Failed::Ours(Error::bad_option("endpoint", what)))
}

/// Whether an endpoint was given that is not encrypted: then that is what the user wants.
fn is_plain_http(endpoint: Option<String>) -> bool {
    endpoint.is_some_and(|e| e.starts_with("http://"))
}
