//! What the protocol asks of the server, answered over one generation of skills. A request is one
//! row of the method table in `methods`; `plan` finds the row and decides the era, `answer_now`
//! and `answer` append the result. One file per tool and per group of methods below `mcp/`; how
//! messages travel is the concern of `stdio` and `http`.

pub(crate) mod methods;
mod results;

mod completion;
mod extension;
#[cfg(feature = "conformance-fixtures")]
mod extra;
mod handshake;
mod notifier;
mod prompts;
mod resources;

mod arguments;
mod broken;
mod cursor;
mod instructions;
mod preview;
mod progress;
mod run_queue;
mod skill_listing;
mod tool_result;
mod tools;
mod toolset;

mod get_asset;
mod get_skill;
mod invoke_skill;
mod list_skills;
mod outputs;
mod refresh_skills;
mod report_usage;
mod run_script;
mod skill;
mod skills_list;
mod skills_search;

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Poll;
use std::time::Duration;

use rmcp::model::{ErrorCode, Implementation, ProtocolVersion};
use skillbundle_format::hosts::{self, Host};
use tokio_util::sync::CancellationToken;

use crate::Options;
use crate::analytics::Recorder;
use crate::invocations::Invocations;
use crate::jsonrpc::{Meta, Request, RpcError};
use crate::scripts::Scripts;
use crate::source::{Generation, NotLoaded, Refresher};
use methods::{Handler, Method};
use notifier::Notifier;
use outputs::Outputs;
use run_queue::RunQueue;
use tools::{ToolParams, ToolRequest};
use toolset::{ToolContext, ToolSet};

#[cfg(feature = "conformance-fixtures")]
pub use extra::{Extra, ExtraCall, ExtraMethod, ExtraResult};
pub use preview::Preview;
pub use toolset::Tools;

/// Answers requests. Clones share everything.
#[derive(Clone)]
pub(crate) struct Server {
    refresher: Refresher,
    pub(crate) options: Options,
    pub(crate) scripts: Scripts,
    pub(crate) recorder: Recorder,
    invocations: Invocations,
    run_queue: RunQueue,
    /// What scripts have written that is no text.
    outputs: Arc<Outputs>,
    tool_list: Arc<Mutex<tools::ListCache>>,
    /// What the client of a session knows, if it can be notified of changes.
    notifier: Option<Arc<Notifier>>,
    /// The host that the client of a session belongs to, once it has introduced itself.
    host: Option<Arc<OnceLock<&'static Host>>>,
}

/// How a client and a server agree on a protocol revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// By `initialize`, up to 2025-11-25.
    Handshake,
    /// By what each request says, since 2026-07-28.
    Stateless,
}

/// How a request will be answered.
pub(crate) struct Plan {
    method: &'static Method,
    era: Era,
    handler: Handler,
    /// What `tools/call` asks for.
    tool: Option<ToolRequest>,
}

/// One request that is being answered.
pub(crate) struct Call<'a> {
    server: &'a Server,
    request: &'a Request<'a>,
    era: Era,
    tool: Option<&'a ToolRequest>,
}

/// The client that waits for one request.
pub(crate) struct Caller {
    /// Cancelled when the client no longer wants the response.
    pub(crate) cancelled: CancellationToken,
    pub(crate) notify: Notify,
    /// Told how long the response may take from now, by a task that takes longer than most.
    pub(crate) announce: Announce,
    /// The agent that it is known to be.
    pub(crate) agent: Option<Arc<str>>,
}

/// Sends a notification, one whole JSON message, to a client. Returns `false` once it is gone.
pub(crate) type Notify = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// Takes the time that a response may need, for a transport that limits it.
pub(crate) type Announce = Arc<dyn Fn(Duration) + Send + Sync>;

