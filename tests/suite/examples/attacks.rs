//! What must not be kept, believed or run by the library in `examples/tasks`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use super::{begin, command, end, invoke, run_python, with_user};
use crate::project::test_with;

#[test_with(python3)]
fn a_password_is_kept_as_a_hash_and_repeated_nowhere() {
    const SECRET: &str = "Tr0ub4dor-and-3-horses";
    let (_project, data, _) = with_user();
    let good = json!({ "email": "bob@example.org", "password": SECRET });
    let made = invoke("user_creation", &data, &good);
    made.output();
    let taken = invoke("user_creation", &data, &good);
    let wrong = json!({ "email": SECRET, "password": SECRET, "display_name": SECRET });
    let wrong = invoke("user_creation", &data, &wrong);
    let odd =
        json!({ "email": "c@example.org", "password": [SECRET], "display_name": { "x": SECRET } });
    let odd = invoke("user_creation", &data, &odd);
    let broken = format!("{{\"password\": \"{SECRET}\"");
    let broken = end(begin(
        command("user_creation", Some(&data)),
        broken.as_bytes(),
    ));
    for ended in [taken, wrong, odd, broken] {
        ended.failure("VALIDATION_ERROR");
        assert!(!format!("{ended:?}").contains(SECRET), "{ended:?}");
    }
    assert!(!format!("{made:?}").contains(SECRET));
    for entry in fs::read_dir(&data).expect("it is there") {
        let path = entry.expect("an entry").path();
        let file = path.display();
        let bytes = fs::read(&path).expect("readable");
        let holds = |text: &str| bytes.windows(text.len()).any(|it| it == text.as_bytes());
        assert!(!holds(SECRET), "{file}");
        let permissions = fs::metadata(&path).expect("there").permissions();
        assert_eq!(permissions.mode() & 0o077, 0, "{file}");
    }
    // The hash is one of this password, by what stands beside it.
    let script = "
import base64, hashlib, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute('select password from users order by email').fetchall()
kind, n, r, p, salt, kept = rows[1][0].split('$')
salt, kept = base64.b64decode(salt), base64.b64decode(kept)
again = hashlib.scrypt(sys.argv[2].encode(), salt=salt, n=int(n), r=int(r), p=int(p), maxmem=2**26, dklen=32)
print(kind, again == kept, len(salt), rows[0][0] != rows[1][0])";
    let database = data.join("tasks.db");
    let found = run_python(script, &[database.to_str().expect("UTF-8"), SECRET]);
    assert_eq!(found, "scrypt True 16 True\n");
}

/// A token of the user in a data directory, with what an attacker would change.
fn forge(data: &Path, user: &str, script: &str) -> Vec<String> {
    let begin = "
import base64, hashlib, hmac, json, os, sys
from library import tokens
data, user = sys.argv[1:]
key = tokens.read_key(data)
NOW = 4000000000
def issue(key=key, user=user, email='ada@example.org', scopes=['a'], issued=0, expires=NOW):
    return tokens.issue(key, user, email, scopes, issued, expires)
def b64(data): return base64.urlsafe_b64encode(data).decode().rstrip('=')
def signed(text, key=key): return text + '.' + b64(hmac.new(key, text.encode(), hashlib.sha256).digest())
good = issue()
header, claims, signature = good.split('.')
";
    let script = format!("{begin}{script}");
    let printed = run_python(&script, &[data.to_str().expect("UTF-8"), user]);
    printed.lines().map(str::to_owned).collect()
}

#[test_with(python3)]
fn a_token_that_is_changed_in_any_byte_is_not_valid() {
    let (_project, data, user) = with_user();
    let script = "
assert tokens.read(key, good, NOW - 1)['sub'] == user
tried = 0
for at, letter in enumerate(good):
    # Neighbours share the bits that decoding drops at the end.
    others = set('AZaz09-_.=+/ \\n\\x00é') | {chr(ord(letter) ^ bit) for bit in (1, 2, 4, 8, 16, 32, 64)}
    changed = [good[:at] + it + good[at + 1:] for it in others - {letter}]
    changed += [good[:at] + good[at + 1:], good[:at] + letter + good[at:], good[:at]]
    for it in changed:
        if it != good:
            assert tokens.read(key, it, 0) is None, (at, it)
            tried += 1
print(tried > 20 * len(good))";
    assert_eq!(forge(&data, &user, script), ["True"]);
}

