//! Many clients call every tool while a writer edits, half-writes, renames, adds and deletes skills
//! and git checks out another branch. Every text carries its version several times, so each reply
//! shows whether it is one state of one file. `SKILLBUNDLE_HAMMER=16/60/1000` is 16 clients, 60
//! seconds and 1,000 skills, and also asks that the last change is announced in time. Half of the
//! clients have a server of their own over pipes, the others share one over HTTP, where there are no
//! notifications.
#![cfg(all(feature = "http", feature = "watch", target_os = "linux"))]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use skillbundle_testkit::HttpClient;

use crate::http::Running;
use crate::project::{LEGACY, PATIENCE, Project, Session, finish, say, text_of};

/// Skills that come and go.
const FLEETING: usize = 5;

/// Older than this no answer may be. A busy machine needs some of it.
const STALEST: Duration = Duration::from_secs(10);

/// The last change must be announced this fast, unless other tests run beside this one.
const ANNOUNCED: Duration = Duration::from_secs(2);

/// After the last change, or before the client looks for notifications: longer than a debounce.
const REST: Duration = Duration::from_secs(2);

/// Between two changes: shorter than a load.
const PAUSE: Duration = Duration::from_millis(20);

const PARAMETERS: &str = "SKILLBUNDLE_HAMMER";
const ANNOUNCEMENT: &str = "last change announced after";

struct Hammer {
    project: Project,
    /// Skills that are there all the time: the writer edits the first half, git the second.
    skills: usize,
    /// For each skill of the writer, when each version was complete; the index is the version.
    complete: Vec<Mutex<Vec<Instant>>>,
    stop: AtomicBool,
    /// All clients have loaded skills; all have stopped; the last change is made.
    gates: [AtomicUsize; 3],
    wrong: Mutex<Vec<String>>,
    calls: AtomicUsize,
    changes: AtomicUsize,
    /// The largest times seen: of a stale answer, of the last change in a call, of its announcement.
    latest: Mutex<BTreeMap<&'static str, Duration>>,
}

enum Client<'a> {
    Pipes(Box<Session>),
    Http(&'a Running, HttpClient),
}

fn parameters() -> (usize, u64, usize) {
    let text = std::env::var(PARAMETERS).unwrap_or_else(|_| "4/3/100".to_owned());
    let numbers: Vec<usize> = text.split('/').filter_map(|it| it.parse().ok()).collect();
    let [clients, seconds, skills] = numbers[..] else {
        panic!("{PARAMETERS} is CLIENTS/SECONDS/SKILLS, found {text}");
    };
    (clients, seconds as u64, skills)
}

/// A skill file with its version in the description and at both ends of its text.
fn text(name: &str, version: usize) -> String {
    let filler = "These lines make the file longer than one write.\n".repeat(20);
    format!(
        "---\nname: {name}\ndescription: Handles topic{name} <{name} v{version}>\n---\n\
         <{name} v{version}>\n\n{filler}\n<{name} v{version}>\n"
    )
}

/// The versions of one skill that a text names.
fn versions(text: &str, name: &str) -> Vec<usize> {
    let tag = format!("<{name} v");
    let found = text.split(&tag).skip(1);
    let number = |rest: &str| rest.split('>').next().and_then(|it| it.parse().ok());
    found
        .map(|rest| number(rest).unwrap_or(usize::MAX))
        .collect()
}

/// The only version in a text that names it this often.
fn one_version(text: &str, name: &str, times: usize) -> Result<usize, String> {
    let versions = versions(text, name);
    match versions[..] {
        [first, ..] if versions.len() >= times && versions.iter().all(|it| *it == first) => {
            Ok(first)
        }
        _ => Err(format!("versions {versions:?} of {name} in {text}")),
    }
}

