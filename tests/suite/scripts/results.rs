//! Results: what a client gets of exit codes, signals, long and binary output, and where files and
//! inherited scripts come from.

use serde_json::{Value, json};

use super::{call, levels, once, ran, refused, serve, skill, with_script};
use crate::project::{Project, base64};

/// One row for each way to end: the script, and members of the result.
const ENDS: &[(&str, &str)] = &[
    (
        "echo out; echo err >&2",
        r#"{"success":true,"exit_code":0,"stdout":"out\n","stderr":"err\n","signal":null,"notes":null,"resolved_from":null}"#,
    ),
    (
        "echo before; echo why >&2; exit 3",
        r#"{"success":false,"exit_code":3,"stdout":"before\n","stderr":"why\n","signal":null}"#,
    ),
    (
        "no-such-program-anywhere 2>/dev/null",
        r#"{"success":false,"exit_code":127}"#,
    ),
    (
        "kill -SEGV $$",
        r#"{"success":false,"exit_code":139,"signal":"SIGSEGV"}"#,
    ),
    (
        "kill -KILL $$",
        r#"{"success":false,"exit_code":137,"signal":"SIGKILL"}"#,
    ),
    (
        "cat; echo end of input",
        r#"{"success":true,"stdout":"end of input\n"}"#,
    ),
    (
        "printf 'no line end'",
        r#"{"success":true,"stdout":"no line end"}"#,
    ),
    (
        "printf 'grün 🦀'",
        r#"{"success":true,"stdout":"grün 🦀","notes":null}"#,
    ),
];

#[test]
fn a_result_tells_how_the_script_ended() {
    for level in levels() {
        let set = format!("scripts.isolation={level}");
        for (script, expected) in ENDS {
            let result = once(&with_script(script), &["--set", &set]);
            let expected: Value = serde_json::from_str(expected).expect("JSON");
            for (name, value) in expected.as_object().expect("an object") {
                let depends = match level {
                    // Its first process ends with 128 + N, and may count as left over.
                    "bubblewrap" => ["signal", "notes"].contains(&name.as_str()),
                    "weak" => name == "notes",
                    _ => false,
                };
                if depends {
                    continue;
                }
                assert_eq!(&result[name], value, "{level}: {script}: {name}: {result}");
            }
            assert_eq!(result["script"], "run.sh", "{result}");
            assert_eq!(result["isolation"], level, "{result}");
            assert!(result["duration_ms"].is_u64(), "{result}");
            let has_note = level == "weak" && notes(&result).contains("without isolation");
            assert_eq!(has_note, level == "weak", "{result}");
        }
    }
}

fn notes(result: &Value) -> String {
    let notes = result["notes"].as_array();
    let notes = notes.unwrap_or_else(|| panic!("no notes: {result}"));
    let texts = notes.iter().filter_map(Value::as_str);
    texts.collect::<Vec<_>>().join("\n")
}

/// The end is text of the specification (spec 3 §8.4).
#[test]
fn a_script_that_runs_out_of_time_keeps_what_it_wrote() {
    for (script, stdout, stderr) in [
        ("echo partial; sleep 1000", "partial\n", ""),
        (
            "printf some; printf other >&2; sleep 1000",
            "some",
            "other\n",
        ),
        (
            "trap 'exit 0' TERM; echo line >&2; sleep 1000 & wait",
            "",
            "line\n",
        ),
    ] {
        let result = once(
            &with_script(script),
            &["--set", "scripts.timeout_seconds=1"],
        );
        assert_eq!(result["success"], false, "{result}");
        assert_eq!(result["exit_code"], 137, "{result}");
        assert_eq!(result["signal"], Value::Null, "{result}");
        assert_eq!(result["stdout"], stdout, "{result}");
        let expected = format!("{stderr}[skills-mcp] Script killed: timeout exceeded.");
        assert_eq!(result["stderr"], expected, "{result}");
        assert!(
            notes(&result).contains("scripts.timeout_seconds"),
            "{result}"
        );
    }
}

#[test]
fn of_long_output_the_beginning_and_the_end_are_kept() {
    let script = "for i in $(seq 10000); do echo line $i; done; echo short >&2; exit 2";
    let result = once(
        &with_script(script),
        &["--set", "scripts.max_output_bytes=70"],
    );
    let total: usize = (1..=10_000).map(|n| format!("line {n}\n").len()).sum();
    let stdout = result["stdout"].as_str().expect("text");
    assert!(stdout.starts_with("line 1\nline 2\n"), "{stdout}");
    assert!(stdout.ends_with("\nline 9999\nline 10000\n"), "{stdout}");
    let left_out = format!("\n[{} bytes left out]\n", total - 70 - 4096);
    assert!(stdout.contains(&left_out), "{stdout}");
    assert_eq!(result["stderr"], "short\n");
    assert_eq!(result["exit_code"], 2, "the script went on to its end");
    let notes = notes(&result);
    assert!(
        notes.contains(&format!("stdout had {total} bytes")),
        "{notes}"
    );
    assert!(!notes.contains("stderr had"), "{notes}");
}

