//! The floor: a stdio loop written by hand over `serde_json`, with nothing
//! around it. It answers the handshake, and `tools/call` with one fixed skill
//! in exactly the shape of our reply. No server that parses its requests and
//! builds its replies can be much faster.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

use super::generate;

/// Serves until the end of input.
pub(crate) fn serve() {
    let skill = Skill::fixed();
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value =
            serde_json::from_str(&line.expect("input is UTF-8")).expect("input is JSON");
        let Some(id) = request.get("id") else {
            continue;
        };
        let result = match request["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "floor", "version": "0"},
            }),
            _ => skill.reply(
                request["params"]["arguments"]["name"]
                    .as_str()
                    .unwrap_or_default(),
            ),
        };
        let mut reply = serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
            .expect("JSON is serialisable");
        reply.push(b'\n');
        output
            .write_all(&reply)
            .and_then(|()| output.flush())
            .expect("the client reads its output");
    }
}

struct Skill {
    text: String,
}

impl Skill {
    fn fixed() -> Self {
        Self {
            text: generate::markdown(7),
        }
    }

    fn reply(&self, name: &str) -> Value {
        json!({
            "content": [{"type": "text", "text": format!("Loading: {name}\nBase directory: skill://{name}\n\n{}", self.text)}],
            "_meta": { "skillbundle/about": {
                "name": name,
                "path": name,
                "location": "project",
                "base_directory": format!("skill://{name}"),
                "digest": "sha256:0000000000000000000000000000000000000000000000000000000000000000",
                "files": [],
            }},
        })
    }
}
