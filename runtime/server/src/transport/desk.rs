//! Requests that are answered as they are read. Most sessions of a host that
//! starts us for one question need nothing else, and so never wake rmcp: its
//! service loop, a task for each request and what they allocate were a third
//! of the time to the first answer.
//!
//! Only good news leaves here. Whatever is unusual in a request, or takes
//! waiting, is left to rmcp, so that there is one place for each error.

use rmcp::model::{ClientRequest, GetMeta, InitializeRequestParams, ProtocolVersion};

use super::message::is_complete;

/// How a client and a server come to terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// By `initialize`, up to 2025-11-25.
    Handshake,
    /// With each request, from 2026-07-28.
    Stateless,
}

/// Answers what can be told from what is at hand.
pub(crate) trait Desk: Send {
    /// Adds the result of this request, as JSON. False where it needs waiting
    /// or has a fault; what was added is then dropped.
    fn answer(&mut self, request: &ClientRequest, era: Era, into: &mut Vec<u8>) -> bool;

    /// Adds the answer to `initialize`; the version that both speak from here
    /// on, or nothing where there is none.
    fn greet(
        &mut self,
        client: &InitializeRequestParams,
        into: &mut Vec<u8>,
    ) -> Option<ProtocolVersion>;

    /// The client has read the greeting, and may be told things.
    fn greeted(&mut self);
}

/// The era that a request belongs to, in a session of this era; nothing where
/// the two do not fit or more must be known.
pub(crate) fn era_of(request: &ClientRequest, session: Option<Era>) -> Option<Era> {
    let meta = request.get_meta();
    match (session, meta.protocol_version()) {
        (Some(Era::Handshake), None) => Some(Era::Handshake),
        // The one request that may come before all others.
        (None, None) if matches!(request, ClientRequest::PingRequest(_)) => Some(Era::Handshake),
        (None | Some(Era::Stateless), Some(version))
            if version == ProtocolVersion::V_2026_07_28 && is_complete(meta) =>
        {
            Some(Era::Stateless)
        }
        _ => None,
    }
}
