//! How a client that stays is told that something has changed. Clients of
//! 2025-11-25 and older get notifications unasked; newer ones listen. When that is due is
//! `changes`' business.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rmcp::model::{
    PromptListChangedNotification, ResourceListChangedNotification, ResourceUpdatedNotification,
    ResourceUpdatedNotificationParam, ServerNotification, SubscriptionFilter,
    ToolListChangedNotification,
};
use rmcp::service::{SubscriptionContext, SubscriptionSink};
use tokio::sync::watch;

use crate::changes::{Changes, List};
use crate::library::{Generation, Library};
use crate::transport::Outbox;

/// Resources that one client may subscribe to; each is looked up at every change.
pub(crate) const SUBSCRIPTIONS: usize = 1000;

/// Listeners that one client may have; each waits by itself.
const LISTENERS: usize = 8;

/// A resource's digest, if it is there.
type Version = Option<[u8; 32]>;

/// What one client knows.
pub(crate) struct Notices {
    seen: watch::Sender<Seen>,
    /// Whether somebody waits for changes already.
    telling: AtomicBool,
    listeners: AtomicUsize,
    /// Turns true when the client has said its last word.
    ended: watch::Receiver<bool>,
}

/// The skills that an answer was made from; nothing where there were none yet.
/// What a list reads like over them is only made out when others have come: a
/// start, and a server whose skills stay, pay nothing for it.
type Source = Option<Arc<Generation>>;

/// What a client saw or was told of last.
#[derive(Clone, Default)]
struct Seen {
    /// Per list; nothing before there was anything to see.
    lists: [Option<Source>; List::ALL.len()],
    resources: BTreeMap<String, Version>,
}

/// What there is now.
pub(crate) trait Now: Sync {
    /// The skills that answers are made from.
    fn loaded(&self) -> Option<Arc<Generation>>;
    /// What a list reads like over these skills: equal where it is the same.
    fn reading(&self, list: List, skills: Option<&Generation>) -> u64;
    /// The version of a resource.
    fn resource(&self, uri: &str) -> Version;
}

/// Something that a client should be told.
#[derive(Debug, Clone, PartialEq, Eq)]
enum News {
    List(List),
    Resource(String),
}

impl Seen {
    /// Takes lists that were not asked for as they are now.
    fn fill(&mut self, now: &impl Now) {
        for seen in &mut self.lists {
            seen.get_or_insert_with(|| now.loaded());
        }
    }

    fn is_empty(&self) -> bool {
        self.lists.iter().all(Option::is_none) && self.resources.is_empty()
    }

    /// What differs from now; from here on the client knows.
    fn catch_up(&mut self, now: &impl Now) -> Vec<News> {
        let mut news = Vec::new();
        let current = now.loaded();
        for (list, seen) in List::ALL.into_iter().zip(&mut self.lists) {
            let Some(seen) = seen else { continue };
            let before = std::mem::replace(seen, current.clone());
            if !same(&before, &current)
                && now.reading(list, before.as_deref()) != now.reading(list, current.as_deref())
            {
                news.push(News::List(list));
            }
        }
        for (uri, seen) in &mut self.resources {
            let current = now.resource(uri);
            if std::mem::replace(seen, current) != current {
                news.push(News::Resource(uri.clone()));
            }
        }
        news
    }
}

impl Notices {
    /// For a client whose last word turns `ended` true.
    pub(crate) fn new(ended: watch::Receiver<bool>) -> Self {
        Self {
            seen: watch::Sender::new(Seen::default()),
            telling: AtomicBool::new(false),
            listeners: AtomicUsize::new(0),
            ended,
        }
    }

    /// Notes that the client was given a list over these skills.
    pub(crate) fn seen(&self, list: List, skills: Option<Arc<Generation>>) {
        self.seen
            .send_modify(|seen| seen.lists[list as usize] = Some(skills));
    }

    /// Notes that the client wants to hear of a resource; false where it wants
    /// to hear of too many.
    pub(crate) fn subscribe(&self, uri: String, version: Version) -> bool {
        let mut room = true;
        self.seen.send_modify(|seen| {
            room = seen.resources.len() < SUBSCRIPTIONS || seen.resources.contains_key(&uri);
            if room {
                seen.resources.insert(uri, version);
            }
        });
        room
    }