#[test]
fn output_at_its_limit_is_whole_and_characters_are_not_torn() {
    for (limit, script, stdout) in [
        ("5", "printf 12345", "12345"),
        ("5", "printf 123456", "123456"),
        ("4", "printf 'äöüß'", "äöüß"),
        ("3", "printf 'äöüß'", "äöüß"),
        ("0", "printf x", "x"),
    ] {
        let set = format!("scripts.max_output_bytes={limit}");
        let result = once(&with_script(script), &["--set", &set]);
        assert_eq!(result["stdout"], stdout, "{limit}: {result}");
    }
}

#[test]
fn output_that_is_no_text_can_be_read_byte_for_byte() {
    let project = with_script("printf '\\377\\376\\000x'; printf 'fine' >&2");
    let mut session = serve(&project, &[]);
    let params = json!({ "name": "run_script", "arguments": call("it", &json!({})) });
    let result = session.result("tools/call", params);
    let structured = &result["structuredContent"];
    assert_eq!(structured["stdout"], "\u{fffd}\u{fffd}\0x", "{result}");
    assert!(
        notes(structured).contains("stdout is not UTF-8"),
        "{result}"
    );
    let links: Vec<&Value> = result["content"]
        .as_array()
        .expect("a list")
        .iter()
        .skip(1)
        .collect();
    let [link] = links.as_slice() else {
        panic!("not one link: {result}");
    };
    assert_eq!(
        (&link["type"], &link["name"], &link["size"]),
        (&json!("resource_link"), &json!("stdout"), &json!(4))
    );
    let uri = link["uri"].as_str().expect("a URI");
    let read = session.result("resources/read", json!({ "uri": uri }));
    assert_eq!(
        read["contents"][0]["blob"],
        base64(b"\xff\xfe\0x"),
        "{read}"
    );
    assert_eq!(read["contents"][0]["uri"], uri);
    let guess = uri.replace("stdout", "stderr");
    let reply = session.request("resources/read", json!({ "uri": guess }));
    assert!(reply["error"].is_object(), "{reply}");
    session.finish();
}

#[test]
fn what_a_script_leaves_running_is_killed_and_noted() {
    for level in levels() {
        let set = format!("scripts.isolation={level}");
        let project = with_script("(setsid sleep 1000 >/dev/null 2>&1 &); sleep 0.2; echo done");
        let result = once(&project, &["--set", &set]);
        assert_eq!(result["success"], true, "{level}: {result}");
        // The first process of bubblewrap kills the others itself, uncounted.
        if level != "bubblewrap" {
            assert!(notes(&result).contains("killed"), "{level}: {result}");
        }
    }
}

#[test]
fn a_script_finds_the_other_files_of_its_skill_in_skill_dir() {
    let project = Project::new();
    project
        .file(
            "content/folder/SKILL.md",
            "---\nname: folder\ndescription: A folder\nscripts:\n  - file: scripts/run.sh\n    execution: server\n---\nText\n",
        )
        .file("content/folder/scripts/run.sh", "cat \"$SKILL_DIR/data/table.csv\"; . \"$SKILL_DIR/scripts/lib.sh\"; greet; cat \"$(dirname \"$0\")/lib.sh\" | wc -l\n")
        .file("content/folder/scripts/lib.sh", "greet() { echo hello; }\n")
        .file("content/folder/data/table.csv", "a,b\n");
    let arguments = json!({ "skill_path": "folder", "file": "scripts/run.sh" });
    for level in levels() {
        let set = format!("scripts.isolation={level}");
        let mut session = serve(&project, &["--set", &set]);
        let result = ran(&mut session, &arguments);
        let stdout = result["stdout"].as_str().expect("text");
        assert_eq!(
            stdout.replace(' ', ""),
            "a,b\nhello\n1\n",
            "{level}: {result}"
        );
        session.finish();
    }
}

