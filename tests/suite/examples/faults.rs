//! The library in `examples/tasks` when the disk fails, when many use it at once, and in isolation.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{
    Ended, begin, command, end, example, handler, invoke, library, python, run_python, skills,
    with_user,
};
use crate::project::{Project, copy_tree, test_with};
use crate::scripts::levels;

#[test_with(python3)]
fn faults_of_the_disk_are_persistence_errors() {
    let project = Project::new();
    project
        .file(
            "damaged/tasks.db",
            "no database, but a text of some length\n".repeat(50),
        )
        .file("directory/tasks.db/file", "")
        .file("file", "");
    for name in ["newer", "pipe"] {
        fs::create_dir(project.path(name)).expect("made");
    }
    let newer = project.path("newer/tasks.db");
    run_python(
        "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('pragma user_version = 99')",
        &[newer.to_str().expect("UTF-8")],
    );
    let pipe = Command::new("mkfifo")
        .arg(project.path("pipe/tasks.db"))
        .status();
    assert!(pipe.expect("it runs").success());
    for skill in skills() {
        let input = example(skill).to_string();
        let none = end(begin(command(skill, None), input.as_bytes()));
        let failure = none.failure("PERSISTENCE_ERROR");
        let reason = failure["details"]["reason"].as_str().expect("a reason");
        assert!(reason.contains("--script-data DIR"), "{reason}");
        for (place, expected) in [
            ("missing", "the data directory cannot be used"),
            ("file", "the data directory cannot be used"),
            ("damaged", "the database is damaged"),
            ("directory", "the database is not a file"),
            ("pipe", "the database is not a file"),
            (
                "newer",
                "another version of this library has made the database",
            ),
        ] {
            if place != "damaged" && skill != "task_retrieval" {
                // They all open it by the same function.
                continue;
            }
            let command = command(skill, Some(&project.path(place)));
            let ended = end(begin(command, input.as_bytes()));
            let failure = ended.failure("PERSISTENCE_ERROR");
            assert_eq!(
                failure["details"]["reason"], expected,
                "{skill}, {place}: {ended:?}"
            );
            let said = format!("{ended:?}");
            assert!(
                !said.contains(project.dir().to_str().expect("UTF-8")),
                "{said}"
            );
        }
    }
}

#[test_with(python3)]
fn a_busy_and_a_full_database_are_persistence_errors() {
    let (_project, data, user) = with_user();
    let input = json!({ "title": "x", "user_id": user });
    let database = data.join("tasks.db");
    // It keeps others from writing until its input ends.
    let script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute('begin immediate'); print('held', flush=True); sys.stdin.read()";
    let mut holder = Command::new(python())
        .args(["-c", script])
        .arg(&database)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut held = std::io::BufReader::new(holder.stdout.take().expect("a pipe"));
    std::io::BufRead::read_line(&mut held, &mut String::new()).expect("it says so");
    let busy = invoke("task_creation", &data, &input);
    let failure = busy.failure("PERSISTENCE_ERROR");
    assert_eq!(failure["details"]["reason"], "the database is busy");
    // Readers do not wait.
    let listed = invoke("task_retrieval", &data, &json!({ "user_id": user }));
    assert_eq!(listed.output()["total_count"], 0);
    drop(holder.stdin.take());
    holder.wait().expect("it ends");
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -f 0; exec \"$0\" \"$@\""])
        .arg(python())
        .arg(handler())
        .env("SKILL_NAME", "task_creation")
        .env("SKILL_DATA", &data);
    let full = end(begin(limited, input.to_string().as_bytes()));
    full.failure("PERSISTENCE_ERROR");
    // Neither has left anything.
    invoke("task_creation", &data, &input).output();
    let listed = invoke("task_retrieval", &data, &json!({ "user_id": user }));
    assert_eq!(listed.output()["total_count"], 1);
}