#[test_with(python3)]
fn tokens_that_nobody_has_issued_are_not_valid() {
    let (_project, data, user) = with_user();
    let script = "
none = b64(json.dumps({'alg': 'none', 'typ': 'JWT'}).encode())
print('good', good)
print('expired', issue(expires=1))
print('with_another_key', issue(key=os.urandom(32)))
print('with_no_key', issue(key=b''))
print('without_a_signature', header + '.' + claims + '.')
print('two_parts', header + '.' + claims)
print('no_algorithm', none + '.' + claims + '.')
print('no_algorithm_but_signed', signed(none + '.' + claims))
print('of_another_user', issue(user='00000000-0000-4000-8000-000000000000'))
print('of_another_address', issue(email='eve@example.org'))
print('padded', good + '=')
print('dots', '...')";
    let tokens = forge(&data, &user, script);
    assert_eq!(tokens.len(), 12);
    for line in tokens {
        let (name, token) = line.split_once(' ').expect("a name");
        let ended = invoke("token_validation", &data, &json!({ "token": token }));
        let expected = if name == "good" {
            assert_eq!(ended.output()["valid"], true, "{name}: {ended:?}");
            continue;
        } else {
            json!({ "valid": false, "user_id": null, "email": null, "scopes": [], "expires_at": null })
        };
        assert_eq!(*ended.output(), expected, "{name}");
        assert_eq!(ended.stderr, "", "{name}");
    }
}

/// It is valid until the second before it expires.
#[test_with(python3)]
fn a_token_expires_when_it_says() {
    let (_project, data, user) = with_user();
    let script = "
for at in (NOW - 1, NOW - 0.001, NOW, NOW + 0.001, NOW * 2):
    print(tokens.read(key, good, at) is not None)";
    let valid = forge(&data, &user, script);
    assert_eq!(valid, ["True", "True", "False", "False", "False"]);
}