/// The skills a request is answered from, or why there are none.
type Skills = Result<Arc<Generation>, NotLoaded>;

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl Server {
    pub(crate) fn new(refresher: Refresher, options: Options) -> Self {
        let scripts = Scripts::new(options.scripts.clone());
        let recorder = Recorder::new(&options.recording);
        Self {
            refresher,
            invocations: Invocations::recording(scripts.clone(), recorder.clone()),
            scripts,
            recorder,
            run_queue: RunQueue::default(),
            outputs: Arc::default(),
            options,
            tool_list: Arc::default(),
            notifier: None,
            host: None,
        }
    }

    /// A server for one session, whose client can be notified of changes until `closing`.
    pub(crate) fn for_session(self, closing: CancellationToken) -> Self {
        let notifier = self
            .refresher
            .can_change()
            .then(|| Arc::new(Notifier::new(closing)));
        Self {
            notifier,
            host: Some(Arc::default()),
            ..self
        }
    }

    /// Remembers which host the client of the session belongs to.
    fn introduced(&self, client: &str) {
        if let (Some(known), Some(host)) = (&self.host, hosts::of_client(client)) {
            // The first introduction counts.
            let _ = known.set(host);
        }
    }

    /// Finds the method and decides the era, from the era of the session and from `_meta`.
    pub(crate) fn plan(
        &self,
        request: &Request<'_>,
        session: Option<Era>,
    ) -> Result<Plan, RpcError> {
        guard(|| self.find_plan(request, session))
    }

    fn find_plan(&self, request: &Request<'_>, session: Option<Era>) -> Result<Plan, RpcError> {
        let method = methods::find(&request.method);
        #[cfg(feature = "conformance-fixtures")]
        if let Some((row, method)) = self.extra(&request.method, method) {
            let era = era(method, &request.meta()?, session)?;
            return Ok(Plan::extra(method, era, row));
        }
        // Parsed once, for everything that follows. If that fails, the parts are parsed one by one
        // to find which error takes precedence.
        let is_tool_call = method.is_some_and(|method| matches!(method.handler, Handler::Tool));
        let params = is_tool_call.then(|| request.params::<ToolParams<'_>>());
        let meta = match &params {
            Some(Ok(params)) => Meta::parse(params.meta),
            _ => request.meta(),
        };
        let meta = match (meta, method) {
            // Parameters of an unknown method cannot be of a wrong type.
            (Err(error), None) if error.code == ErrorCode::INVALID_PARAMS => Meta::default(),
            (meta, _) => meta?,
        };
        let method = method.ok_or_else(|| methods::unknown(&request.method))?;
        // Parameters that are not JSON take precedence over every other error.
        self.plan_for(method, request, &meta, session, params)
            .map_err(|error| request.broken().unwrap_or(error))
    }

    fn plan_for(
        &self,
        method: &'static Method,
        request: &Request<'_>,
        meta: &Meta<'_>,
        session: Option<Era>,
        params: Option<Result<ToolParams<'_>, RpcError>>,
    ) -> Result<Plan, RpcError> {
        let era = era(method, meta, session)?;
        if !method.eras.contain(era) {
            return Err(methods::unknown(method.name));
        }
        let tool = params
            .map(|params| ToolRequest::new(self, request, params))
            .transpose()?;
        let handler = tool.as_ref().map_or(method.handler, ToolRequest::handler);
        Ok(Plan {
            method,
            era,
            handler,
            tool,
        })
    }

    /// Appends the JSON of the result, if nothing must be waited for. Otherwise returns `None` and
    /// appends nothing.
    pub(crate) fn answer_now(
        &self,
        plan: &Plan,
        request: &Request<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Result<(), RpcError>> {
        let call = self.call(plan, request);
        match plan.handler {
            Handler::Now(answer) => Some(guard(|| answer(&call, out))),
            Handler::Skills(answer) | Handler::Listing(answer) => {
                let skills = self.refresher.ready()?;
                let start = out.len();
                let answered = guard(|| answer(&call, &skills, out));
                if is_damaged(&skills) {
                    out.truncate(start);
                    return None;
                }
                Some(answered)
            }
            Handler::Task(_) | Handler::Tool => None,
            #[cfg(feature = "conformance-fixtures")]
            Handler::Extra(_) => None,
        }
    }

    /// Appends the JSON of the result, and waits for what it needs.
    pub(crate) async fn answer(
        &self,
        plan: &Plan,
        request: &Request<'_>,
        caller: &Caller,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let call = self.call(plan, request);
        match plan.handler {
            Handler::Now(answer) => guard(|| answer(&call, out)),
            Handler::Skills(answer) | Handler::Listing(answer) => {
                let start = out.len();
                let skills = match plan.handler {
                    Handler::Listing(_) => self.refresher.current_soon().await,
                    _ => self.refresher.current().await,
                };
                let answered = guard(|| answer(&call, &skills, out));
                if !is_damaged(&skills) {
                    return answered;
                }
                // What was stored is damaged; it is loaded anew, once.
                out.truncate(start);
                let skills = self.refresher.current().await;
                guard(|| answer(&call, &skills, out))
            }
            Handler::Task(work) => guard_future(work(&call, caller, out)).await,
            #[cfg(feature = "conformance-fixtures")]
            Handler::Extra(row) => guard_future(extra::answer(row, &call, caller, out)).await,
            Handler::Tool => unreachable!("a plan names the tool's own handler"),
        }
    }

    fn call<'a>(&'a self, plan: &'a Plan, request: &'a Request<'a>) -> Call<'a> {
        Call {
            server: self,
            request,
            era: plan.era,
            tool: plan.tool.as_ref(),
        }
    }

    fn identity() -> Implementation {
        Implementation::new("skillbundle", env!("CARGO_PKG_VERSION"))
            .with_title("Skills")
            .with_description("Serves agent skills: instructions and files for particular tasks")
    }

    /// The schema of a tool whose parameters HTTP headers repeat: only test builds have any.
    #[cfg(all(feature = "http", not(feature = "conformance-fixtures")))]
    pub(crate) fn header_schema(&self, _tool: &str) -> Option<serde_json::Value> {
        None
    }

    /// The tools that are offered over these skills.
    fn toolset(&self, skills: Option<&Generation>) -> ToolSet {
        self.options.toolset(&self.tool_context(skills, None))
    }

    /// What tools have to work with, for a client that a request introduces, or else that of the
    /// session.
    fn tool_context<'a>(
        &self,
        skills: Option<&'a Generation>,
        client: Option<&str>,
    ) -> ToolContext<'a> {
        let of_session = || self.host.as_ref()?.get().copied();
        let host = client.and_then(hosts::of_client).or_else(of_session);
        let kept = host.and_then(Host::description_chars);
        let runs_scripts = |skills: &Generation| {
            let is_of_project = |root| skills.is_of_project(root);
            let catalog = skills.catalog().ok()?;
            self.options.scripts.allow_any(catalog, is_of_project).ok()
        };
        ToolContext {
            catalog: skills.and_then(|skills| skills.catalog().ok()),
            runs_scripts: skills.and_then(runs_scripts),
            room: self.options.description_room(kept),
        }
    }
}

