//! What rmcp's own transport does where ours keeps a promise. Each row is
//! played to both: ours keeps it, rmcp does not. A row that rmcp keeps one day
//! shows here that our part of it is no longer needed.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, serve_server};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::time::{sleep, timeout};

use super::folders;
use crate::Options;
use crate::testing::{META, end, unopened};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;
const INITIALIZE_7: &str = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;
const AND_ASK_FOR_MORE: &str = r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;

/// Longer than anything takes. The clock jumps there when nobody has work.
const NEVER: Duration = Duration::from_secs(600);

/// Something that a client may send, and what the request 7 in it must get.
struct Row {
    what: &'static str,
    lines: Vec<Vec<u8>>,
    wanted: Wanted,
}

#[derive(Debug, Clone, Copy)]
enum Wanted {
    Result,
    Error(i64),
}

/// A row whose lines are text.
fn row(what: &'static str, lines: &[&str], wanted: Wanted) -> Row {
    let lines = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
    Row {
        what,
        lines,
        wanted,
    }
}

fn rows() -> Vec<Row> {
    let probe =
        format!(r#"{{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{{{META}}}}}"#);
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}"#,
        "[".repeat(100_000)
    );
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{{"x":"{}"}}}}"#,
        "x".repeat(17 << 20)
    );
    let mut rows = vec![
        row(
            "a notification before initialize",
            &[
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                INITIALIZE_7,
            ],
            Wanted::Result,
        ),
        row(
            "a response before initialize",
            &[r#"{"jsonrpc":"2.0","id":3,"result":{}}"#, INITIALIZE_7],
            Wanted::Result,
        ),
        row(
            "a probe, its cancellation, and then initialize",
            &[
                &probe,
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}"#,
                INITIALIZE_7,
            ],
            Wanted::Result,
        ),
        row(
            "a line that is cut off",
            &[INITIALIZE, r#"{"jsonrpc":"2.0","id":7,"method":"#],
            Wanted::Error(-32700),
        ),
        row(
            "half a surrogate pair",
            &[
                INITIALIZE,
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\ud800"}}"#,
            ],
            Wanted::Error(-32700),
        ),
        row(
            "100,000 brackets",
            &[INITIALIZE, &deep],
            Wanted::Error(-32700),
        ),
        row(
            "a line of 17 MiB",
            &[INITIALIZE, &long],
            Wanted::Error(-32600),
        ),
        row(
            "no version of JSON-RPC",
            &[INITIALIZE, r#"{"id":7,"method":"ping"}"#],
            Wanted::Error(-32600),
        ),
        row(
            "wrong parameters of a known method",
            &[
                INITIALIZE,
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":1}}"#,
            ],
            Wanted::Error(-32602),
        ),
        row(
            "a fault in a tool",
            &[
                INITIALIZE,
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"panics"}}"#,
            ],
            Wanted::Error(-32603),
        ),
        row(
            "a second handshake that asks for the stateless revision",
            &[
                INITIALIZE,
                AND_ASK_FOR_MORE,
                r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
            ],
            Wanted::Result,
        ),
    ];
    let mut bad_text = row(
        "bytes that are no text",
        &[INITIALIZE],
        Wanted::Error(-32700),
    );
    bad_text
        .lines
        .push(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}".to_vec());
    rows.push(bad_text);
    rows
}

/// Whether the request 7 got what it must.
fn kept(reply: Option<&Value>, wanted: Wanted) -> bool {
    reply.is_some_and(|reply| match wanted {
        Wanted::Result => reply.get("result").is_some(),
        Wanted::Error(code) => reply["error"]["code"] == code,
    })
}

#[test]
fn each_promise_is_kept_here_and_not_by_rmcp_alone() {
    for row in rows() {
        let mut ours = unopened(folders(), Options::default());
        row.lines.iter().for_each(|line| ours.send_line(line));
        let reply = loop {
            let reply = ours.reply();
            if reply["id"] == 7 {
                break reply;
            }
        };
        assert!(kept(Some(&reply), row.wanted), "{}: {reply}", row.what);
        assert!(end(ours).0.is_ok(), "{}", row.what);

        let reply = on_a_jumping_clock(async {
            let mut bare = BufReader::new(start(1 << 20));
            send(&mut bare, &row.lines).await;
            reply_to(&mut bare, &json!(7)).await
        });
        assert!(
            !kept(reply.as_ref(), row.wanted),
            "rmcp keeps this by itself now: {}: {reply:?}",
            row.what
        );
    }
}

