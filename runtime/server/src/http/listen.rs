//! Connections: taken while there is room, each served by a task of its own,
//! all let go when the process is asked to stop. What is answered is `door`'s
//! business.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::Limits;
use super::door::Door;
use super::wire::{Pace, Wire};

/// Most bytes of a request's head. Hosts send under one kibibyte.
const HEAD: usize = 16 * 1024;

/// Between two tries for a connection, when the system has none to give or all
/// of ours are taken.
const BREATH: Duration = Duration::from_millis(100);

/// The connections that there are.
struct Crowd {
    door: Arc<Door>,
    limits: Limits,
    room: Arc<Semaphore>,
    /// Asks idle connections to make room.
    full: Arc<Notify>,
    /// Becomes true when everybody is to leave.
    closing: watch::Sender<bool>,
}

/// Serves until `stop`; then answers what has been asked, for a while.
pub(super) async fn serve(
    listener: TcpListener,
    door: Arc<Door>,
    limits: Limits,
    stop: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    let crowd = Crowd {
        door,
        limits,
        room: Arc::new(Semaphore::new(limits.connections)),
        full: Arc::new(Notify::new()),
        closing: watch::Sender::new(false),
    };
    tokio::select! {
        never = crowd.take_all(&listener) => match never {},
        asked = stop => asked?,
    }
    drop(listener);
    crowd.close().await;
    Ok(())
}

impl Crowd {
    async fn take_all(&self, listener: &TcpListener) -> Infallible {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let place = self.place().await;
                    self.take(stream, place);
                }
                Err(error) => {
                    tracing::warn!("cannot take a connection: {error}");
                    sleep(BREATH).await;
                }
            }
        }
    }

    /// Waits for room for somebody who stands at the door. Those who hold a
    /// connection and ask nothing are told to leave.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.room).try_acquire_owned() {
            return Some(place);
        }
        loop {
            self.full.notify_waiters();
            // Again and again: those who do not leave now may have time later.
            if let Ok(place) = timeout(BREATH, Arc::clone(&self.room).acquire_owned()).await {
                return place.ok();
            }
        }
    }

    fn take(&self, stream: TcpStream, place: Option<OwnedSemaphorePermit>) {
        // An answer is one write; waiting for more to send would only delay it.
        let _ = stream.set_nodelay(true);
        let (door, limits) = (Arc::clone(&self.door), self.limits);
        let (full, closing) = (Arc::clone(&self.full), self.closing.subscribe());
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = converse(stream, door, limits, full, closing).await {
                tracing::debug!("a connection broke off: {error}");
            }
        });
    }

    /// Asks everybody to leave, and waits until they have.
    async fn close(&self) {
        self.closing.send_replace(true);
        let all = u32::try_from(self.limits.connections).unwrap_or(u32::MAX);
        if timeout(self.limits.drain, self.room.acquire_many(all))
            .await
            .is_err()
        {
            tracing::warn!("stopped before every answer had left; some clients took too long");
        }
    }
}

/// Answers the requests of one connection, one after the other.
async fn converse(
    stream: TcpStream,
    door: Arc<Door>,
    limits: Limits,
    full: Arc<Notify>,
    mut closing: watch::Receiver<bool>,
) -> hyper::Result<()> {
    let pace = Pace::default();
    let wire = Wire::new(stream, pace.clone(), limits);
    let paced = pace.clone();
    let service = service_fn(move |request| {
        let (door, pace) = (Arc::clone(&door), paced.clone());
        async move {
            pace.begin();
            let (answer, permit) = door.answer(request).await;
            pace.end(permit);
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .max_header_size(HEAD)
        .max_buf_size(HEAD + 1)
        .serve_connection(TokioIo::new(wire), service);
    tokio::pin!(connection);
    loop {
        tokio::select! {
            ended = connection.as_mut() => return ended,
            // One whose request may be on its way is not sent off without an answer.
            () = full.notified() => if pace.in_head() { continue },
            _ = closing.wait_for(|closing| *closing) => {}
        }
        // An idle connection ends now, a busy one after its answer.
        connection.as_mut().graceful_shutdown();
        return connection.await;
    }
}
