//! Notifies the client of a session which of its lists and resources have changed. Clients of 2025-11-25
//! and older get notifications for what they have seen or subscribed to; newer ones send
//! `subscriptions/listen`. When a change is due is decided in `source::changes`.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rmcp::model::{
    RequestId, SubscriptionFilter, SubscriptionsListenRequestParams, SubscriptionsListenResult,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::resources::Uri;
use super::results::{self, Empty, loaded, unreadable};
use super::{BoxFuture, Call, Caller, Notify, Server, Skills, methods, prompts, resources, tools};
use crate::jsonrpc::RpcError;
use crate::source::{Changes, Generation};

/// Resources that one client may subscribe to; each is looked up at every change.
const SUBSCRIPTIONS: usize = 1000;

/// Listeners that one client may have; each waits by itself.
const LISTENERS: usize = 8;

/// The member of `_meta` that says which listener a notification is for.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// A list whose changes a client can be notified of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotifiedList {
    Tools,
    Resources,
    Prompts,
}

/// What the client of one session knows.
pub(crate) struct Notifier {
    seen: watch::Sender<Snapshot>,
    /// Whether the client is being notified of changes.
    started: AtomicBool,
    listeners: AtomicUsize,
    /// Cancelled when the client has sent its last message.
    closing: CancellationToken,
}

/// The skills that a list was made from; `None` if there were none yet. What the list reads like
/// over them is computed only when others have come: a start, and a server whose skills stay, pay
/// nothing for it.
type Basis = Option<Arc<Generation>>;

/// The digest of a resource, if it exists.
type Version = Option<[u8; 32]>;

/// What a client knows.
#[derive(Clone, Default)]
struct Snapshot {
    /// By list; `None` if the client has not seen it.
    lists: [Option<Basis>; NotifiedList::ALL.len()],
    resources: BTreeMap<String, Version>,
}

/// A change to notify a client of.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    List(NotifiedList),
    Resource(String),
}

impl NotifiedList {
    const ALL: [Self; 3] = [Self::Tools, Self::Resources, Self::Prompts];
}

/// `resources/subscribe`.
pub(crate) fn subscribe(
    call: &Call<'_>,
    skills: &Skills,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let Uri { uri } = call.request.params()?;
    let notifier = call.notifier()?;
    let version = resources::version(loaded(skills)?, &uri)?;
    let mut room = true;
    notifier.seen.send_modify(|seen| {
        room = seen.resources.len() < SUBSCRIPTIONS || seen.resources.contains_key(&*uri);
        if room {
            seen.resources.insert(uri.into_owned(), Some(version));
        }
    });
    if !room {
        let message = format!("too many subscriptions: a client may have {SUBSCRIPTIONS}");
        return Err(RpcError::invalid_params(message, None));
    }
    results::write(out, &Empty {})
}

/// `resources/unsubscribe`.
pub(crate) fn unsubscribe(call: &Call<'_>, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let Uri { uri } = call.request.params()?;
    if let Some(notifier) = &call.server.notifier {
        notifier.seen.send_modify(|seen| {
            seen.resources.remove(&*uri);
        });
    }
    results::write(out, &Empty {})
}

/// `subscriptions/listen`: acknowledges, then notifies until the client cancels the request or has
/// sent its last message. A listener too many ends at once.
pub(crate) fn listen<'a>(
    call: &'a Call<'a>,
    caller: &'a Caller,
    out: &'a mut Vec<u8>,
) -> BoxFuture<'a, Result<(), RpcError>> {
    Box::pin(async move {
        let params: SubscriptionsListenRequestParams = call.request.params()?;
        let notifier = call.notifier()?;
        let filter = params
            .notifications
            .supported_by(&call.server.capabilities());
        let id: RequestId = serde_json::from_str(call.request.id.as_json()).map_err(unreadable)?;
        let meta = json!({ SUBSCRIPTION_ID: id });
        let acknowledgement = json!({ "notifications": filter, "_meta": meta });
        let method = "notifications/subscriptions/acknowledged";
        (caller.notify)(&notification(method, Some(acknowledgement)));
        if let Some(_slot) = ListenerSlot::take(&notifier.listeners) {
            tokio::select! {
                () = caller.cancelled.cancelled() => {}
                () = notifier.closing.cancelled() => {}
                () = follow(call.server, &filter, &meta, &caller.notify) => {}
            }
        }
        let mut result = SubscriptionsListenResult::complete(id);
        result.meta.set_server_info(Server::identity());
        results::write(out, &result)
    })
}

async fn follow(server: &Server, filter: &SubscriptionFilter, meta: &Value, notify: &Notify) {
    let mut changes = Changes::new(&server.refresher);
    let mut seen = Snapshot::wanted_by(filter, server);
    loop {
        changes.settled().await;
        for change in seen.catch_up(server) {
            if !notify(&change.to_json(Some(meta))) {
                return;
            }
        }
    }
}

impl Call<'_> {
    fn notifier(&self) -> Result<&Notifier, RpcError> {
        let notifier = self.server.notifier.as_deref();
        notifier.ok_or_else(|| methods::unknown(&self.request.method))
    }
}

impl Server {
    /// Notes that the client was given a list over these skills.
    pub(super) fn seen(&self, list: NotifiedList, skills: Option<&Arc<Generation>>) {
        if let Some(notifier) = &self.notifier {
            notifier
                .seen
                .send_modify(|seen| seen.lists[list as usize] = Some(skills.cloned()));
        }
    }