/// Ours refuses the second one: `an_id_in_use_is_refused_and_the_first_request_still_answered`.
#[test]
fn rmcp_answers_one_of_two_requests_with_one_id() {
    on_a_jumping_clock(async {
        let mut bare = BufReader::new(start(1 << 20));
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"waits"}}"#;
        let lines = [INITIALIZE, call, call].map(|line| line.as_bytes().to_vec());
        send(&mut bare, &lines).await;
        assert!(reply_to(&mut bare, &json!(7)).await.is_some());
        assert_eq!(reply_to(&mut bare, &json!(7)).await, None, "not any more");
    });
}

/// Ours calls it a good end: `the_end_of_input_is_never_an_error`.
#[test]
fn rmcp_calls_the_end_of_input_before_a_handshake_an_error() {
    on_a_jumping_clock(async {
        let (client, server) = duplex(1024);
        drop(client);
        let ended = serve_server(Bare, server).await;
        assert!(matches!(
            ended.err(),
            Some(ServerInitializeError::ConnectionClosed(_))
        ));
    });
}

/// Ours stops: `nothing_is_read_while_replies_do_not_leave`.
#[test]
fn rmcp_reads_on_while_replies_do_not_leave() {
    const CALLS: usize = 20_000;
    on_a_jumping_clock(async {
        let mut bare = BufReader::new(start(64 * 1024));
        let mut lines = vec![INITIALIZE.as_bytes().to_vec()];
        lines.extend((10..CALLS).map(|id| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#).into_bytes()
        }));
        let taken = timeout(NEVER, send(&mut bare, &lines)).await;
        assert!(taken.is_ok(), "not any more");
    });
}

/// Ours ends: `a_reader_that_leaves_ends_the_session`.
#[test]
fn rmcp_lives_on_after_its_reader_is_gone() {
    on_a_jumping_clock(async {
        let (to_server, from_client) = duplex(1024);
        let (to_client, from_server) = duplex(1024);
        drop(from_server);
        let serving = async {
            let running = serve_server(Bare, (from_client, to_client)).await;
            running.expect("a handshake").waiting().await
        };
        let mut to_server = to_server;
        let request =
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{{META}}}}}"#);
        send(&mut to_server, &[request.into_bytes()]).await;
        assert!(timeout(NEVER, serving).await.is_err(), "not any more");
        drop(to_server);
    });
}

/// A server of rmcp with nothing of ours.
struct Bare;

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        assert_ne!(request.name, "panics", "a fault in a tool");
        sleep(Duration::from_secs(1)).await;
        Ok(CallToolResult::success(Vec::new()).into())
    }
}

/// Runs on a clock that jumps to the next thing to wait for.
fn on_a_jumping_clock<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(work)
}

/// Starts it; the client's end.
fn start(room: usize) -> DuplexStream {
    let (client, server) = duplex(room);
    tokio::spawn(async move {
        if let Ok(running) = serve_server(Bare, server).await {
            let _ = running.waiting().await;
        }
    });
    client
}

/// Writes lines, unless the server is gone.
async fn send(to: &mut (impl AsyncWriteExt + Unpin), lines: &[Vec<u8>]) {
    for line in lines {
        let line = [line, b"\n".as_slice()].concat();
        if to.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// The next reply with this id, if there ever is one.
async fn reply_to(from: &mut BufReader<DuplexStream>, id: &Value) -> Option<Value> {
    let mut line = String::new();
    loop {
        line.clear();
        let read = timeout(NEVER, from.read_line(&mut line)).await;
        if !matches!(read, Ok(Ok(1..))) {
            return None;
        }
        let reply: Value = serde_json::from_str(&line).unwrap();
        if reply["id"] == *id {
            return Some(reply);
        }
    }
}
