//! How a client of 2025-11-25 and older is told that a list has changed: by a
//! notification, unasked. When that is due is `changes`' business; newer
//! clients subscribe.

use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleServer;
use rmcp::service::Peer;
use tokio::sync::watch;

use crate::changes::{Changes, Digests};
use crate::library::Library;

/// What one client knows of the lists.
pub(crate) struct Notices {
    /// What it saw or was told of last; nothing before there was anything to see.
    seen: watch::Sender<Option<Digests>>,
    /// Whether somebody waits for changes already.
    telling: AtomicBool,
}

impl Notices {
    pub(crate) fn new() -> Self {
        Self {
            seen: watch::Sender::new(None),
            telling: AtomicBool::new(false),
        }
    }

    /// Notes that the client was given lists that read like this.
    pub(crate) fn seen(&self, now: Digests) {
        self.seen.send_replace(Some(now));
    }

    /// Tells the client of changes for as long as it is there. `now` says what
    /// the lists read like. A second call does nothing.
    pub(crate) async fn tell(
        &self,
        client: &Peer<RoleServer>,
        library: &Library,
        now: impl Fn() -> Digests,
    ) {
        if self.telling.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut changes = Changes::new(library);
        let mut seen = self.seen.subscribe();
        if library.loaded().is_none() {
            // The first skills are no change, unless a list without them was seen.
            tokio::select! {
                () = changes.begun() => {}
                _ = seen.wait_for(Option::is_some) => {}
            }
        }
        self.seen.send_if_modified(|seen| {
            seen.get_or_insert_with(&now);
            false
        });
        loop {
            changes.settled().await;
            let is_gone = if self.is_news(now()) {
                client.notify_tool_list_changed().await.is_err()
            } else {
                client.is_transport_closed()
            };
            if is_gone {
                return;
            }
        }
    }

    /// Whether the client knows something else; from now on it knows this.
    fn is_news(&self, now: Digests) -> bool {
        self.seen.send_if_modified(|seen| {
            let news = *seen != Some(now);
            *seen = Some(now);
            news
        })
    }
}
