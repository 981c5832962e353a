//! A hostile client over the pipes of the shipped binary: thousands of broken,
//! odd and wrong frames. The process survives and exits with 0, each id that can
//! be read is answered once, and every line of stdout is JSON-RPC.
//!
//! `SKILLBUNDLE_HOSTILE=20000/7` adds 20,000 frames mutated with seed 7; a failure
//! names the frame and the seed. Written frames are in `hostile/lines.rs`,
//! `hostile/methods.rs` and `hostile/names.rs`, each with its expected reply;
//! mutated ones are in `hostile/mutate.rs`. Floods, signals and closed pipes are in
//! `hostile/ends.rs`, the same over HTTP in `hostile/http.rs`.

mod ends;
mod frames;
mod heads;
mod http;
mod lines;
mod methods;
mod mutate;
mod names;
mod random;

use serde_json::{Value, json};

use crate::paths::{CANARY, canary_project, spellings};
use crate::project::{LEGACY, Project, Session, say, with_meta};
use frames::{Era, Expected, Frame, Ids, Kind, request};
use random::Random;

/// The number of mutated frames and their seed, unless the environment says otherwise.
const MUTATED: (usize, u64) = (1500, 20_260_728);

/// Frames of one session. Replies without an id are rate-limited, and one session
/// must stay below that limit.
const FRAMES_PER_SESSION: usize = 400;

/// Frames between two checks that the server still works.
const CHECK_INTERVAL: usize = 100;

/// Folders have to be read first, so their calls may have to wait; a bundle is
/// answered inline.
const SOURCES: [&[&str]; 2] = [&["--dir", "skills"], &["--bundle", "skills.skb"]];

/// The longest line that the server reads.
const LONGEST: usize = 4 * 1024 * 1024;

/// What a message to a client never holds: paths of this machine, and what only
/// a developer should see.
const SECRETS: [&str; 6] = ["panicked", "backtrace", ".rs:", "/rustc/", "/home/", CANARY];

/// Totals over all sessions.
#[derive(Default)]
struct Totals {
    sessions: usize,
    frames: usize,
    replies: usize,
}

#[test]
fn every_hostile_frame_gets_the_expected_reply() {
    let (many, seed) = frames_and_seed();
    let project = canary_project();
    let tools = tools(&project);
    let mut totals = Totals::default();
    for era in [Era::Unopened, Era::Legacy, Era::Modern] {
        let mut random = Random::new(seed ^ era as u64);
        let frames = all_frames(era, &tools, many / 3, &mut random);
        for (frames, source) in frames
            .chunks(FRAMES_PER_SESSION)
            .zip(SOURCES.iter().cycle())
        {
            let mut client = Client::start(&project, era, source);
            for frame in frames {
                client.exchange(frame, &mut random);
            }
            client.end(&mut totals);
        }
    }
    let Totals {
        sessions,
        frames,
        replies,
    } = totals;
    assert!(frames >= 1500, "{frames}");
    say(&format!(
        "hostile frames over pipes: {frames} frames in {sessions} sessions (seed {seed}), \
         {replies} replies, 0 unanswered, 0 deaths"
    ));
}

/// The same frames, sent without waiting for replies in between.
#[test]
fn a_burst_of_hostile_frames_is_answered_under_the_right_ids() {
    let (_, seed) = frames_and_seed();
    let project = canary_project();
    let tools = tools(&project);
    for era in [Era::Legacy, Era::Modern] {
        let mut random = Random::new(seed.wrapping_add(era as u64));
        let mut frames = all_frames(era, &tools, 300, &mut random);
        frames.retain(|frame| matches!(frame.expected, Expected::Nothing | Expected::Reply { .. }));
        for (frames, source) in frames
            .chunks(FRAMES_PER_SESSION)
            .take(4)
            .zip(SOURCES.iter().cycle())
        {
            Client::start(&project, era, source).exchange_all(frames);
        }
    }
}

#[test]
fn lines_near_the_length_limit_are_accepted_or_rejected() {
    let project = canary_project();
    let mut client = Client::start(&project, Era::Legacy, SOURCES[1]);
    let mut random = Random::new(1);
    for frame in lines::sizes(LONGEST, &mut client.ids) {
        client.exchange(&frame, &mut random);
    }
    client.end(&mut Totals::default());
}

