//! What the server answers without being woken: the handshakes, and the
//! requests by which skills are found and read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rmcp::ServerHandler as _;
use rmcp::model::{CallToolRequestParams, ClientRequest, InitializeRequestParams, ProtocolVersion};

use super::tools::{self, Run};
use super::{Server, prepared};
use crate::changes::List;
use crate::transport::{Desk, Era, Outbox};
use prepared::Head;

/// Answers for the server what takes no waiting.
pub(crate) struct Clerk {
    server: Server,
    /// The tools as JSON, and the content address of the skills that they were
    /// described over; those themselves are not to be kept for it.
    tools: Option<([u8; 32], String)>,
}

/// The clerk of a session, who greets its client and may tell it things.
pub(crate) struct FrontDesk {
    clerk: Clerk,
    outbox: Arc<Outbox>,
}

impl Clerk {
    pub(crate) fn new(server: Server) -> Self {
        Self {
            server,
            tools: None,
        }
    }

    /// Adds the result of this request, as JSON. False where it needs waiting
    /// or has a fault; what was added is then worth nothing.
    pub(crate) fn answer(&mut self, request: &ClientRequest, era: Era, into: &mut Vec<u8>) -> bool {
        // A fault here must not end the session; rmcp's handler meets it again
        // and tells the client.
        catch_unwind(AssertUnwindSafe(|| self.write(request, era, into)))
            .is_ok_and(|written| written.is_some())
    }

    fn write(&mut self, request: &ClientRequest, era: Era, into: &mut Vec<u8>) -> Option<()> {
        let server = &self.server;
        let caching = server.caching_in(era);
        match request {
            ClientRequest::PingRequest(_) if era == Era::Handshake => {
                into.extend_from_slice(b"{}");
                Some(())
            }
            ClientRequest::DiscoverRequest(_) if era == Era::Stateless => {
                // Why skills cannot be loaded is told to the first call.
                server.library.at_once();
                serde_json::to_writer(into, &server.discovered()).ok()
            }
            ClientRequest::ListToolsRequest(request) => {
                let paged = request.params.as_ref();
                if paged.is_some_and(|params| params.cursor.is_some()) {
                    return None;
                }
                let tools = self.tools()?;
                Head::new(caching, None).write(into, "tools", |into| {
                    into.extend_from_slice(tools.as_bytes());
                    Some(())
                })
            }
            ClientRequest::CallToolRequest(request) => self.call(&request.params, era, into),
            ClientRequest::ListSkillsRequest(request) => {
                let skills = server.library.at_once()?;
                prepared::skills(&skills, request.params.clone(), caching, into)
            }
            ClientRequest::GetSkillRequest(request) => {
                let skills = server.library.at_once()?;
                prepared::skill(&skills, &request.params.uri, caching, into)
            }
            ClientRequest::ReadResourceRequest(request) => {
                let skills = server.library.at_once()?;
                prepared::contents(&skills, &request.params.uri, caching, into)
            }
            _ => None,
        }
    }

    fn tools(&mut self) -> Option<&str> {
        let skills = self.server.library.at_once()?;
        let known = self.tools.as_ref();
        if known.is_none_or(|(over, _)| *over != skills.content_address()) {
            let tools = serde_json::to_string(&self.server.tools(Some(&skills))).ok()?;
            self.tools = Some((skills.content_address(), tools));
        }
        self.server.seen(List::Tools, Some(skills));
        self.tools.as_ref().map(|(_, tools)| tools.as_str())
    }

    fn call(&self, params: &CallToolRequestParams, era: Era, into: &mut Vec<u8>) -> Option<()> {
        let server = &self.server;
        let tool = tools::find(&params.name).filter(|tool| server.options.tools.answer(tool))?;
        let Run::Ask(ask) = tool.run else {
            return None;
        };
        let skills = server.library.at_once()?;
        let none = rmcp::model::JsonObject::new();
        let arguments = params.arguments.as_ref().unwrap_or(&none);
        let reply = server.asked(ask, &skills, arguments);
        reply.write(era, Server::identity(), into)
    }
}

impl FrontDesk {
    /// One that sends what the client should hear through `outbox`.
    pub(crate) fn new(server: Server, outbox: Arc<Outbox>) -> Self {
        Self {
            clerk: Clerk::new(server),
            outbox,
        }
    }
}

impl Desk for FrontDesk {
    fn answer(&mut self, request: &ClientRequest, era: Era, into: &mut Vec<u8>) -> bool {
        self.clerk.answer(request, era, into)
    }

    fn greet(
        &mut self,
        client: &InitializeRequestParams,
        into: &mut Vec<u8>,
    ) -> Option<ProtocolVersion> {
        let server = &self.clerk.server;
        catch_unwind(AssertUnwindSafe(|| {
            server.library.at_once();
            let greeting = server.negotiate_initialize(client).ok()?;
            serde_json::to_writer(into, &greeting).ok()?;
            Some(greeting.protocol_version)
        }))
        .ok()?
    }

    fn greeted(&mut self) {
        self.clerk.server.tell_changes(&self.outbox);
    }
}
