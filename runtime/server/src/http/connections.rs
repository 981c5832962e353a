//! Connections: accepted while there are slots, each served by a task of its own, all closed when
//! the process is asked to stop. When the slots run out, the connection that does least is closed,
//! so that a new one always gets its turn.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::Limits;
use super::service::Service;
use super::timed_stream::{Activity, TimedStream};

/// Maximum bytes of a request's head. Hosts send under one kibibyte.
const MAX_HEAD: usize = 16 * 1024;

/// Between two attempts when the system has no connection to give, or when every connection of
/// ours has a request under way.
const RETRY: Duration = Duration::from_millis(100);

/// The open connections.
struct Connections {
    service: Arc<Service>,
    limits: Limits,
    slots: Arc<Semaphore>,
    /// What they are doing. Closed ones are removed when the next one opens.
    open: Mutex<Vec<Weak<Activity>>>,
    /// Becomes true when all are to close.
    closing: watch::Sender<bool>,
}

/// Serves until `stop` returns, then waits for the requests under way, within limits.
pub(super) async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    limits: Limits,
    stop: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    let connections = Arc::new(Connections {
        service,
        limits,
        slots: Arc::new(Semaphore::new(limits.connections)),
        open: Mutex::default(),
        closing: watch::Sender::new(false),
    });
    tokio::select! {
        never = accept_all(&connections, &listener) => match never {},
        stopped = stop => stopped?,
    }
    drop(listener);
    connections.close().await;
    Ok(())
}

async fn accept_all(connections: &Arc<Connections>, listener: &TcpListener) -> Infallible {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let slot = connections.slot().await;
                tokio::spawn(Arc::clone(connections).run(stream, slot));
            }
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                sleep(RETRY).await;
            }
        }
    }
}

impl Connections {
    /// Waits for a free slot. If there is none, closes the connection that does least.
    async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
            return Some(slot);
        }
        loop {
            self.evict_one();
            // The chosen one may have got a request meanwhile, and then it stays.
            if let Ok(slot) = timeout(RETRY, Arc::clone(&self.slots).acquire_owned()).await {
                return slot.ok();
            }
        }
    }

    fn evict_one(&self) {
        let open = self.open();
        let candidates = open.iter().filter_map(Weak::upgrade);
        let ordered = candidates.filter_map(|it| Some((it.eviction_order()?, it)));
        if let Some((_, chosen)) = ordered.min_by_key(|(order, _)| *order) {
            chosen.evict();
        }
    }

    fn opened(&self) -> Arc<Activity> {
        let activity = Arc::new(Activity::new());
        let mut open = self.open();
        open.retain(|it| it.strong_count() > 0);
        open.push(Arc::downgrade(&activity));
        activity
    }

    fn open(&self) -> MutexGuard<'_, Vec<Weak<Activity>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves one connection to its end.
    async fn run(self: Arc<Self>, stream: TcpStream, slot: Option<OwnedSemaphorePermit>) {
        // A response is one write; waiting for more to send would only delay it.
        let _ = stream.set_nodelay(true);
        let activity = self.opened();
        if let Err(error) = self.converse(stream, &activity).await {
            tracing::debug!("a connection broke off: {error}");
        }
        drop(slot);
    }

    /// Answers the requests of one connection, one after the other.
    async fn converse(&self, stream: TcpStream, activity: &Arc<Activity>) -> hyper::Result<()> {
        let mut closing = self.closing.subscribe();
        let service = service_fn(|request| async {
            let response = self.service.answer(request, activity).await;
            Ok::<_, Infallible>(response)
        });
        let stream = TimedStream::new(stream, Arc::clone(activity), self.limits);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.idle)
            .max_header_size(MAX_HEAD)
            .max_buf_size(MAX_HEAD + 1)
            .serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        loop {
            tokio::select! {
                ended = connection.as_mut() => return ended,
                () = activity.evicted() => if activity.eviction_order().is_some() {
                    return Ok(());
                },
                () = async { drop(closing.wait_for(|closing| *closing).await) } => break,
            }
        }
        // An idle connection ends now, a busy one after its response.
        connection.as_mut().graceful_shutdown();
        connection.await
    }

    /// Closes all connections: idle ones now, others after their response.
    async fn close(&self) {
        self.closing.send_replace(true);
        let all = u32::try_from(self.limits.connections).unwrap_or(u32::MAX);
        if timeout(self.limits.drain, self.slots.acquire_many(all))
            .await
            .is_err()
        {
            tracing::warn!("stopped before every response had left; some clients took too long");
        }
    }
}