impl Hammer {
    fn new(skills: usize, clients: usize) -> Self {
        let hammer = Self {
            project: Project::new(),
            skills,
            complete: (0..skills / 2).map(|_| Mutex::default()).collect(),
            stop: AtomicBool::new(false),
            gates: std::array::from_fn(|_| AtomicUsize::new(clients + 1)),
            wrong: Mutex::default(),
            calls: AtomicUsize::new(0),
            changes: AtomicUsize::new(0),
            latest: Mutex::default(),
        };
        for number in 0..skills / 2 {
            hammer.edit(number, |path, text| fs::write(path, text));
        }
        hammer.git(&["init", "--quiet", "--initial-branch=one"]);
        fs::write(hammer.project.path(".gitignore"), "e*/\nt*/\n.cache\n").expect("writable");
        for (version, branch) in [(0, "one"), (1, "two")] {
            if version > 0 {
                hammer.git(&["checkout", "--quiet", "-b", branch]);
            }
            for number in skills / 2..skills {
                let name = format!("g{number}");
                hammer
                    .project
                    .file(&format!("skills/{name}/SKILL.md"), text(&name, version));
            }
            hammer.git(&["add", "."]);
            hammer.git(&["commit", "--quiet", "--message", branch]);
        }
        hammer
    }

    fn git(&self, arguments: &[&str]) {
        let mut command = Command::new("git");
        command
            .current_dir(self.project.dir())
            .env("HOME", self.project.dir())
            .args(["-c", "user.name=suite", "-c", "user.email=suite@localhost"])
            .args(arguments);
        let ended = finish(&mut command);
        assert_eq!(ended.code, Some(0), "git {arguments:?}: {}", ended.stderr);
    }

    fn name(&self, number: usize) -> String {
        let writer = if number < self.skills / 2 { 'e' } else { 'g' };
        format!("{writer}{number}")
    }

    /// Writes the next version of a skill of the writer in some way.
    fn edit(&self, number: usize, write: fn(&Path, &[u8]) -> std::io::Result<()>) {
        let name = self.name(number);
        let version = self.complete[number].lock().expect("no panic").len();
        let path = self.project.path(&format!("skills/{name}/SKILL.md"));
        fs::create_dir_all(path.parent().expect("a directory")).expect("writable");
        write(&path, text(&name, version).as_bytes()).expect("writable");
        let mut complete = self.complete[number].lock().expect("no panic");
        complete.push(Instant::now());
    }