#[test_with(python3)]
fn a_key_that_is_damaged_or_a_link_is_not_used() {
    let (_project, data, user) = with_user();
    let input = json!({ "user_id": user, "email": "ada@example.org" });
    let key = data.join("token-key");
    for content in ["", "short", "a key that is longer than thirty-two bytes"] {
        fs::write(&key, content).expect("written");
        let ended = invoke("token_generation", &data, &input);
        let failure = ended.failure("PERSISTENCE_ERROR");
        let reason = "the key of the tokens is damaged";
        assert_eq!(failure["details"]["reason"], reason);
    }
    fs::remove_file(&key).expect("removed");
    let elsewhere = data.join("elsewhere");
    fs::write(&elsewhere, "x".repeat(32)).expect("written");
    std::os::unix::fs::symlink(&elsewhere, &key).expect("linked");
    invoke("token_generation", &data, &input).failure("PERSISTENCE_ERROR");
    fs::remove_file(&key).expect("removed");
    invoke("token_generation", &data, &input).output();
    let mode = fs::metadata(&key).expect("made").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Inputs that no schema accepts, or that JSON allows and few expect: none ends in a trace.
#[test_with(python3)]
fn odd_inputs_are_validation_errors() {
    let (_project, data, user) = with_user();
    let fill = |text: &str| text.replace("USER", &user);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let inputs = [
        ("task_creation", "", "the input is not JSON"),
        ("task_creation", "\u{0}", "the input is not JSON"),
        ("task_creation", deep.as_str(), "the input is not JSON"),
        ("task_creation", "[]", "the input is not an object"),
        ("task_creation", "null", "the input is not an object"),
        ("task_creation", "{}", "title: it is missing"),
        (
            "task_creation",
            r#"{"title": "\ud800", "user_id": "USER"}"#,
            "title: it is not valid Unicode",
        ),
        (
            "task_creation",
            r#"{"title": {"a": 1}, "user_id": "USER"}"#,
            "title: it must be a text",
        ),
        (
            "task_creation",
            r#"{"title": "x", "user_id": ["USER"]}"#,
            "user_id: it must be a UUID",
        ),
        (
            "task_creation",
            r#"{"title": "x", "user_id": "USER", "priority": NaN}"#,
            "priority: it must be",
        ),
        (
            "task_creation",
            r#"{"title": "x", "user_id": "USER", "priority": 1e999}"#,
            "priority: it must be",
        ),
        (
            "task_creation",
            r#"{"title": "x", "user_id": "USER", "priority": 1.5}"#,
            "priority: it must be",
        ),
        (
            "task_creation",
            r#"{"title": "x", "user_id": "USER", "priority": "1"}"#,
            "priority: it must be",
        ),
        (
            "task_creation",
            r#"{"title": "x", "user_id": "USER", "due_date": 1}"#,
            "due_date: it must be",
        ),
        (
            "task_creation",
            r#"{"title": "x", "user_id": "USER", "due_date": "0001-01-01T00:00:00+23:59"}"#,
            "due_date: it must be",
        ),
        (
            "task_retrieval",
            r#"{"user_id": "USER", "offset": 9223372036854775808}"#,
            "offset: it must be",
        ),
        (
            "task_retrieval",
            r#"{"user_id": "USER", "status_filter": ["pending"]}"#,
            "status_filter: it must be one of",
        ),
        (
            "token_validation",
            r#"{"token": "\udfff.a.b"}"#,
            "token: it is not valid Unicode",
        ),
        (
            "token_generation",
            r#"{"user_id": "USER", "email": "ada@example.org", "scopes": "all"}"#,
            "scopes: it must be a list",
        ),
        (
            "token_generation",
            r#"{"user_id": "USER", "email": "ada@example.org", "scopes": [1]}"#,
            "scopes: it must be a text",
        ),
        (
            "suggestion_generation",
            r#"{"user_id": "USER", "context": 1}"#,
            "context: it must be a text",
        ),
    ];
    for (skill, input, expected) in inputs {
        let ended = end(begin(command(skill, Some(&data)), fill(input).as_bytes()));
        let shown = &input[..input.len().min(80)];
        let failure = ended.failure("VALIDATION_ERROR");
        let message = failure["message"].as_str().expect("a message");
        assert!(message.starts_with(expected), "{shown}: {ended:?}");
        assert_eq!(ended.stderr, "", "{shown}");
    }
    // Text is data, whatever it looks like.
    for title in [
        "'); DROP TABLE tasks; --",
        "$(id) `id` %s {0}",
        "a\u{0}b",
        "\u{202e}\u{1f600}",
    ] {
        let input = json!({ "title": title, "user_id": user });
        let made = invoke("task_creation", &data, &input);
        assert_eq!(made.output()["title"], title.trim());
        let task = json!({ "user_id": user, "task_id": made.output()["task_id"] });
        let found = invoke("task_retrieval", &data, &task);
        assert_eq!(found.output()["tasks"][0]["title"], title.trim());
    }
}

/// Points in time of RFC 3339, and how they come back.
#[test_with(python3)]
fn points_in_time_come_back_in_utc() {
    let script = "
from library.contract import format_instant, parse_instant
for text in sys.argv[1:]:
    found = parse_instant(text)
    print(format_instant(found) if found else 'none')";
    for (text, expected) in [
        ("2026-01-31T09:00:00Z", "2026-01-31T09:00:00.000Z"),
        ("2026-01-31t09:00:00z", "2026-01-31T09:00:00.000Z"),
        (
            "2026-01-31T00:30:00.1239999+01:00",
            "2026-01-30T23:30:00.123Z",
        ),
        ("2024-02-29T23:59:60Z", "2024-02-29T23:59:59.000Z"),
        ("0999-12-31T23:00:00-01:00", "1000-01-01T00:00:00.000Z"),
        ("2026-01-31", "none"),
        ("2026-01-31T09:00:00", "none"),
        ("2026-01-31 09:00:00Z", "none"),
        ("2026-13-01T00:00:00Z", "none"),
        ("2026-01-31T24:00:00Z", "none"),
        ("2026-01-31T09:00:00+24:00", "none"),
        ("2026-01-31T09:00:00Z\n", "none"),
        ("٢٠٢٦-01-31T09:00:00Z", "none"),
        ("9999-12-31T23:59:59-00:01", "none"),
    ] {
        let found = run_python(&format!("import sys{script}"), &[text]);
        assert_eq!(found.trim_end(), expected, "{text}");
    }
}

/// Writes a program, and the file that names it with one argument.
fn name_command(data: &Path, program: &str) {
    let path = data.join("suggest");
    fs::write(&path, format!("#!/bin/sh\n{program}")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("made a program");
    let words = json!([path, "$(touch ran); > ran"]);
    fs::write(data.join("ai-command"), words.to_string()).expect("written");
}

#[test_with(python3)]
fn a_command_that_answers_well_makes_the_suggestions() {
    let (project, data, user) = with_user();
    let task = json!({ "title": "Buy groceries", "user_id": user });
    invoke("task_creation", &data, &task).output();
    let answer = json!({ "suggestions": [
        { "title": "First", "description": null, "priority": 3, "confidence": 0.5, "more": 1 },
        { "title": "Second", "description": "d", "priority": 5, "confidence": 1 },
    ] });
    let program = format!(
        "cat > {0}/asked; env > {0}/environment; echo \"$1\" > {0}/words; echo '{answer}'\n",
        data.display()
    );
    name_command(&data, &program);
    let input = json!({ "user_id": user, "context": "a 'context'", "count": 1 });
    let mut invoked = command("suggestion_generation", Some(&data));
    invoked.current_dir(project.dir());
    let ended = end(begin(invoked, input.to_string().as_bytes()));
    let expected = json!({ "suggestions": [
        { "title": "First", "description": null, "priority": 3, "confidence": 0.5 },
    ], "degraded": false });
    assert_eq!(*ended.output(), expected, "{ended:?}");
    let read = |name: &str| fs::read_to_string(data.join(name)).expect("written");
    let asked: Value = serde_json::from_str(&read("asked")).expect("JSON");
    assert_eq!(asked["context"], "a 'context'");
    assert_eq!(asked["count"], 1);
    assert_eq!(asked["tasks"][0]["title"], "Buy groceries");
    // No shell has seen its words, and it does not learn where the data is.
    assert_eq!(read("words"), "$(touch ran); > ran\n");
    assert!(!project.path("ran").exists() && !data.join("ran").exists());
    assert!(
        !read("environment").contains("SKILL_"),
        "{}",
        read("environment")
    );
}

#[test_with(python3)]
fn without_an_answer_to_use_the_rules_suggest() {
    let (_project, data, user) = with_user();
    let task = json!({ "title": "Buy groceries", "user_id": user });
    invoke("task_creation", &data, &task).output();
    let input = json!({ "user_id": user });
    let by_rules = invoke("suggestion_generation", &data, &input);
    assert_eq!(by_rules.output()["degraded"], true);
    let degraded = |what: &str| {
        let ended = invoke("suggestion_generation", &data, &input);
        assert_eq!(ended.output(), by_rules.output(), "{what}");
        assert!(
            ended.stderr.starts_with("ai-command is of no use: "),
            "{what}: {ended:?}"
        );
    };
    let one = |field: &str, value: Value| {
        let mut one = json!({ "title": "t", "description": null, "priority": 1, "confidence": 0 });
        one[field] = value;
        json!({ "suggestions": [one] }).to_string()
    };
    for answer in [
        String::new(),
        "no JSON".to_owned(),
        "[]".to_owned(),
        "{\"suggestions\": {}}".to_owned(),
        "{\"suggestions\": [1]}".to_owned(),
        one("title", " ".into()),
        one("title", Value::Null),
        one("description", 1.into()),
        one("priority", 6.into()),
        one("priority", true.into()),
        one("priority", 1.5.into()),
        one("confidence", 1.01.into()),
        one("confidence", "1".into()),
        one("title", "TITLE".into()).replace("TITLE", "\\ud800"),
        one("confidence", "NAN".into()).replace("\"NAN\"", "NaN"),
        format!("{}{}", one("title", "t".into()), " ".repeat(300 * 1024)),
    ] {
        let path = data.join("answer");
        fs::write(&path, &answer).expect("written");
        name_command(&data, &format!("cat {}\n", path.display()));
        degraded(&answer[..answer.len().min(80)]);
    }
    name_command(
        &data,
        &format!("echo '{}'; exit 3\n", one("title", "t".into())),
    );
    degraded("it fails");
    for words in [
        "",
        "{}",
        "[]",
        "[1]",
        "\"sh\"",
        "[\"/nonexistent\"]",
        "[\"a\\u0000b\"]",
        "[\"\"]",
    ] {
        fs::write(data.join("ai-command"), words).expect("written");
        degraded(words);
    }
}

/// With less patience than a user has.
#[test_with(python3)]
fn a_command_that_takes_too_long_is_ended_with_what_it_has_started() {
    let (_project, data, _) = with_user();
    name_command(&data, "sleep 4711.0815 & echo $! > \"$0.pid\"; wait\n");
    let script = "
import sys
from library import suggestions
print(suggestions.by_command(sys.argv[1], None, 3, [], patience=1))";
    let found = run_python(script, &[data.to_str().expect("UTF-8")]);
    assert_eq!(found, "None\n");
    let pid = fs::read_to_string(data.join("suggest.pid")).expect("it has started");
    let pid = pid.trim();
    // A zombie that nobody waits for is dead, too.
    let arguments = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    assert!(!arguments.contains("4711.0815"), "{pid}");
}
