//! Shutdown: no new connections, and requests under way are answered. Also why a server does not
//! start.

use std::net::TcpStream;
use std::time::Duration;

use super::super::{Limits, Settings, bind};
use super::kit::{Running, call, settings, skills};
use crate::testing::{Fake, folder, set};
use crate::{Error, Options};

#[test]
fn a_request_under_way_is_answered_before_the_end() {
    let source = Fake::slow(set(vec![folder("git", "Git workflow", "\n# Git\n")]));
    source.close_gate();
    let mut server = Running::start(source.clone());
    let mut idle = server.connect();
    assert_eq!(idle.ask("GET /healthz", &[], "").status, 200);
    let mut busy = server.connect();
    busy.send("POST /mcp", &[], call("skill").to_string());
    // Its request must have been read, or it would count as idle.
    std::thread::sleep(Duration::from_millis(200));
    server.stop();
    assert!(idle.is_closed());
    assert!(
        TcpStream::connect(server.address).is_err(),
        "no new connections"
    );
    source.open_gate();
    let reply = busy.response().expect("a reply");
    assert!(reply.body.contains("# Git"), "{reply:?}");
    assert_eq!(reply.header("connection"), Some("close"));
    server.ended().unwrap();
}

#[test]
fn a_request_that_takes_too_long_does_not_delay_the_end() {
    let source = Fake::slow(set(vec![folder("git", "Git workflow", "\n# Git\n")]));
    source.close_gate();
    let limits = Limits {
        drain: Duration::from_millis(200),
        ..Limits::default()
    };
    let mut server = Running::start_with(source.clone(), settings(), limits);
    let mut busy = server.connect();
    busy.send("POST /mcp", &[], call("skill").to_string());
    std::thread::sleep(Duration::from_millis(200));
    server.stop();
    server.ended().unwrap();
    source.open_gate();
}

#[test]
fn a_port_in_use_is_an_error_that_says_so() {
    let server = Running::start(skills());
    let settings = Settings {
        address: server.address,
        ..settings()
    };
    let error = bind(skills(), Options::default(), settings)
        .err()
        .expect("refused");
    assert!(matches!(error, Error::Listen { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&server.address.to_string()), "{text}");
    assert!(text.contains("choose another one"), "{text}");
}

#[test]
fn malformed_hosts_and_origins_are_rejected_at_the_start() {
    for (hosts, origins) in [
        (vec!["http://skills.example"], vec![]),
        (vec![""], vec![]),
        (vec![], vec!["app.example"]),
        (vec![], vec!["https://app.example/page"]),
    ] {
        let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect();
        let settings = Settings {
            hosts: owned(hosts),
            origins: owned(origins),
            ..settings()
        };
        let error = bind(skills(), Options::default(), settings)
            .err()
            .expect("refused");
        assert!(
            matches!(error, Error::Host(_) | Error::Origin(_)),
            "{error}"
        );
    }
}