    fn write_until_stopped(&self) {
        let path = |name: &str| self.project.path(&format!("skills/{name}"));
        for round in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            // Walks over all skills without following their order.
            let number = round * 7 % (self.skills / 2);
            let fleeting = format!("t{}", round % FLEETING);
            match round % 8 {
                0 => self.edit(number, |path, text| fs::write(path, text)),
                1 => self.edit(number, write_slowly),
                2 => self.edit(number, replace),
                3 => self.edit(number, replace_in_steps),
                4 => {
                    self.project
                        .file(&format!("skills/{fleeting}/SKILL.md"), text(&fleeting, 0));
                }
                5 if path(&fleeting).is_dir() => {
                    fs::remove_dir_all(path(&fleeting)).expect("it is there");
                }
                6 => {
                    let (here, there) = (self.name(number), format!("{}-moved", self.name(number)));
                    fs::rename(path(&here), path(&there)).expect("it is there");
                    sleep(Duration::from_millis(10));
                    fs::rename(path(&there), path(&here)).expect("it is there");
                }
                7 if round % 64 == 7 => {
                    let branch = ["one", "two"][round / 64 % 2];
                    self.git(&["checkout", "--quiet", branch]);
                }
                _ => {}
            }
            self.changes.fetch_add(1, Ordering::Relaxed);
            sleep(PAUSE);
        }
    }

    fn hammer(&self, mut client: Client<'_>, at: usize) {
        let mut seen = vec![0; self.skills];
        client.call("list_skills", &json!({}));
        self.wait_for_all(0);
        for round in at.. {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let number = round * 31 % self.skills;
            if let Err(wrong) = self.call(&mut client, round, number, &mut seen) {
                self.wrong.lock().expect("no panic").push(wrong);
            }
            self.calls.fetch_add(1, Ordering::Relaxed);
        }
        sleep(REST);
        client.call("list_skills", &json!({}));
        client.forget_notifications();
        self.wait_for_all(1);
        self.wait_for_all(2);
        self.await_last_change(client);
    }

    /// Calls one tool and checks what it says.
    fn call(
        &self,
        client: &mut Client<'_>,
        round: usize,
        number: usize,
        seen: &mut [usize],
    ) -> Result<(), String> {
        let name = self.name(number);
        let began = Instant::now();
        let checked = |result: &Value| {
            if result["isError"] == true {
                return Err(format!("an error for {name}: {result}"));
            }
            Ok(text_of(result))
        };
        match round % 8 {
            0..3 => {
                let text = checked(&client.call("skill", &json!({ "name": name })))?;
                let version = one_version(&text, &name, 3)?;
                self.check_age(number, version, began, &mut seen[number])
            }
            3 => {
                let query = json!({ "query": format!("topic{name}") });
                let text = checked(&client.call("skills_search", &query))?;
                one_version(&text, &name, 1).map(drop)
            }
            4 => {
                let context = json!({ "context": format!("work on topic{name}") });
                let result = client.call("get_skill", &context);
                let text = checked(&result)?;
                match versions(&text, &name)[..] {
                    // Candidates are listed by description only.
                    [] => Ok(()),
                    _ => one_version(&text, &name, 1).map(drop),
                }
            }
            5 if round % 64 == 5 => {
                let result = client.call("skills_list", &json!({ "includeBody": true }));
                checked(&result)?;
                let skills = result["structuredContent"]["skills"].as_array();
                let skills = skills.ok_or_else(|| format!("no skills: {result}"))?;
                let listed: BTreeMap<&str, &Value> = skills
                    .iter()
                    .filter_map(|skill| Some((skill["meta"]["name"].as_str()?, skill)))
                    .collect();
                for name in (0..self.skills).map(|number| self.name(number)) {
                    let skill = listed.get(&*name).ok_or(format!("{name} is not listed"))?;
                    one_version(&skill.to_string(), &name, 3)?;
                }
                Ok(())
            }
            6 => {
                let asset = json!({ "skill_path": name, "file": "SKILL.md" });
                // A skill is no file of its own: that is an error, but an answer.
                client.call("get_asset", &asset);
                checked(&client.call("list_skills", &json!({}))).map(drop)
            }
            7 if round % 64 == 7 => {
                client.call("refresh_skills", &json!({}));
                Ok(())
            }
            _ => {
                // One that comes and goes is there or not.
                let name = format!("t{}", number % FLEETING);
                let result = client.call("skill", &json!({ "name": name }));
                if result["isError"] == true {
                    return Ok(());
                }
                one_version(&text_of(&result), &name, 3).map(drop)
            }
        }
    }

    /// A version may not be older than what the client saw before, nor much older than the file.
    fn check_age(
        &self,
        number: usize,
        version: usize,
        began: Instant,
        seen: &mut usize,
    ) -> Result<(), String> {
        let Some(complete) = self.complete.get(number) else {
            let known = version <= 1;
            return known.then_some(()).ok_or(format!("g{number} v{version}"));
        };
        if version < *seen {
            return Err(format!("e{number} went back from {seen} to {version}"));
        }
        *seen = version;
        let complete = complete.lock().expect("no panic");
        // The next version may have been complete before the call.
        let stale = complete
            .get(version + 1)
            .map(|at| began.saturating_duration_since(*at));
        self.record("oldest answer", stale.unwrap_or_default());
        Ok(())
    }

    /// Waits until all clients and the writer are here. Not a barrier of the standard library: that
    /// would hang if one of them has failed.
    fn wait_for_all(&self, gate: usize) {
        self.gates[gate].fetch_sub(1, Ordering::AcqRel);
        let began = Instant::now();
        while self.gates[gate].load(Ordering::Acquire) > 0 {
            assert!(began.elapsed() < PATIENCE, "another thread has failed");
            sleep(Duration::from_millis(1));
        }
    }

    fn record(&self, what: &'static str, time: Duration) {
        let mut latest = self.latest.lock().expect("no panic");
        let longest = latest.entry(what).or_default();
        *longest = time.max(*longest);
    }

    fn await_last_change(&self, mut client: Client<'_>) {
        let began = Instant::now();
        let version = self.complete[0].lock().expect("no panic").len() - 1;
        loop {
            let edited = client.call("skill", &json!({ "name": "e0" }));
            let added = client.call("skill", &json!({ "name": "last" }));
            if added["isError"] != true && one_version(&text_of(&edited), "e0", 3) == Ok(version) {
                break;
            }
            assert!(began.elapsed() < PATIENCE, "{edited} {added}");
            sleep(Duration::from_millis(5));
        }
        self.record("last change served after", began.elapsed());
        if let Client::Pipes(session) = &mut client {
            while !session
                .notifications
                .iter()
                .any(|it| it["method"] == "notifications/tools/list_changed")
            {
                assert!(began.elapsed() < PATIENCE, "{:?}", session.notifications);
                session.result("ping", Value::Null);
                sleep(Duration::from_millis(5));
            }
            self.record(ANNOUNCEMENT, began.elapsed());
        }
    }
}