/// Spec 3 §7.3 and §7.5: the nearest declaration wins, and a script runs among the files of the
/// skill that declares it.
#[test]
fn an_inherited_script_runs_where_it_was_declared() {
    let project = Project::new();
    let page = |more: &str, scripts: &[&str]| {
        let scripts = scripts.iter();
        let scripts = scripts.map(|it| ["  - file: ", it, "\n    execution: server\n"].concat());
        let scripts = scripts.collect::<String>();
        format!(
            "---\ndescription: A page\nkeywords: [page]\n{more}assets:\n  - file: data.txt\nscripts:\n{scripts}---\nText\n"
        )
    };
    let inherits = "inherit: true\n";
    let says = |whose: &str| format!("echo {whose}; cat \"$SKILL_DIR/data.txt\"\n");
    project
        .file("content/_root.md", page("", &["root.sh", "both.sh"]))
        .file("content/_root/root.sh", says("root"))
        .file("content/_root/both.sh", says("root"))
        .file("content/_root/data.txt", "data of root\n")
        .file("content/ui/_index.md", page(inherits, &["both.sh"]))
        .file("content/ui/_index/both.sh", says("ui"))
        .file("content/ui/_index/data.txt", "data of ui\n")
        .file("content/ui/leaf.md", page(inherits, &["own.sh"]))
        .file("content/ui/leaf/own.sh", says("leaf"))
        .file("content/ui/leaf/data.txt", "data of leaf\n")
        .file("content/ui/alone.md", page("inherit: false\n", &["own.sh"]))
        .file("content/ui/alone/own.sh", says("alone"))
        .file("content/ui/alone/data.txt", "data of alone\n");
    let mut session = serve(&project, &[]);
    let arguments = |skill: &str, file: &str| json!({ "skill_path": skill, "file": file });
    for (skill, file, whose, from) in [
        ("ui/leaf", "own.sh", "leaf", Value::Null),
        ("ui/leaf", "./own.sh", "leaf", Value::Null),
        ("ui/leaf", "both.sh", "ui", json!("ui/_index")),
        ("ui/leaf", "root.sh", "root", json!("_root")),
        ("ui/_index", "both.sh", "ui", Value::Null),
        ("_root", "both.sh", "root", Value::Null),
    ] {
        let result = ran(&mut session, &arguments(skill, file));
        assert_eq!(
            result["stdout"],
            format!("{whose}\ndata of {whose}\n"),
            "{skill} {file}: {result}"
        );
        assert_eq!(result["resolved_from"], from, "{skill} {file}: {result}");
    }
    refused(
        &mut session,
        &arguments("ui/alone", "root.sh"),
        "script_not_declared",
        "which are own.sh",
    );
    session.finish();
}

#[test]
fn scripts_run_with_the_runner_of_their_extension() {
    let project = Project::new();
    for (name, extension, text) in [
        (
            "py",
            ".py",
            "import os; print('py', os.environ['SKILL_ARG_A'])\n",
        ),
        ("js", ".js", "console.log('js', process.env.SKILL_ARG_A)\n"),
        ("upper", ".SH", "echo upper $SKILL_ARG_A\n"),
    ] {
        skill(&project, "content", name, "", "true\n");
        project
            .file(&format!("content/{name}.md"), format!("---\ndescription: Runs {name}\nkeywords: [{name}]\nscripts:\n  - file: run{extension}\n    execution: server\n---\nText\n"))
            .file(&format!("content/{name}/run{extension}"), text);
    }
    let mut session = serve(&project, &[]);
    for (name, extension) in [("py", ".py"), ("js", ".js"), ("upper", ".SH")] {
        let arguments = json!({ "skill_path": name, "file": format!("run{extension}"), "args": { "a": "1 2" } });
        let (result, is_error) = super::run(&mut session, &arguments);
        if result["code"] == "runner_missing" {
            crate::project::say(&format!("skipped: {}", result["error"]));
            continue;
        }
        assert!(!is_error, "{result}");
        assert_eq!(result["stdout"], format!("{name} 1 2\n"), "{result}");
    }
    session.finish();
}

/// The bytes that run are those of the generation that answers.
#[test]
fn a_bundle_that_is_replaced_or_cut_off_does_not_disturb_a_run() {
    use std::fs;
    let slow = "echo begin; sleep 1; cat \"$SKILL_DIR/big.txt\" | wc -c; echo end\n";
    let project = Project::new();
    let asset = "assets:\n  - file: big.txt\n";
    skill(&project, "content", "it", asset, slow);
    let big = 3_000_000;
    project.file("content/it/big.txt", "x".repeat(big));
    project.bundle_file(&["content"], "team.skb");
    let other = with_script("echo new\n");
    let new = fs::read(other.bundle_file(&["content"], "team.skb")).expect("it was written");
    for change in ["replaced", "truncated"] {
        let bundle = project.bundle_file(&["content"], "team.skb");
        let mut session = super::start(project.command(), &["team.skb"]);
        let params = json!({ "name": "run_script", "arguments": call("it", &json!({})), "_meta": { "progressToken": "t" } });
        session.send(
            &json!({ "jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": params }),
        );
        // It runs once it reports.
        let progress = session.reply();
        assert_eq!(progress["method"], "notifications/progress", "{progress}");
        if change == "replaced" {
            fs::write(project.path("new.skb"), &new).expect("writable");
            fs::rename(project.path("new.skb"), &bundle).expect("writable");
        } else {
            fs::File::options()
                .write(true)
                .open(&bundle)
                .and_then(|it| it.set_len(100))
                .expect("writable");
        }
        let reply = loop {
            let message = session.reply();
            if message["id"] == "slow" {
                break message;
            }
        };
        let stdout = &reply["result"]["structuredContent"]["stdout"];
        assert_eq!(
            stdout.as_str().expect("text").replace(' ', ""),
            format!("begin\n{big}\nend\n"),
            "{change}: {reply}"
        );
        if change == "replaced" {
            assert_eq!(
                ran(&mut session, &call("it", &json!({})))["stdout"],
                "new\n"
            );
        }
        session.finish();
    }
}
