//! Analytics: off unless the operator turns them on, refused where others could read along, and shown
//! before anything is sent.

use std::fs;

use serde_json::{Value, json};
use skillbundle_server::analytics::EVENT_TYPES;

use super::{content, run_with, shown};
use crate::project::{Output, Project};

const SHOW: [&str; 4] = ["config", "show", "--analytics", "--json"];

/// What `config show --analytics --json` prints about analytics.
fn report(ran: &Output) -> Value {
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    printed["analytics"].clone()
}

#[test]
fn the_operator_turns_analytics_on_and_everyone_turns_them_off() {
    const ENDPOINT: (&str, &str) = ("ANALYTICS_ENDPOINT", "https://hooks.example/T0/canary");
    let both = "analytics:\n  enabled: true\n  endpoint: https://file.example/canary\n";
    let only_here = "analytics:\n  enabled: true\n";
    let only_an_address = "analytics:\n  endpoint: https://file.example/canary\n";
    let off = ["--set", "analytics.enabled=false"];
    let track = |value: &'static str| ("DO_NOT_TRACK", value);
    for (file, variables, options, enabled, endpoint, reason) in [
        ("", &[][..], &[][..], false, None, "off by default"),
        (
            "",
            &[ENDPOINT],
            &[],
            true,
            Some("hooks"),
            "ANALYTICS_ENDPOINT",
        ),
        ("", &[ENDPOINT], &off, false, Some("hooks"), "--set"),
        (both, &[], &[], true, Some("file"), "config.yaml:2"),
        (
            both,
            &[ENDPOINT],
            &[],
            true,
            Some("hooks"),
            "ANALYTICS_ENDPOINT",
        ),
        (only_here, &[], &[], true, None, "config.yaml:2"),
        (
            only_an_address,
            &[],
            &[],
            false,
            Some("file"),
            "off by default",
        ),
        (
            both,
            &[track("1")],
            &[],
            false,
            Some("file"),
            "DO_NOT_TRACK",
        ),
        (
            both,
            &[ENDPOINT, track("yes")],
            &[],
            false,
            Some("hooks"),
            "DO_NOT_TRACK",
        ),
        (
            only_here,
            &[track("true")],
            &[],
            false,
            None,
            "DO_NOT_TRACK",
        ),
        (
            both,
            &[track("0")],
            &[],
            true,
            Some("file"),
            "config.yaml:2",
        ),
        (both, &[track("")], &[], true, Some("file"), "config.yaml:2"),
    ] {
        let project = Project::new();
        project.operator(file);
        let line = [&SHOW[..], options].concat();
        let found = report(&run_with(&project, variables, &line));
        let place = format!("{file:?} {variables:?} {options:?}: {found}");
        assert_eq!(found["enabled"], enabled, "{place}");
        assert_eq!(found["is_sent"], enabled && endpoint.is_some(), "{place}");
        let endpoint = endpoint.map(|it| format!("https://{it}.example/…"));
        assert_eq!(found["endpoint"], json!(endpoint), "{place}");
        let found = found["reason"].as_str().expect("text");
        assert!(found.contains(reason), "{place}");
    }
}

#[test]
fn an_address_where_others_could_read_along_is_refused_and_not_shown() {
    let project = Project::new();
    for address in [
        "http://hooks.example/canary",
        "http://10.0.0.1/canary?token=canary",
        "http://localhost.example/canary",
        "https://me:canary@hooks.example/",
        "https://hooks.example/a b?canary",
        "https://hooks.example/#canary",
        "ftp://hooks.example/canary",
        "canary",
    ] {
        let variables = [("ANALYTICS_ENDPOINT", address)];
        let set = format!("analytics.endpoint={address}");
        let on = "analytics.enabled=true";
        for line in [
            &["list"][..],
            &["serve"],
            &["config", "show"],
            &SHOW,
            &["list", "--set", on, "--set", &set],
        ] {
            let by_option = line.contains(&on);
            let variables = if by_option { &[] } else { &variables[..] };
            let ran = run_with(&project, variables, line);
            assert_eq!(ran.code, Some(2), "{address} {line:?}: {}", ran.stdout);
            let all = ran.stdout + &ran.stderr;
            let place = if by_option {
                "--set"
            } else {
                "ANALYTICS_ENDPOINT"
            };
            assert!(all.contains(place), "{address} {line:?}: {all}");
            assert!(!all.contains("canary"), "{address} {line:?}: {all}");
        }
    }
    for address in [
        "http://localhost:9/",
        "http://127.0.0.1:9/x",
        "http://[::1]:9",
    ] {
        let ran = run_with(&project, &[("ANALYTICS_ENDPOINT", address)], &SHOW);
        assert_eq!(report(&ran)["is_sent"], true, "{address}");
    }
}