/// The methods of the extension and of resources read nothing outside the roots.
#[test]
fn no_uri_reaches_a_file_outside() {
    let project = canary_project();
    let spellings = spellings(&project);
    for source in SOURCES {
        for era in [Era::Legacy, Era::Modern] {
            let mut client = Client::start(&project, era, source);
            let mut random = Random::new(2);
            for frame in names::uris(era, &spellings, &mut client.ids) {
                client.exchange(&frame, &mut random);
            }
            client.end(&mut Totals::default());
        }
    }
}

/// A cursor holds the number of items to skip. A forged one gets a page or an
/// error, whatever the number, and never a panic.
#[test]
fn forged_cursors_get_a_page_or_an_error() {
    let project = Project::new();
    for number in 0..201 {
        let name = format!("skill-{number:03}");
        project.skill(&format!("skills/{name}"), &name, "One of many");
    }
    project.bundle_file(&["skills"], "skills.skb");
    for source in SOURCES {
        forge_cursors(project.serve(source));
    }
}

fn forge_cursors(mut session: Session) {
    session.initialize(LEGACY);
    for (method, list) in [
        ("skills/list", "skills"),
        ("resources/list", "resources"),
        ("prompts/list", "prompts"),
    ] {
        let first = session.result(method, json!({}));
        let cursor = first["nextCursor"].as_str().expect("a second page");
        // The first five characters encode the number.
        let (number, rest) = cursor.split_at(5);
        for forged in ["AAAAA", "_____", "____f", "AAAAg", "yQAAA", "yAAAA", number] {
            let forged = format!("{forged}{rest}");
            let reply = session.request(method, json!({ "cursor": forged }));
            check(&reply);
            let page = reply["result"][list].is_array();
            assert!(
                page || reply["error"]["code"] == -32602,
                "{method}: {reply}"
            );
        }
        for cut in 0..cursor.len() {
            let reply = session.request(method, json!({ "cursor": &cursor[..cut] }));
            assert_eq!(reply["error"]["code"], -32602, "{method}: {reply}");
        }
        let other = if method == "skills/list" {
            "prompts/list"
        } else {
            "skills/list"
        };
        let reply = session.request(other, json!({ "cursor": cursor }));
        assert_eq!(reply["error"]["code"], -32602, "of another list: {reply}");
    }
    assert_eq!(session.finish().code, Some(0));
}

/// How many frames to mutate, and from which seed.
fn frames_and_seed() -> (usize, u64) {
    let Ok(text) = std::env::var("SKILLBUNDLE_HOSTILE") else {
        return MUTATED;
    };
    let (many, seed) = text.split_once('/').unwrap_or((&text, "1"));
    let (many, seed) = (many.parse(), seed.parse());
    let (Ok(many), Ok(seed)) = (many, seed) else {
        panic!("SKILLBUNDLE_HOSTILE is FRAMES/SEED, found {text}");
    };
    (many, seed)
}

/// Every kind of frame for this era, mixed.
fn all_frames(era: Era, tools: &[Value], many: usize, random: &mut Random) -> Vec<Frame> {
    let mut ids = Ids::default();
    let right = methods::valid(era, &mut ids);
    let mut frames: Vec<Frame> = right.iter().flat_map(lines::padded).collect();
    // The `_meta` of 2026-07-28 is long and always the same, so few are cut.
    let cut = if era == Era::Modern { 4 } else { right.len() };
    frames.extend(right[..cut.min(right.len())].iter().flat_map(mutate::cut));
    frames.extend(lines::odd_ids(era));
    frames.extend(lines::envelopes(&mut ids));
    frames.extend(lines::garbage(random));
    frames.extend(lines::silent());
    frames.extend(methods::invalid(era, &mut ids));
    frames.extend(names::unknown(era, &mut ids));
    frames.extend(names::deep(era, &mut ids));
    if era != Era::Unopened {
        frames.extend(names::calls(era, tools, &mut ids));
        frames.push(lines::initialized());
    }
    if era == Era::Modern {
        frames.extend(names::meta_faults(&mut ids));
        frames.extend(names::listeners(&mut ids));
    }
    let mutated =
        (0..many).map(|_| mutate::mutate(random.pick(&right), random.pick(&right), random));
    let mutated: Vec<Frame> = mutated.collect();
    frames.extend(mutated);
    random.shuffle(&mut frames);
    frames
}