    /// The client has completed the handshake: from now on it is notified of changes.
    pub(crate) fn client_is_ready(&self, notify: Notify) {
        if let Some(notifier) = self.notifier.clone()
            && !notifier.started.swap(true, Ordering::Relaxed)
        {
            let server = self.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = notifier.closing.cancelled() => {}
                    () = notifier.keep_notifying(&server, &notify) => {}
                }
            });
        }
    }

    /// What a list reads like over these skills, as a hash: equal if it is the same.
    fn reading(&self, list: NotifiedList, skills: Option<&Generation>) -> u64 {
        match list {
            NotifiedList::Tools => hash(&tools::described(self, skills)),
            NotifiedList::Resources => hash(&skills.map(resources::summary)),
            NotifiedList::Prompts => hash(&skills.map(prompts::summary)),
        }
    }

    fn resource_version(&self, uri: &str) -> Version {
        resources::version(self.refresher.loaded().as_deref()?, uri).ok()
    }
}

impl Notifier {
    pub(crate) fn new(closing: CancellationToken) -> Self {
        Self {
            seen: watch::Sender::new(Snapshot::default()),
            started: AtomicBool::new(false),
            listeners: AtomicUsize::new(0),
            closing,
        }
    }

    async fn keep_notifying(&self, server: &Server, notify: &Notify) {
        let mut changes = Changes::new(&server.refresher);
        let mut seen = self.seen.subscribe();
        if server.refresher.loaded().is_none() {
            // The first skills are no change, unless a list without them was seen.
            tokio::select! {
                () = changes.first_load() => {}
                _ = seen.wait_for(|seen| !seen.is_empty()) => {}
            }
        }
        self.seen.send_modify(|seen| seen.fill(server));
        loop {
            changes.settled().await;
            let mut due = Vec::new();
            self.seen.send_modify(|seen| due = seen.catch_up(server));
            for change in due {
                if !notify(&change.to_json(None)) {
                    return;
                }
            }
        }
    }
}

impl Snapshot {
    /// What a listener asks for, as it is now.
    fn wanted_by(filter: &SubscriptionFilter, server: &Server) -> Self {
        let wanted = [
            filter.tools_list_changed,
            filter.resources_list_changed,
            filter.prompts_list_changed,
        ];
        let resources = filter.resource_subscriptions.iter().flatten();
        Self {
            lists: NotifiedList::ALL.map(|list| {
                (wanted[list as usize] == Some(true)).then(|| server.refresher.loaded())
            }),
            resources: resources
                .take(SUBSCRIPTIONS)
                .map(|uri| (uri.clone(), server.resource_version(uri)))
                .collect(),
        }
    }

    /// Takes lists that the client has not seen as they are now.
    fn fill(&mut self, server: &Server) {
        for seen in &mut self.lists {
            seen.get_or_insert_with(|| server.refresher.loaded());
        }
    }

    fn is_empty(&self) -> bool {
        self.lists.iter().all(Option::is_none) && self.resources.is_empty()
    }

    /// What differs from now; from here on the client knows.
    fn catch_up(&mut self, server: &Server) -> Vec<Change> {
        let mut changes = Vec::new();
        let current = server.refresher.loaded();
        for (list, seen) in NotifiedList::ALL.into_iter().zip(&mut self.lists) {
            let Some(seen) = seen else { continue };
            let before = std::mem::replace(seen, current.clone());
            let same = match (&before, &current) {
                (Some(before), Some(current)) => Arc::ptr_eq(before, current),
                (before, current) => before.is_none() && current.is_none(),
            };
            if !same
                && server.reading(list, before.as_deref())
                    != server.reading(list, current.as_deref())
            {
                changes.push(Change::List(list));
            }
        }
        for (uri, seen) in &mut self.resources {
            let current = server.resource_version(uri);
            if std::mem::replace(seen, current) != current {
                changes.push(Change::Resource(uri.clone()));
            }
        }
        changes
    }
}

impl Change {
    fn to_json(&self, meta: Option<&Value>) -> Vec<u8> {
        let method = match self {
            Self::List(NotifiedList::Tools) => "notifications/tools/list_changed",
            Self::List(NotifiedList::Resources) => "notifications/resources/list_changed",
            Self::List(NotifiedList::Prompts) => "notifications/prompts/list_changed",
            Self::Resource(_) => "notifications/resources/updated",
        };
        let mut params = serde_json::Map::new();
        if let Self::Resource(uri) = self {
            params.insert("uri".to_owned(), json!(uri));
        }
        if let Some(meta) = meta {
            params.insert("_meta".to_owned(), meta.clone());
        }
        notification(method, (!params.is_empty()).then(|| params.into()))
    }
}

/// A whole notification.
fn notification(method: &str, params: Option<Value>) -> Vec<u8> {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if let Some(params) = params {
        message["params"] = params;
    }
    message.to_string().into_bytes()
}

/// A hash of what is serialised, for comparisons within this process.
fn hash(value: &(impl Serialize + ?Sized)) -> u64 {
    #[derive(Default)]
    struct Hashed(DefaultHasher);

    impl io::Write for Hashed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut hashed = Hashed::default();
    serde_json::to_writer(&mut hashed, value)
        .expect("a list is plain JSON, and hashing cannot fail");
    hashed.0.finish()
}

/// A permit for one listener, returned when dropped.
struct ListenerSlot<'a>(&'a AtomicUsize);

impl<'a> ListenerSlot<'a> {
    fn take(taken: &'a AtomicUsize) -> Option<Self> {
        if taken.fetch_add(1, Ordering::Relaxed) < LISTENERS {
            return Some(Self(taken));
        }
        taken.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

impl Drop for ListenerSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
