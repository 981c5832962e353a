//! Request bodies: read whole, up to a limit. Only a few large ones are held at one time, so that
//! many of them cannot fill the memory: parsed as JSON, a hostile body takes many times its size.

use std::future::poll_fn;
use std::pin::Pin;

use hyper::body::{Body, Incoming};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::jsonrpc::LONGEST;

/// Bodies up to this size are not limited in number. Requests of hosts have some hundred bytes.
const SMALL: usize = 64 * 1024;

/// Large bodies that may be held at one time.
const LARGE_AT_ONCE: usize = 4;

/// Reads bodies.
pub(super) struct Reader {
    large: Semaphore,
}

/// A body, and its permit if it is large.
pub(super) struct Whole<'a> {
    pub(super) bytes: Vec<u8>,
    _permit: Option<SemaphorePermit<'a>>,
}

/// Why a body could not be read.
pub(super) enum BodyError {
    /// It is longer than [`LONGEST`], or declares to be.
    TooLarge,
    /// The client broke off, or its chunks are malformed.
    Broken,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            large: Semaphore::new(LARGE_AT_ONCE),
        }
    }

    pub(super) async fn read(&self, mut body: Incoming) -> Result<Whole<'_>, BodyError> {
        let declared = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if declared > LONGEST {
            return Err(BodyError::TooLarge);
        }
        let mut bytes = Vec::with_capacity(declared.min(SMALL));
        let mut permit = None;
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else {
                continue; // Trailers mean nothing here.
            };
            let len = bytes.len() + data.len();
            if len > LONGEST {
                return Err(BodyError::TooLarge);
            }
            if len > SMALL && permit.is_none() {
                permit = self.large.acquire().await.ok();
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Whole {
            bytes,
            _permit: permit,
        })
    }
}
