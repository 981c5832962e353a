//! A client that means ill, over the pipes of the shipped binary: thousands of
//! broken, odd and wrong frames. The process lives on and ends well, each id
//! that can be read is answered once, and every line of stdout is JSON-RPC.
//!
//! `SKILLBUNDLE_HOSTILE=20000/7` throws 20,000 frames bent by the seed 7 beside
//! the written ones; a failure names the frame and the seed that it came from.
//! Frames are written in `hostile/lines.rs`, `hostile/methods.rs` and `hostile/names.rs`,
//! bent in `hostile/bent.rs`; what each is owed stands beside it. Floods, signals and
//! closed ends are in `hostile/ends.rs`; the same at a port in `hostile/http.rs`.

mod bent;
mod dice;
mod ends;
mod frames;
mod heads;
mod http;
mod lines;
mod methods;
mod names;

use serde_json::{Value, json};

use crate::paths::{CANARY, house, spellings};
use crate::project::{LEGACY, Project, Session, say, with_meta};
use dice::Dice;
use frames::{Era, Frame, Ids, Kind, Owed, request};

/// Frames that are bent at random, unless the environment says otherwise, and their seed.
const BENT: (usize, u64) = (1500, 20_260_728);

/// Frames of one session. Answers without an id are only given so often a
/// second, and one session must stay below that.
const A_SESSION: usize = 400;

/// Frames between two looks at whether the server still works.
const LOOK: usize = 100;

/// Where the skills lie, which decides how requests are scheduled: those for a folder become tasks,
/// those for a bundle are answered at once.
const SOURCES: [&[&str]; 2] = [&["--dir", "skills"], &["--bundle", "house.skb"]];

/// Longest line that is read.
const LONGEST: usize = 4 * 1024 * 1024;

/// What a message to a client never holds: places of this machine, and what a
/// programmer would be told.
const SECRETS: [&str; 6] = ["panicked", "backtrace", ".rs:", "/rustc/", "/home/", CANARY];

/// What was thrown, and what came back.
#[derive(Default)]
struct Count {
    sessions: usize,
    frames: usize,
    replies: usize,
}

#[test]
fn every_hostile_frame_gets_what_it_is_owed() {
    let (many, seed) = asked();
    let project = house();
    let tools = tools(&project);
    let mut count = Count::default();
    for era in [Era::Unopened, Era::Legacy, Era::Modern] {
        let mut dice = Dice::new(seed ^ era as u64);
        let frames = throw(era, &tools, many / 3, &mut dice);
        for (frames, source) in frames.chunks(A_SESSION).zip(SOURCES.iter().cycle()) {
            let mut client = Client::start(&project, era, source);
            for frame in frames {
                client.settle(frame, &mut dice);
            }
            client.end(&mut count);
        }
    }
    let Count {
        sessions,
        frames,
        replies,
    } = count;
    assert!(frames >= 1500, "{frames}");
    say(&format!(
        "hostile frames over pipes: {frames} frames in {sessions} sessions (seed {seed}), \
         {replies} replies, 0 unanswered, 0 deaths"
    ));
}

/// The same frames without waiting for answers between them.
#[test]
fn a_burst_of_hostile_frames_is_answered_under_the_right_ids() {
    let (_, seed) = asked();
    let project = house();
    let tools = tools(&project);
    for era in [Era::Legacy, Era::Modern] {
        let mut dice = Dice::new(seed.wrapping_add(era as u64));
        let mut frames = throw(era, &tools, 300, &mut dice);
        frames.retain(|frame| matches!(frame.owed, Owed::Nothing | Owed::Reply { .. }));
        for (frames, source) in frames.chunks(A_SESSION).take(4).zip(SOURCES.iter().cycle()) {
            Client::start(&project, era, source).settle_all(frames);
        }
    }
}

