//! What supervisors ask: whether the process lives (`/healthz`), and whether it
//! has skills to serve (`/readyz`). Anybody may ask, so the answers hold no
//! path and no reason that could name one; the log has it.

use std::time::Duration;

use hyper::{Method, StatusCode};

use super::reply::{self, Answer};
use crate::library::Library;
use crate::source::Mode;

/// How long the first load may hold an answer. Probes give up after a second
/// or so, and a load that is under way is an answer, too.
const PATIENCE: Duration = Duration::from_millis(500);

/// Answers `/healthz` and `/readyz`; nothing for any other path.
pub(super) async fn answer(method: &Method, path: &str, library: &Library) -> Option<Answer> {
    if !matches!(path, "/healthz" | "/readyz") {
        return None;
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Some(reply::not_allowed("GET, HEAD"));
    }
    if path == "/healthz" {
        return Some(reply::json(StatusCode::OK, r#"{"status":"ok"}"#.to_owned()));
    }
    Some(
        match tokio::time::timeout(PATIENCE, library.current()).await {
            Ok(Ok(generation)) => {
                // What is baked in is public; what else we serve is not told.
                let digest = (library.mode() == Mode::Embedded).then(|| generation.digest());
                ready(digest)
            }
            Ok(Err(_)) => not_ready("no skills could be loaded; the log of the server says why"),
            Err(_) => not_ready("the skills are being loaded"),
        },
    )
}

fn ready(digest: Option<String>) -> Answer {
    let bundle = digest.map_or_else(String::new, |digest| format!(r#","bundle":"{digest}""#));
    reply::json(StatusCode::OK, format!(r#"{{"status":"ready"{bundle}}}"#))
}

fn not_ready(reason: &str) -> Answer {
    let text = format!(r#"{{"status":"not ready","reason":"{reason}"}}"#);
    reply::json(StatusCode::SERVICE_UNAVAILABLE, text)
}
