//! The method table. A method is one row here and one function in the file of its group.

use rmcp::model::ErrorCode;

use super::{
    BoxFuture, Call, Caller, Era, Skills, completion, extension, handshake, notifier, prompts,
    resources, tool_result, tools,
};
use crate::jsonrpc::RpcError;

pub(crate) const INITIALIZE: &str = "initialize";
pub(crate) const DISCOVER: &str = "server/discover";
pub(crate) const PING: &str = "ping";
pub(crate) const LISTEN: &str = "subscriptions/listen";

/// One method of the protocol.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) eras: Eras,
    pub(crate) handler: Handler,
}

/// The eras that have a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Eras {
    Both,
    Only(Era),
}

/// What a method needs before it can answer, and the function that does. Each function appends
/// the JSON of its result.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// Needs nothing: never waits.
    Now(fn(&Call<'_>, &mut Vec<u8>) -> Result<(), RpcError>),
    /// Needs the current skills, and waits only if asking for them may block.
    Skills(fn(&Call<'_>, &Skills, &mut Vec<u8>) -> Result<(), RpcError>),
    /// The same, and answers without skills if the first ones are not there soon.
    Listing(fn(&Call<'_>, &Skills, &mut Vec<u8>) -> Result<(), RpcError>),
    /// Takes time of its own: the source, a client that listens.
    Task(Work),
    /// Needs what the tool that is called needs.
    Tool,
    /// Comes from a test build.
    #[cfg(feature = "conformance-fixtures")]
    Extra(&'static super::extra::ExtraMethod),
}

/// Work that takes time. It ends early when the client no longer waits.
pub(crate) type Work =
    for<'a> fn(&'a Call<'a>, &'a Caller, &'a mut Vec<u8>) -> BoxFuture<'a, Result<(), RpcError>>;

use Eras::{Both, Only};
use Handler::{Now, Task, Tool};

#[rustfmt::skip]
static METHODS: &[Method] = &[
    method(INITIALIZE, Only(Era::Handshake), Now(handshake::initialize)),
    method(DISCOVER, Only(Era::Stateless), Now(handshake::discover)),
    method(PING, Only(Era::Handshake), Now(handshake::ping)),
    method("tools/list", Both, Handler::Listing(tools::list)),
    method("tools/call", Both, Tool),
    method("skills/list", Both, Handler::Skills(extension::list)),
    method("skills/get", Both, Handler::Skills(extension::get)),
    method("resources/list", Both, Handler::Skills(resources::list)),
    method("resources/templates/list", Both, Handler::Skills(resources::templates)),
    method("resources/read", Both, Handler::Skills(resources::read)),
    method("resources/directory/read", Both, Handler::Skills(extension::directory)),
    method("resources/subscribe", Only(Era::Handshake), Handler::Skills(notifier::subscribe)),
    method("resources/unsubscribe", Only(Era::Handshake), Now(notifier::unsubscribe)),
    method(LISTEN, Only(Era::Stateless), Task(notifier::listen)),
    method("prompts/list", Both, Handler::Skills(prompts::list)),
    method("prompts/get", Both, Handler::Skills(prompts::get)),
    method("completion/complete", Both, Handler::Skills(completion::complete)),
];

const fn method(name: &'static str, eras: Eras, handler: Handler) -> Method {
    Method {
        name,
        eras,
        handler,
    }
}

impl Eras {
    pub(crate) fn contain(self, era: Era) -> bool {
        match self {
            Both => true,
            Only(only) => only == era,
        }
    }
}

/// The row of a method.
pub(crate) fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// The error for a method that does not exist in the client's era, or belongs to a capability that
/// is not declared.
pub(crate) fn unknown(name: &str) -> RpcError {
    let message = format!(
        "method \"{}\" is not known here, or needs a capability that this server does not declare",
        tool_result::shortened(name)
    );
    RpcError::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}