impl<'a> Client<'a> {
    fn pipes(hammer: &Hammer) -> Self {
        let mut session = hammer.project.serve(&["--dir", "skills"]);
        session.initialize(LEGACY);
        Self::Pipes(Box::new(session))
    }

    fn http(server: &'a Running) -> Self {
        Self::Http(server, server.connect())
    }

    /// The result of a tool.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let (server, http) = match self {
            Self::Pipes(session) => return session.tool(tool, arguments),
            Self::Http(server, http) => (server, http),
        };
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments }
        });
        let headers = ["Accept: application/json"];
        http.send("POST /mcp", &headers, call.to_string());
        // The server may have closed an idle connection.
        let response = http.response().unwrap_or_else(|| {
            *http = server.connect();
            http.ask("POST /mcp", &headers, &call.to_string())
        });
        let mut reply: Value = serde_json::from_str(&response.body)
            .unwrap_or_else(|error| panic!("{error}: {response:?}"));
        assert!(reply["result"].is_object(), "{tool} {arguments}: {reply}");
        reply["result"].take()
    }

    fn forget_notifications(&mut self) {
        if let Self::Pipes(session) = self {
            session.notifications.clear();
        }
    }
}

/// Half of it, a pause, the rest.
fn write_slowly(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let (first, rest) = text.split_at(text.len() / 2);
    let mut file = fs::File::create(path)?;
    file.write_all(first)?;
    sleep(Duration::from_millis(20));
    file.write_all(rest)
}

fn replace(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let complete = path.with_extension("new");
    fs::write(&complete, text)?;
    fs::rename(complete, path)
}

/// As editors do that keep a backup.
fn replace_in_steps(path: &Path, text: &[u8]) -> std::io::Result<()> {
    fs::rename(path, path.with_extension("md~"))?;
    sleep(Duration::from_millis(2));
    fs::write(path, text)
}

#[test]
fn every_reply_under_constant_change_is_one_state_of_the_files() {
    let (clients, seconds, skills) = parameters();
    let hammer = Hammer::new(skills, clients);
    let mut command = hammer.project.command();
    command.args(["serve", "--dir", "skills", "--http", "127.0.0.1:0"]);
    let server = Running::start(command);
    thread::scope(|scope| {
        for at in 0..clients {
            let (hammer, server) = (&hammer, &server);
            scope.spawn(move || {
                let client = match at % 2 {
                    0 => Client::pipes(hammer),
                    _ => Client::http(server),
                };
                hammer.hammer(client, at);
            });
        }
        hammer.wait_for_all(0);
        let writer = scope.spawn(|| hammer.write_until_stopped());
        sleep(Duration::from_secs(seconds));
        hammer.stop.store(true, Ordering::Relaxed);
        writer.join().expect("the writer does not panic");
        hammer.wait_for_all(1);
        hammer.edit(0, replace);
        hammer.project.file("skills/last/SKILL.md", text("last", 0));
        hammer.wait_for_all(2);
    });
    let latest = hammer.latest.lock().expect("no panic");
    let wrong = hammer.wrong.lock().expect("no panic");
    say(&format!(
        "{clients} clients, {} calls, {} changes, {} wrong answers, {latest:?}",
        hammer.calls.load(Ordering::Relaxed),
        hammer.changes.load(Ordering::Relaxed),
        wrong.len(),
    ));
    let first: Vec<_> = wrong.iter().take(5).collect();
    assert!(
        wrong.is_empty(),
        "{} wrong, such as {first:#?}",
        wrong.len()
    );
    assert!(latest.values().all(|time| *time < STALEST), "{latest:?}");
    let is_alone = std::env::var_os(PARAMETERS).is_some();
    assert!(!is_alone || latest[ANNOUNCEMENT] < ANNOUNCED, "{latest:?}");
}
