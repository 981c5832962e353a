//! The body of a request: read whole, and never more than is allowed. Large
//! ones take turns, so that a crowd of them cannot fill the memory: read as
//! JSON, a hostile body takes many times its size.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Most bytes of a body: as over stdin.
pub(super) const MOST: usize = 4 * 1024 * 1024;

/// What is not large. Requests of hosts are some hundred bytes long.
const SMALL: usize = 64 * 1024;

/// Large bodies that may be held at one time.
const LARGE: usize = 4;

/// Takes turns.
pub(super) struct Reader(Semaphore);

/// A body, and its turn where it needed one.
pub(super) struct Whole<'a> {
    pub(super) bytes: Bytes,
    _turn: Option<SemaphorePermit<'a>>,
}

/// Why there is no body.
pub(super) enum Fault {
    /// It is longer than [`MOST`], or says so.
    TooLarge,
    /// The client broke off, or its chunks are none.
    Broken,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self(Semaphore::new(LARGE))
    }

    pub(super) async fn read(&self, mut body: Incoming) -> Result<Whole<'_>, Fault> {
        if body.size_hint().lower() > MOST as u64 {
            return Err(Fault::TooLarge);
        }
        let mut bytes = BytesMut::new();
        let mut turn = None;
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| Fault::Broken)?.into_data() else {
                continue; // Trailers mean nothing here.
            };
            let len = bytes.len() + data.len();
            if len > MOST {
                return Err(Fault::TooLarge);
            }
            if len > SMALL && turn.is_none() {
                turn = self.0.acquire().await.ok();
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Whole {
            bytes: bytes.freeze(),
            _turn: turn,
        })
    }
}