#[test]
fn content_turns_nothing_on() {
    let project = Project::new();
    let wide = "analytics:\n  enabled: true\n  endpoint: https://evil.example\n  texts: true\n  server_id: x\n";
    content(&project, wide);
    for options in [&[][..], &["--trust-content-config"]] {
        let line = [&["config", "show", "content/skills", "--json"], options].concat();
        let ran = project.run(&line);
        for (name, default) in [
            ("analytics.enabled", json!(false)),
            ("analytics.endpoint", json!("")),
            ("analytics.texts", json!(false)),
            ("analytics.server_id", Value::Null),
        ] {
            assert_eq!(shown(&ran, name), (default, "default".to_owned()));
        }
        let line = [&SHOW[..], &["content/skills"], options].concat();
        assert_eq!(report(&project.run(&line))["enabled"], false);
    }
    let checked = project.run(&["compile", "--check", "content/skills"]);
    let all = checked.stdout + &checked.stderr;
    assert_eq!(all.matches("config-needs-operator").count(), 4, "{all}");
}

/// People see everything that would be sent, with what they have chosen about it.
#[test]
fn every_type_of_event_is_shown_as_it_would_be_sent() {
    let project = Project::new();
    for (options, texts, server_id) in [
        (&[][..], false, "dev-ann"),
        (&["--set", "analytics.texts=true"], true, "dev-ann"),
        (&["--set", "analytics.server_id=lab-7"], false, "lab-7"),
    ] {
        let line = [&SHOW[..], options].concat();
        let found = report(&run_with(&project, &[("USER", "ann")], &line));
        let kinds = found["event_types"].as_array().expect("a list");
        assert_eq!(kinds.len(), EVENT_TYPES.len());
        for (kind, shown) in EVENT_TYPES.iter().zip(kinds) {
            assert_eq!(shown["name"], kind.name);
            assert_eq!(shown["data_fields"], json!(kind.fields));
            let event = &shown["example_event"];
            assert_eq!(event["type"], kind.name);
            assert_eq!(event["server_id"], server_id);
            let data = event["data"].as_object().expect("an object");
            assert!(data.keys().eq(kind.fields), "{data:?}");
            for text in kind.texts {
                assert_eq!(data[*text].is_string(), texts, "{} {text}", kind.name);
            }
        }
        let plain = [&SHOW[..3], options].concat();
        let plain = run_with(&project, &[("USER", "ann")], &plain).stdout;
        for kind in EVENT_TYPES {
            assert!(plain.contains(&format!("\n{} ", kind.name)), "{plain}");
            let example = format!("\"type\":\"{}\"", kind.name);
            assert!(plain.contains(&example), "{plain}");
        }
    }
    let windows = report(&run_with(&project, &[("USERNAME", "bob")], &SHOW));
    assert_eq!(windows["server_id"], "dev-bob");
    assert_eq!(report(&project.run(&SHOW))["server_id"], "dev-unknown");
}

/// It only looks: it makes no file and sends nothing.
#[test]
fn what_waits_is_counted_and_left_alone() {
    let project = Project::new();
    let found = report(&project.run(&SHOW));
    assert_eq!(found["waiting_count"], 0);
    assert!(!project.state().exists());
    let state = project.state().join("skillbundle");
    fs::create_dir_all(&state).expect("writable");
    let event = r#"{"id":"019bb1a5-6c0d-7000-8000-000000000000","type":"x","data":{}}"#;
    let segment = "analytics-buffer.019bb1a5-6c0d-7000-8000-000000000001.jsonl";
    for (name, text) in [
        ("analytics-buffer.jsonl", format!("{event}\n")),
        (segment, format!("{event}\n{event}\n")),
        ("analytics-buffer.dropped", "17\n".to_owned()),
    ] {
        fs::write(state.join(name), text).expect("writable");
    }
    let line = [
        &SHOW[..],
        &["--set", "analytics.endpoint=http://127.0.0.1:9"],
    ]
    .concat();
    let found = report(&project.run(&line));
    assert_eq!(found["waiting_count"], 3);
    assert_eq!(found["waiting_bytes"], 3 * (event.len() + 1));
    assert_eq!(found["dropped_count"], 17);
    let buffer = state.join("analytics-buffer.jsonl");
    assert_eq!(found["buffer"], json!(buffer));
    assert_eq!(fs::read_dir(state).expect("there").count(), 3);
}