/// The tools as listed, with their schemas.
fn tools(project: &Project) -> Vec<Value> {
    let mut session = project.serve(&["--dir", "skills", "--tools", "all"]);
    session.initialize(LEGACY);
    let tools = session.result("tools/list", json!({}))["tools"].take();
    let tools = tools.as_array().expect("a list of tools").clone();
    assert!(tools.len() >= 6, "{tools:?}");
    tools
}

/// One session, and the replies that it still has to get.
struct Client {
    era: Era,
    session: Session,
    dir: String,
    ids: Ids,
    frames: usize,
    replies: usize,
    at_the_end: Vec<Value>,
    /// Wrong replies, with their frames.
    faults: Vec<String>,
}

impl Client {
    fn start(project: &Project, era: Era, source: &[&str]) -> Self {
        let mut session = project.serve(source);
        match era {
            Era::Unopened => {}
            Era::Legacy => drop(session.initialize(LEGACY)),
            Era::Modern => {
                session.discover();
                session.result("tools/list", json!({}));
            }
        }
        Self {
            era,
            session,
            dir: project.dir().display().to_string(),
            ids: Ids::default(),
            frames: 0,
            replies: 0,
            at_the_end: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Sends a frame and waits for the expected reply.
    fn exchange(&mut self, frame: &Frame, random: &mut Random) {
        self.write(frame, random);
        match &frame.expected {
            Expected::Nothing => {}
            Expected::AtTheEnd(id) => self.at_the_end.push(id.clone()),
            Expected::Unclear => self.pass(Some(frame)),
            Expected::Reply { ids, kind } => {
                let reply = self.reply(frame);
                if !ids.contains(&reply["id"]) || !fits(&reply, *kind) {
                    self.faults
                        .push(format!("{reply}\n  for {}", frame.shown()));
                }
            }
        }
        self.frames += 1;
        if self.frames.is_multiple_of(CHECK_INTERVAL) {
            self.pass(None);
            self.check_works();
        }
    }

    /// Writes a frame in one piece or in several.
    fn write(&mut self, frame: &Frame, random: &mut Random) {
        let mut rest = frame.line.as_slice();
        while random.one_in(3) && rest.len() > 1 {
            let (piece, others) = rest.split_at(1 + random.below(rest.len() - 1));
            self.session.send_raw(piece);
            rest = others;
        }
        self.session.send_raw(&[rest, b"\n"].concat());
    }

    /// Sends a request of its own and checks what comes before its reply: nothing,
    /// or one reply to `frame`.
    fn pass(&mut self, frame: Option<&Frame>) {
        let id = self.ask("ping");
        let asked = Frame::answered(r#"{"method":"ping"}"#, &id, Kind::Any);
        let mut first = self.reply(frame.unwrap_or(&asked));
        if frame.is_some() && first["id"] != json!("mark") {
            first = self.reply(&asked);
        }
        assert_eq!(first["id"], json!("mark"), "one reply too many: {first}");
    }

    /// Checks that the server still works.
    fn check_works(&mut self) {
        let id = self.ask("tools/list");
        let asked = Frame::answered(r#"{"method":"tools/list"}"#, &id, Kind::Any);
        let reply = self.reply(&asked);
        assert_eq!(reply["id"], json!("mark"), "one reply too many: {reply}");
        let works = reply["result"]["tools"].is_array() || self.era == Era::Unopened;
        assert!(works, "the server no longer works: {reply}");
    }

    fn ask(&mut self, method: &str) -> String {
        let id = r#""mark""#;
        let params = match self.era {
            Era::Modern => with_meta(json!({})).to_string(),
            _ => "{}".to_owned(),
        };
        let mut line = request(id, method, Some(&params));
        line.push('\n');
        self.session.send_raw(line.as_bytes());
        id.to_owned()
    }

    /// The next reply, checked for its form.
    fn reply(&mut self, frame: &Frame) -> Value {
        self.session.waits_for = format!("for {}", frame.shown());
        loop {
            let Some(message) = self.session.message() else {
                panic!(
                    "the server ended after {}\n{}",
                    frame.shown(),
                    self.session.stderr_so_far()
                );
            };
            if message.get("method").is_none() {
                self.replies += 1;
                check(&message);
                let error = message["error"]["message"].as_str().unwrap_or_default();
                // The frame itself may be quoted.
                let leaks = error.contains(&self.dir) && !frame.says(&self.dir);
                assert!(!leaks, "a path of this machine in {message}");
                assert!(error.len() < 2000 + frame.line.len(), "{message}");
                return message;
            }
            assert!(
                message.get("id").is_none(),
                "the server sent a request: {message}"
            );
        }
    }

    /// Sends all frames at once; each id gets its replies, in any order.
    fn exchange_all(mut self, frames: &[Frame]) {
        let mut text: Vec<u8> = Vec::new();
        for frame in frames {
            text.extend_from_slice(&frame.line);
            text.push(b'\n');
        }
        let writer = self.session.send_aside(text);
        let mut expected: Vec<(&Frame, &[Value])> = Vec::new();
        for frame in frames {
            if let Expected::Reply { ids, .. } = &frame.expected {
                expected.push((frame, ids));
            }
        }
        while !expected.is_empty() {
            let reply = self.reply(expected[0].0);
            let at = expected
                .iter()
                .position(|(_, ids)| ids.contains(&reply["id"]))
                .unwrap_or_else(|| panic!("a reply with an unexpected id: {reply}"));
            expected.swap_remove(at);
        }
        writer.join().expect("all frames were read");
        self.end(&mut Totals::default());
    }

    /// Closes stdin: the last replies arrive, and the process exits with 0.
    fn end(mut self, totals: &mut Totals) {
        if self.era == Era::Unopened {
            self.session.initialize(LEGACY);
            self.era = Era::Legacy;
        }
        self.pass(None);
        self.check_works();
        self.session.close();
        while let Some(message) = self.session.message() {
            check(&message);
            let expected = self.at_the_end.iter().position(|id| *id == message["id"]);
            let expected = expected.unwrap_or_else(|| panic!("one reply too many: {message}"));
            self.at_the_end.swap_remove(expected);
            self.replies += 1;
        }
        assert!(
            self.at_the_end.is_empty(),
            "unanswered: {:?}",
            self.at_the_end
        );
        let ended = self.session.wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        for secret in ["panicked", CANARY] {
            assert!(!ended.stderr.contains(secret), "{}", ended.stderr);
        }
        let faults = self.faults.join("\n");
        assert!(faults.is_empty(), "wrong replies:\n{faults}");
        totals.sessions += 1;
        totals.frames += self.frames;
        totals.replies += self.replies;
    }
}

fn fits(reply: &Value, kind: Kind) -> bool {
    match kind {
        Kind::Any => true,
        Kind::Result => reply.get("result").is_some() && reply["result"]["isError"] != true,
        Kind::Refusal => reply["result"]["isError"] == true,
        Kind::Error(codes) => reply["error"]["code"]
            .as_i64()
            .is_some_and(|code| codes.contains(&code)),
    }
}

/// Checks the form of a reply, and that it leaks nothing.
fn check(reply: &Value) {
    const MEMBERS: [&str; 4] = ["jsonrpc", "id", "result", "error"];
    let members = reply.as_object().expect("a message is an object");
    let known = members.keys().all(|name| MEMBERS.contains(&name.as_str()));
    assert!(known && members.contains_key("id"), "{reply}");
    let one = members.contains_key("result") != members.contains_key("error");
    assert!(one, "neither or both of result and error: {reply}");
    let Some(error) = members.get("error") else {
        assert!(!members["id"].is_null(), "{reply}");
        assert!(!reply.to_string().contains(CANARY), "{reply}");
        return;
    };
    assert!(error["code"].is_i64(), "{reply}");
    let message = error["message"].as_str().unwrap_or_default();
    assert!(!message.is_empty(), "{reply}");
    for secret in SECRETS {
        assert!(!message.contains(secret), "{secret:?} in {reply}");
    }
}
