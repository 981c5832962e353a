//! Method rows that a test build adds to the table and that take precedence over the server's own.
//! The official conformance suite asks for tools, resources and prompts by name; they are no part
//! of this package.

use std::pin::Pin;
use std::time::Duration;

use rmcp::model::ErrorData;
use serde_json::{Value, json};

use super::methods::{Eras, Handler, Method};
use super::{Call, Caller, Era, Plan, Server, results};
use crate::jsonrpc::RpcError;

/// What a test build adds to a server.
#[derive(Debug)]
pub struct Extra {
    /// The rows.
    pub methods: &'static [ExtraMethod],
    /// The input schema of an added tool that has parameters which HTTP headers repeat.
    pub schema: fn(&str) -> Option<Value>,
}

/// One added method.
#[derive(Debug)]
pub struct ExtraMethod {
    /// The name of the method.
    pub name: &'static str,
    /// Gives its result, or a JSON-RPC error.
    pub answer: for<'a> fn(&'a ExtraCall<'a>) -> ExtraResult<'a>,
}

/// The result of an added method, once it is there.
pub type ExtraResult<'a> = Pin<Box<dyn Future<Output = Result<Value, ErrorData>> + Send + 'a>>;

/// One request for an added method.
pub struct ExtraCall<'a> {
    call: &'a Call<'a>,
    caller: &'a Caller,
    /// The parameters, `null` if there are none.
    pub params: Value,
}

/// Stands in for the row of a method that only a test build has.
static ADDED: Method = Method {
    name: "",
    eras: Eras::Both,
    handler: Handler::Tool,
};

impl ExtraCall<'_> {
    /// Whether the client is of 2026-07-28 or newer.
    pub fn is_stateless(&self) -> bool {
        self.call.era == Era::Stateless
    }

    /// Sends a notification ahead of the result.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "so that json! can stand in the call"
    )]
    pub fn notify(&self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        (self.caller.notify)(message.to_string().as_bytes());
    }

    /// Waits, so that notifications leave apart from one another.
    pub async fn pause(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Announces that the result takes this long.
    pub fn announce(&self, time: Duration) {
        (self.caller.announce)(time);
    }

    /// What the server itself answers.
    pub async fn base(&self) -> Result<Value, ErrorData> {
        let mut server = self.call.server.clone();
        server.options.extra = None;
        let request = self.call.request;
        let plan = server.plan(request, Some(self.call.era))?;
        let mut out = Vec::new();
        server.answer(&plan, request, self.caller, &mut out).await?;
        serde_json::from_slice(&out).map_err(results::unreadable)
    }
}

impl Server {
    /// The added row for this method, and the server's own row, or a placeholder.
    pub(super) fn extra(
        &self,
        name: &str,
        own: Option<&'static Method>,
    ) -> Option<(&'static ExtraMethod, &'static Method)> {
        let mut added = self.options.extra?.methods.iter();
        let added = added.find(|row| row.name == name)?;
        Some((added, own.unwrap_or(&ADDED)))
    }

    /// The schema of a tool whose parameters HTTP headers repeat. The server's own tools have none.
    pub(crate) fn header_schema(&self, tool: &str) -> Option<Value> {
        self.options.extra.and_then(|extra| (extra.schema)(tool))
    }
}

/// Appends the result of an added method.
pub(super) async fn answer(
    row: &ExtraMethod,
    call: &Call<'_>,
    caller: &Caller,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let params = call.request.optional_params::<Value>()?;
    let call = ExtraCall {
        call,
        caller,
        params,
    };
    results::write(out, &(row.answer)(&call).await?)
}

impl Plan {
    pub(super) fn extra(method: &'static Method, era: Era, row: &'static ExtraMethod) -> Self {
        Self {
            method,
            era,
            handler: Handler::Extra(row),
            tool: None,
        }
    }
}