#[test_with(python3)]
fn sixteen_at_once_on_a_new_data_directory() {
    const MANY: usize = 16;
    let project = Project::new();
    let all_at_once = |skill: &str, input: &dyn Fn(usize) -> Value| -> Vec<Ended> {
        let begin = |it| {
            begin(
                command(skill, Some(project.dir())),
                input(it).to_string().as_bytes(),
            )
        };
        let started: Vec<Child> = (0..MANY).map(begin).collect();
        started.into_iter().map(end).collect()
    };
    let user = |email: String| json!({ "email": email, "password": "correct horse" });
    let users = all_at_once("user_creation", &|it| user(format!("user{it}@example.org")));
    let ids: BTreeSet<String> = users
        .iter()
        .map(|it| it.output()["user_id"].to_string())
        .collect();
    assert_eq!(ids.len(), MANY);
    // One gets the address, and the key of the tokens is made once.
    let same = all_at_once("user_creation", &|_| user("same@example.org".to_owned()));
    let (made, refused): (Vec<_>, Vec<_>) = same.iter().partition(|it| it.code == Some(0));
    assert_eq!(made.len(), 1);
    for ended in refused {
        ended.failure("VALIDATION_ERROR");
    }
    let id = |it: usize| users[it].output()["user_id"].clone();
    let tokens = all_at_once(
        "token_generation",
        &|it| json!({ "user_id": id(it), "email": format!("user{it}@example.org") }),
    );
    let checked = all_at_once(
        "token_validation",
        &|it| json!({ "token": tokens[it].output()["access_token"] }),
    );
    for (it, ended) in checked.iter().enumerate() {
        assert_eq!(ended.output()["valid"], true, "{ended:?}");
        assert_eq!(ended.output()["user_id"], id(it));
    }
    let tasks = all_at_once(
        "task_creation",
        &|it| json!({ "title": format!("Task {it}"), "user_id": id(0) }),
    );
    assert!(tasks.iter().all(|it| it.code == Some(0)), "{tasks:?}");
    let listed = invoke(
        "task_retrieval",
        project.dir(),
        &json!({ "user_id": id(0) }),
    );
    assert_eq!(listed.output()["total_count"], MANY);
}

/// Without the time that an interpreter takes to start, so that they meet in every line.
#[test_with(python3)]
fn the_first_start_of_many_makes_one_database_and_one_key() {
    let script = "
import hashlib, os, sys, tempfile
from library import store, tokens
MANY, ROUNDS = 16, 30
for _ in range(ROUNDS):
    with tempfile.TemporaryDirectory() as directory:
        (go, going), (said, saying) = os.pipe(), os.pipe()
        children = []
        for _ in range(MANY):
            child = os.fork()
            if child == 0:
                os.close(going)
                os.read(go, 1)
                code = 1
                try:
                    with store.opened(directory) as database:
                        mode = database.row('pragma journal_mode')[0]
                        tables = len(database.rows('select * from sqlite_master'))
                        key = hashlib.sha256(tokens.read_key(directory)).hexdigest()
                    os.write(saying, f'{mode} {tables} {key}\\n'.encode())
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        os.close(going)
        ended = [os.waitpid(child, 0)[1] for child in children]
        os.close(saying)
        lines = os.fdopen(said).read().split('\\n')[:-1]
        os.close(go)
        assert ended == [0] * MANY, ended
        assert len(lines) == MANY and len(set(lines)) == 1, set(lines)
        assert lines[0].startswith('wal '), lines[0]
        # SQLite leaves its log if two close the database at the same time.
        left = {name for name in os.listdir(directory) if not name.startswith('tasks.db-')}
        assert left == {'tasks.db', 'token-key'}, left
print('one')";
    assert_eq!(run_python(script, &[]), "one\n");
}

/// As a server runs it: isolated, with the data directory as the only place to write to.
#[test_with(python3)]
fn it_works_at_every_level_of_isolation() {
    let project = Project::new();
    copy_tree(&library(), &project.path("content"));
    let root = fs::read_to_string(project.path("content/_root.md")).expect("a page");
    let root = root.replace(
        "scripts:\n",
        "scripts:\n  - file: go.sh\n    execution: server\n",
    );
    let go =
        "printf '{\"email\": \"%s@example.org\", \"password\": \"correct horse\"}' $SKILL_ARG_WHO |
        SKILL_NAME=user_creation exec python3 $SKILL_DIR/handler.py\n";
    project
        .file("content/_root.md", root)
        .file("content/_root/go.sh", go);
    for level in levels() {
        let set = format!("scripts.isolation={level}");
        let who = format!("who={level}");
        let line = [
            "run",
            "task_creation",
            "go.sh",
            &who,
            "content",
            "--script-data",
            "data",
        ];
        let line = [&line[..], &["--set", &set]].concat();
        let made = project.run(&line);
        assert_eq!(made.code, Some(0), "{level}: {made:?}");
        let output: Value = serde_json::from_str(&made.stdout).expect("JSON");
        assert_eq!(output["email"], format!("{level}@example.org"));
        let again = project.run(&line);
        assert!(
            again.stdout.contains("another user has this address"),
            "{level}: {again:?}"
        );
    }
}
