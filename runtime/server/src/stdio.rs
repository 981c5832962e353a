//! MCP over stdin and stdout: one JSON message a line. `session` reads requests and has them
//! answered, at once or as tasks; `lines` cuts what arrives, `outbox` sends what leaves. What a
//! request means is the concern of `mcp`.

mod lines;
mod outbox;
mod session;

pub(crate) use session::{Ended, run};

#[cfg(test)]
#[cfg(unix)]
mod tests;