#[test]
fn lines_of_about_the_longest_length_are_told_apart() {
    let project = house();
    let mut client = Client::start(&project, Era::Legacy, SOURCES[1]);
    let mut dice = Dice::new(1);
    for frame in lines::sizes(LONGEST, &mut client.ids) {
        client.settle(&frame, &mut dice);
    }
    client.end(&mut Count::default());
}

/// The methods of the extension and of resources know no place outside.
#[test]
fn no_uri_reaches_a_file_outside() {
    let project = house();
    let spellings = spellings(&project);
    for source in SOURCES {
        for era in [Era::Legacy, Era::Modern] {
            let mut client = Client::start(&project, era, source);
            let mut dice = Dice::new(2);
            for frame in names::places(era, &spellings, &mut client.ids) {
                client.settle(&frame, &mut dice);
            }
            client.end(&mut Count::default());
        }
    }
}

/// A cursor says how many items it skips; one that skips more than there are,
/// or begins anywhere, gets a page or a refusal, and never a fault.
#[test]
fn forged_cursors_get_a_page_or_a_refusal() {
    let project = Project::new();
    for number in 0..201 {
        let name = format!("skill-{number:03}");
        project.skill(&format!("skills/{name}"), &name, "One of many");
    }
    project.bundle_file(&["skills"], "house.skb");
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
        // The first five letters hold the number.
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

/// How many frames to bend, and from which seed.
fn asked() -> (usize, u64) {
    let Ok(text) = std::env::var("SKILLBUNDLE_HOSTILE") else {
        return BENT;
    };
    let (many, seed) = text.split_once('/').unwrap_or((&text, "1"));
    let (many, seed) = (many.parse(), seed.parse());
    let (Ok(many), Ok(seed)) = (many, seed) else {
        panic!("SKILLBUNDLE_HOSTILE is FRAMES/SEED, found {text}");
    };
    (many, seed)
}

/// Every kind of frame for this era, mixed.
fn throw(era: Era, tools: &[Value], many: usize, dice: &mut Dice) -> Vec<Frame> {
    let mut ids = Ids::default();
    let right = methods::right(era, &mut ids);
    let mut frames: Vec<Frame> = right.iter().flat_map(lines::dressed).collect();
    // The `_meta` of 2026-07-28 is long, and the same in all of them.
    let cut = if era == Era::Modern { 4 } else { right.len() };
    frames.extend(right[..cut.min(right.len())].iter().flat_map(bent::cut));
    frames.extend(lines::odd_ids(era));
    frames.extend(lines::heads(&mut ids));
    frames.extend(lines::garbage(dice));
    frames.extend(lines::silent());
    frames.extend(methods::wrong(era, &mut ids));
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
    let bent = (0..many).map(|_| bent::bend(dice.pick(&right), dice.pick(&right), dice));
    let bent: Vec<Frame> = bent.collect();
    frames.extend(bent);
    dice.shuffle(&mut frames);
    frames
}

/// The tools with their schemas.
fn tools(project: &Project) -> Vec<Value> {
    let mut session = project.serve(&["--dir", "skills"]);
    session.initialize(LEGACY);
    let tools = session.result("tools/list", json!({}))["tools"].take();
    let tools = tools.as_array().expect("a list of tools").clone();
    assert!(tools.len() >= 6, "{tools:?}");
    tools
}

/// One session, and what is still owed in it.
struct Client {
    era: Era,
    session: Session,
    dir: String,
    ids: Ids,
    frames: usize,
    replies: usize,
    at_the_end: Vec<Value>,
    /// Replies that are not what was owed, with their frames.
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

    /// Throws a frame and waits for what it is owed.
    fn settle(&mut self, frame: &Frame, dice: &mut Dice) {
        self.write(frame, dice);
        match &frame.owed {
            Owed::Nothing => {}
            Owed::AtTheEnd(id) => self.at_the_end.push(id.clone()),
            Owed::Unclear => self.pass(Some(frame)),
            Owed::Reply { ids, kind } => {
                let reply = self.reply(frame);
                if !ids.contains(&reply["id"]) || !fits(&reply, *kind) {
                    self.faults
                        .push(format!("{reply}\n  for {}", frame.shown()));
                }
            }
        }
        self.frames += 1;
        if self.frames.is_multiple_of(LOOK) {
            self.pass(None);
            self.look();
        }
    }

    /// Writes a frame in one piece or several.
    fn write(&mut self, frame: &Frame, dice: &mut Dice) {
        let mut rest = frame.line.as_slice();
        while dice.one_in(3) && rest.len() > 1 {
            let (piece, others) = rest.split_at(1 + dice.below(rest.len() - 1));
            self.session.send_raw(piece);
            rest = others;
        }
        self.session.send_raw(&[rest, b"\n"].concat());
    }

    /// Asks something of its own and takes what comes before its answer: nothing,
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

    /// Whether the server still does its work.
    fn look(&mut self) {
        let id = self.ask("tools/list");
        let asked = Frame::answered(r#"{"method":"tools/list"}"#, &id, Kind::Any);
        let reply = self.reply(&asked);
        assert_eq!(reply["id"], json!("mark"), "one reply too many: {reply}");
        let works = reply["result"]["tools"].is_array() || self.era == Era::Unopened;
        assert!(works, "it does not work any more: {reply}");
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

    /// The next reply, which has the right form.
    fn reply(&mut self, frame: &Frame) -> Value {
        self.session.waits_for = format!("for {}", frame.shown());
        loop {
            let Some(message) = self.session.message() else {
                panic!(
                    "it died after {}\n{}",
                    frame.shown(),
                    self.session.stderr_so_far()
                );
            };
            if message.get("method").is_none() {
                self.replies += 1;
                check(&message);
                let error = message["error"]["message"].as_str().unwrap_or_default();
                // What the frame said itself may be said back.
                let tells = error.contains(&self.dir) && !frame.says(&self.dir);
                assert!(!tells, "a place of this machine in {message}");
                assert!(error.len() < 2000 + frame.line.len(), "{message}");
                return message;
            }
            assert!(message.get("id").is_none(), "it asks: {message}");
        }
    }

    /// Throws all frames at once; then each id has its answers, whatever the order.
    fn settle_all(mut self, frames: &[Frame]) {
        let mut text: Vec<u8> = Vec::new();
        for frame in frames {
            text.extend_from_slice(&frame.line);
            text.push(b'\n');
        }
        let writer = self.session.send_aside(text);
        let mut owed: Vec<(&Frame, &[Value])> = Vec::new();
        for frame in frames {
            if let Owed::Reply { ids, .. } = &frame.owed {
                owed.push((frame, ids));
            }
        }
        while !owed.is_empty() {
            let reply = self.reply(owed[0].0);
            let at = owed
                .iter()
                .position(|(_, ids)| ids.contains(&reply["id"]))
                .unwrap_or_else(|| panic!("nobody waits for {reply}"));
            owed.swap_remove(at);
        }
        writer.join().expect("all frames were taken");
        self.end(&mut Count::default());
    }

    /// Closes stdin: what was to be answered last is, and the process ends well.
    fn end(mut self, count: &mut Count) {
        if self.era == Era::Unopened {
            self.session.initialize(LEGACY);
            self.era = Era::Legacy;
        }
        self.pass(None);
        self.look();
        self.session.close();
        while let Some(message) = self.session.message() {
            check(&message);
            let owed = self.at_the_end.iter().position(|id| *id == message["id"]);
            let owed = owed.unwrap_or_else(|| panic!("one reply too many: {message}"));
            self.at_the_end.swap_remove(owed);
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
        count.sessions += 1;
        count.frames += self.frames;
        count.replies += self.replies;
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

/// A reply has the form of one, and tells nothing that is not the client's business.
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
