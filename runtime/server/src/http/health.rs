//! Health checks: whether the process is alive (`/healthz`) and whether it has skills to serve
//! (`/readyz`). Anyone may ask, so the responses hold no path and no reason that could name one;
//! the log does.

use std::time::Duration;

use hyper::{Method, StatusCode};
use serde_json::json;

use super::response::{self, Response};
use crate::source::Refresher;

/// How long a response waits for the first load. Supervisors give up after a second or so, and
/// "loading" is an answer, too.
const PATIENCE: Duration = Duration::from_millis(500);

/// Answers `/healthz` and `/readyz`. Returns `None` for other paths.
pub(super) async fn answer(method: &Method, path: &str, refresher: &Refresher) -> Option<Response> {
    if !matches!(path, "/healthz" | "/readyz") {
        return None;
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Some(response::method_not_allowed("GET, HEAD"));
    }
    if path == "/healthz" {
        return Some(response::json(StatusCode::OK, r#"{"status":"ok"}"#));
    }
    Some(
        match tokio::time::timeout(PATIENCE, refresher.current()).await {
            Ok(Ok(generation)) => {
                // Embedded skills are public. What else is served stays private.
                let digest = (!refresher.can_change()).then(|| generation.digest());
                ready(digest, &generation.commits())
            }
            Ok(Err(_)) => not_ready("no skills could be loaded; the log of the server says why"),
            Err(_) => not_ready("the skills are being loaded"),
        },
    )
}

fn ready(digest: Option<String>, commits: &[String]) -> Response {
    let mut body = json!({ "status": "ready" });
    if let Some(digest) = digest {
        body["bundle"] = digest.into();
    }
    // Which commit is live tells whoever deploys it that it has arrived, and nobody else anything.
    if !commits.is_empty() {
        body["commits"] = commits.into();
    }
    response::json(StatusCode::OK, body.to_string())
}

fn not_ready(reason: &str) -> Response {
    let text = format!(r#"{{"status":"not ready","reason":"{reason}"}}"#);
    response::json(StatusCode::SERVICE_UNAVAILABLE, text)
}
