//! What the server counts: which events there are, and what is in each.

mod kinds;

pub use kinds::{EVENT_TYPES, EventType};
