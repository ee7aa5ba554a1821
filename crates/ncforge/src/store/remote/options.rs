//! How object stores and web servers are accessed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

/// How object stores and web servers are accessed. The default takes credentials and endpoints from the environment, by
/// the names of the providers' own tools (`AWS_ACCESS_KEY_ID`, `AWS_REGION`, `GOOGLE_APPLICATION_CREDENTIALS`,
/// `AZURE_STORAGE_ACCOUNT_NAME`, …).
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct RemoteOptions {
    /// No request is signed: for data that are public.
    pub anonymous: bool,
    /// Options by the names of the crate `object_store`: `endpoint`, `region`, `access_key_id`, `timeout`, … They
    /// prevail over the environment.
    pub options: BTreeMap<String, String>,
}

impl fmt::Debug for RemoteOptions {
    /// Values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.options.keys().collect();
        f.debug_struct("RemoteOptions").field("anonymous", &self.anonymous).field("options", &names).finish()
    }
}

/// The options where none are given.
static DEFAULT: RwLock<Option<RemoteOptions>> = RwLock::new(None);

impl RemoteOptions {
    /// The options of this process: those of [`RemoteOptions::set_default`].
    pub fn of_process() -> Self {
        DEFAULT.read().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }

    /// Sets the options of stores that are opened without any from now on. For programs whose user gives them once, such as the command.
    pub fn set_default(options: RemoteOptions) {
        *DEFAULT.write().unwrap_or_else(PoisonError::into_inner) = Some(options);
    }
}
