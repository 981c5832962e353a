//! What clients that stay are told of changes, in both eras.

use super::*;
use crate::testing::META;

/// More than may be in flight.
const LISTENERS: usize = 40;

fn skills(description: &str, body: &str) -> SkillSet {
    set(vec![
        folder("tea", description, body),
        folder("water", "About water", "\nWater.\n"),
    ])
}

/// The next so many lines.
fn told(client: &mut Client, most: usize) -> Vec<Value> {
    (0..most).map(|_| client.reply()).collect()
}

#[test]
fn older_clients_are_notified_of_lists_and_subscribed_resources() {
    let source = Fake::new(skills("About tea", "\nGreen.\n"));
    let mut client = connected(source.clone());
    client.request("resources/list", json!({}));
    for uri in ["skill://tea/SKILL.md", "skill://water/SKILL.md"] {
        let reply = client.request("resources/subscribe", json!({ "uri": uri }));
        assert_eq!(reply["result"], json!({}));
    }
    client.request(
        "resources/unsubscribe",
        json!({ "uri": "skill://water/SKILL.md" }),
    );
    source.edit(skills("About green tea", "\nGreen.\n"));
    // A call sees the edit at once; without one the timer would.
    client.request("ping", json!({}));
    client.tool("skill", &json!({ "name": "water" }));
    let told = told(&mut client, 4);
    let methods = told.iter().map(|notice| notice["method"].as_str());
    let methods: Vec<_> = methods.map(|method| method.expect("a notice")).collect();
    assert_eq!(
        methods,
        [
            "notifications/tools/list_changed",
            "notifications/resources/list_changed",
            "notifications/prompts/list_changed",
            "notifications/resources/updated",
        ]
    );
    assert_eq!(told[3]["params"]["uri"], "skill://tea/SKILL.md");
    let (ended, rest) = end(client);
    assert!(ended.is_ok());
    assert_eq!(rest, Vec::<Value>::new());
}

#[test]
fn newer_clients_listen_and_get_a_result_at_the_end() {
    let source = Fake::new(skills("About tea", "\nGreen.\n"));
    let mut client = unopened(source.clone(), Options::default());
    let filter = r#""notifications":{"promptsListChanged":true,"resourceSubscriptions":["skill://tea/SKILL.md"]}"#;
    client.send_line(format!(r#"{{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{{{filter},{META}}}}}"#));
    let reply = client.reply();
    assert_eq!(
        reply["method"], "notifications/subscriptions/acknowledged",
        "{reply}"
    );
    source.edit(skills("About green tea", "\nGreen.\n"));
    client.send_line(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"skill","arguments":{{"name":"tea"}},{META}}}}}"#));
    assert_eq!(client.reply()["id"], 1);
    let told = told(&mut client, 2);
    let methods: Vec<_> = told
        .iter()
        .map(|notice| notice["method"].as_str().expect("a notice"))
        .collect();
    assert_eq!(
        methods,
        [
            "notifications/prompts/list_changed",
            "notifications/resources/updated"
        ]
    );
    for notice in &told {
        assert_eq!(
            notice["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
            "l"
        );
    }
    let began = std::time::Instant::now();
    let (ended, rest) = end(client);
    assert!(ended.is_ok());
    let [last] = rest.as_slice() else {
        panic!("{rest:?}")
    };
    assert_eq!(last["id"], "l", "the listener gets its result: {last}");
    assert!(
        began.elapsed().as_secs() < 4,
        "nothing waits for a listener"
    );
}

#[test]
fn listeners_do_not_block_calls_and_excess_ones_end_at_once() {
    let mut client = unopened(
        Fake::new(skills("About tea", "\nGreen.\n")),
        Options::default(),
    );
    let mut let_go = 0;
    for id in 0..LISTENERS {
        client.send_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},{META}}}}}"#));
    }
    client.send_line(format!(r#"{{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{{"name":"skill","arguments":{{"name":"tea"}},{META}}}}}"#));
    let mut called = false;
    // Each is acknowledged; eight stay, and the call is answered.
    let lines = [LISTENERS, LISTENERS - 8, 1];
    for _ in 0..lines.iter().sum() {
        let reply = client.reply();
        called |= reply["id"] == "call";
        let_go += usize::from(reply["id"].is_number() && reply["result"].is_object());
    }
    assert!(called);
    assert_eq!(let_go, LISTENERS - 8);
}

#[test]
fn embedded_skills_have_no_subscriptions() {
    let bundle = write(&skills("About tea", "\nGreen.\n")).unwrap();
    let embedded = Embedded::new(bundle.leak());
    let mut client = unopened(embedded, Options::default());
    let reply = client.initialize("2025-11-25");
    assert_eq!(reply["capabilities"]["resources"], json!({}));
    let reply = client.request(
        "resources/subscribe",
        json!({ "uri": "skill://tea/SKILL.md" }),
    );
    assert_eq!(reply["error"]["code"], -32601, "{reply}");
}

#[test]
fn newer_clients_cannot_use_methods_of_the_older_era() {
    let mut client = unopened(
        Fake::new(skills("About tea", "\nGreen.\n")),
        Options::default(),
    );
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        for uri in ["", r#""uri":"skill://tea/SKILL.md","#] {
            client.send_line(format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{uri}{META}}}}}"#
            ));
            assert_eq!(client.reply()["error"]["code"], -32601, "{method} {uri}");
        }
    }
}
