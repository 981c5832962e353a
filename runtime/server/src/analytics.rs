//! What the server counts: which events there are, what is in each, and the one way in which they are
//! recorded.

mod kinds;
mod recorder;
mod usage;

pub use kinds::{EVENT_TYPES, EventType};
pub(crate) use recorder::{Recorder, Taken};
pub(crate) use usage::UsageEvent;
