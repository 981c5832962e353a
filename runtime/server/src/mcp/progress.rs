//! `notifications/progress`: how far a tool that takes time has come, for clients that want to know.

use serde::Serialize;
use serde_json::value::RawValue;

use super::tools::TaskCall;

/// The notification of how far a request has come.
#[derive(Serialize)]
struct ProgressNotification<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: ProgressParams<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    progress_token: &'a RawValue,
    progress: f64,
    message: &'a str,
}

impl TaskCall<'_> {
    /// Tells the client how far the request has come, if it wants to know. `progress` must grow from
    /// call to call.
    pub(crate) fn progress(&self, progress: f64, message: &str) {
        let Some(progress_token) = self.meta.progress_token() else {
            return;
        };
        let params = ProgressParams {
            progress_token,
            progress,
            message,
        };
        let notification = serde_json::to_vec(&ProgressNotification {
            jsonrpc: "2.0",
            method: "notifications/progress",
            params,
        });
        let notification = notification.expect("keys are strings, and memory takes all bytes");
        // A client that is gone cancels the request, too.
        let _ = (self.caller.notify)(&notification);
    }
}