impl Plan {
    /// Whether the client may take any time to be answered, so that the request must not count
    /// against the limit of requests in flight.
    pub(crate) fn stays_open(&self) -> bool {
        self.method.name == methods::LISTEN
    }

    /// The era of a session that was in `session` when it sent this request.
    pub(crate) fn session_after(&self, session: Option<Era>) -> Option<Era> {
        match self.method.name {
            methods::INITIALIZE => Some(Era::Handshake),
            // A client may probe and ping before it decides.
            methods::DISCOVER | methods::PING => session,
            _ => session.or(Some(self.era)),
        }
    }
}

/// The era of a request. A request that names no revision belongs to a session that began with
/// `initialize`; any other must carry all that 2026-07-28 requires.
fn era(method: &Method, meta: &Meta<'_>, session: Option<Era>) -> Result<Era, RpcError> {
    let first = session.is_none();
    if method.name == methods::INITIALIZE || (first && method.name == methods::PING) {
        return Ok(Era::Handshake);
    }
    let in_handshake = session == Some(Era::Handshake);
    let missing = || {
        let keys = meta.missing().join(", ");
        let message = format!("request _meta is missing or has malformed required fields: {keys}");
        RpcError::invalid_params(message, None)
    };
    let Some(version) = meta.version() else {
        let needs_meta = !in_handshake || method.name == methods::DISCOVER;
        return if needs_meta {
            Err(missing())
        } else {
            Ok(Era::Handshake)
        };
    };
    let known = ProtocolVersion::KNOWN_VERSIONS;
    let Some(version) = known.iter().find(|known| known.as_str() == version) else {
        let requested = serde_json::from_value(version.into())
            .map_err(|_| RpcError::invalid_params("the revision is not a string", None))?;
        return Err(RpcError::unsupported_protocol_version(requested, known));
    };
    let stateless = !version.has_initialize();
    if (stateless || !in_handshake) && !meta.missing().is_empty() {
        return Err(missing());
    }
    // Whatever revision it names, this asks for those there are.
    Ok(if stateless || method.name == methods::DISCOVER {
        Era::Stateless
    } else {
        Era::Handshake
    })
}

/// Whether the answer from these skills may be incomplete.
fn is_damaged(skills: &Skills) -> bool {
    skills.as_ref().is_ok_and(|skills| skills.is_damaged())
}

/// Turns a panic in one request into its error. What happened is on stderr, by the panic hook; the
/// client gets none of it.
fn guard<T>(answer: impl FnOnce() -> Result<T, RpcError>) -> Result<T, RpcError> {
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
        Err(RpcError::internal_error(
            "the request failed unexpectedly; other requests still work",
            None,
        ))
    })
}

/// The same for work that waits.
async fn guard_future(work: impl Future<Output = Result<(), RpcError>>) -> Result<(), RpcError> {
    let mut work = pin!(work);
    poll_fn(|context| {
        let polled = guard(|| Ok(work.as_mut().poll(context)));
        polled.unwrap_or_else(|error| Poll::Ready(Err(error)))
    })
    .await
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