    /// Notes that the client does not want to hear of a resource any more.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.seen.send_modify(|seen| {
            seen.resources.remove(uri);
        });
    }

    /// Whether the client may be told from now on. It is so once; what is said
    /// again means nothing.
    pub(crate) fn begin(&self) -> bool {
        !self.telling.swap(true, Ordering::Relaxed)
    }

    /// Tells the client of changes until it has said its last word.
    pub(crate) async fn tell(&self, client: &Outbox, library: &Library, now: &impl Now) {
        let mut ended = self.ended.clone();
        tokio::select! {
            _ = ended.wait_for(|ended| *ended) => {}
            () = self.keep_telling(client, library, now) => {}
        }
    }

    async fn keep_telling(&self, client: &Outbox, library: &Library, now: &impl Now) {
        let mut changes = Changes::new(library);
        let mut seen = self.seen.subscribe();
        if library.loaded().is_none() {
            // The first skills are no change, unless a list without them was seen.
            tokio::select! {
                () = changes.begun() => {}
                _ = seen.wait_for(|seen| !seen.is_empty()) => {}
            }
        }
        self.seen.send_modify(|seen| seen.fill(now));
        loop {
            changes.settled().await;
            let mut news = Vec::new();
            self.seen.send_modify(|seen| news = seen.catch_up(now));
            for news in news {
                if client.notify(notification(news)).is_err() {
                    return;
                }
            }
        }
    }

    /// Tells a listener of what it has asked for, until it hangs up or the
    /// client has said its last word. One listener too many is let go at once.
    pub(crate) async fn listen(
        &self,
        context: &SubscriptionContext,
        library: &Library,
        now: &impl Now,
    ) {
        let Some(_place) = Place::take(&self.listeners) else {
            return;
        };
        let mut ended = self.ended.clone();
        tokio::select! {
            () = context.cancelled() => {}
            _ = ended.wait_for(|ended| *ended) => {}
            () = follow(context, library, now) => {}
        }
    }
}

async fn follow(context: &SubscriptionContext, library: &Library, now: &impl Now) {
    let mut changes = Changes::new(library);
    let mut seen = wanted(context.accepted(), now);
    loop {
        changes.settled().await;
        for news in seen.catch_up(now) {
            if announce(context.sink(), news).await.is_err() {
                return;
            }
        }
    }
}

/// What a listener wants to hear of, as it is now.
fn wanted(filter: &SubscriptionFilter, now: &impl Now) -> Seen {
    let asked = [
        filter.tools_list_changed,
        filter.resources_list_changed,
        filter.prompts_list_changed,
    ];
    let lists = List::ALL.map(|list| (asked[list as usize] == Some(true)).then(|| now.loaded()));
    let resources = filter.resource_subscriptions.iter().flatten();
    let resources = resources.take(SUBSCRIPTIONS);
    Seen {
        lists,
        resources: resources
            .map(|uri| (uri.clone(), now.resource(uri)))
            .collect(),
    }
}

fn notification(news: News) -> ServerNotification {
    match news {
        News::List(List::Tools) => ToolListChangedNotification::default().into(),
        News::List(List::Resources) => ResourceListChangedNotification::default().into(),
        News::List(List::Prompts) => PromptListChangedNotification::default().into(),
        News::Resource(uri) => {
            ResourceUpdatedNotification::new(ResourceUpdatedNotificationParam::new(uri)).into()
        }
    }
}

async fn announce(
    listener: &SubscriptionSink,
    news: News,
) -> Result<(), rmcp::service::SubscriptionSendError> {
    match news {
        News::List(List::Tools) => listener.notify_tool_list_changed().await,
        News::List(List::Resources) => listener.notify_resource_list_changed().await,
        News::List(List::Prompts) => listener.notify_prompt_list_changed().await,
        News::Resource(uri) => listener.notify_resource_updated(uri).await,
    }
}

/// Whether these are the very same skills, so that nothing need be compared.
fn same(one: &Source, other: &Source) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

/// One of the places for listeners, given back when dropped.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(taken: &'a AtomicUsize) -> Option<Self> {
        if taken.fetch_add(1, Ordering::Relaxed) < LISTENERS {
            return Some(Self(taken));
        }
        taken.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
