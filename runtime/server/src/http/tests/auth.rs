//! Who may use the server: by host name, by web origin, by token.

use super::super::{Limits, Settings, Token, bind};
use super::kit::{Running, TOKEN, call, settings, skills, with_token};
use skillbundle_testkit::HttpResponse;

use crate::{Error, Options};

fn ask(server: &Running, headers: &[&str]) -> HttpResponse {
    server.ask("POST /mcp", headers, &call("skill").to_string())
}

#[test]
fn foreign_hosts_and_foreign_origins_are_rejected() {
    let settings = Settings {
        hosts: vec!["skills.example".to_owned()],
        origins: vec!["https://app.example".to_owned()],
        ..settings()
    };
    let server = Running::start_with(skills(), settings, Limits::default());
    let port = server.address.port();
    let own = [
        format!("Host: localhost:{port}"),
        format!("Host: [::1]:{port}"),
        "Host: skills.example".to_owned(),
        format!("Origin: http://localhost:{port}"),
        "Origin: https://app.example".to_owned(),
    ];
    for header in &own {
        let reply = ask(&server, &[header]);
        assert_eq!(reply.status, 200, "{header}: {reply:?}");
    }
    for header in [
        "Host: evil.example",
        "Host: localhost",
        "Host: localhost:1",
        "Host: localhost.evil.example",
        "Origin: http://evil.example",
        "Origin: http://localhost",
        "Origin: null",
        "Origin: https://app.example.evil.example",
    ] {
        let reply = ask(&server, &[header]);
        assert_eq!(reply.status, 403, "{header}: {reply:?}");
    }
    assert_eq!(ask(&server, &["Host:"]).status, 400);
    let twice = [own[0].as_str(), "Host: evil.example"];
    assert_eq!(ask(&server, &twice).status, 403);
    let by_line = server.ask(
        "POST http://evil.example/mcp",
        &[],
        &call("skill").to_string(),
    );
    assert_eq!(by_line.status, 403, "{by_line:?}");
}

#[test]
fn a_token_is_required_except_for_health_checks() {
    let server = Running::start_with(skills(), with_token(), Limits::default());
    let right = format!("Authorization: Bearer {TOKEN}");
    for header in [
        None,
        Some("Authorization: Bearer"),
        Some("Authorization: Bearer a-token-of-good-lengtH"),
        Some("Authorization: Bearer a-token-of-good-lengthy"),
        Some("Authorization: Basic a-token-of-good-length"),
        Some("Authorization: a-token-of-good-length"),
    ] {
        let reply = ask(&server, &header.into_iter().collect::<Vec<_>>());
        assert_eq!(reply.status, 401, "{header:?}: {reply:?}");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        assert!(!reply.body.contains(TOKEN));
    }
    for scheme in ["Bearer", "bearer"] {
        let header = right.replace("Bearer", scheme);
        assert_eq!(ask(&server, &[&header]).status, 200, "{header}");
    }
    assert_eq!(
        server.ask("GET /mcp", &[], "").status,
        401,
        "no path tells more"
    );
    assert_eq!(server.ask("GET /nothing", &[], "").status, 401);
    for probe in ["GET /healthz", "HEAD /healthz", "GET /readyz"] {
        let mut client = server.connect();
        client.send(probe, &["Host: 10.0.0.7:8080"], "");
        if !probe.starts_with("HEAD") {
            assert_eq!(client.response().unwrap().status, 200, "{probe}");
        }
    }
}

#[test]
fn beyond_loopback_a_token_is_required() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let settings = Settings {
            address: address.parse().unwrap(),
            ..settings()
        };
        let refused = bind(skills(), Options::default(), settings).err();
        let error = refused.expect("it is refused");
        assert!(matches!(error, Error::TokenMissing(_)), "{error}");
        assert!(error.to_string().contains("--token-file"), "{error}");
    }
    let settings = Settings {
        address: ([0, 0, 0, 0], 0).into(),
        ..with_token()
    };
    assert!(bind(skills(), Options::default(), settings).is_ok());
}

#[test]
fn a_token_is_long_and_ascii() {
    for text in [
        "",
        "short",
        "fifteen-letters",
        "sixteen letters!",
        "sixteen-lettérs!",
        "sixteen-letters\n",
    ] {
        assert!(Token::new(text).is_err(), "{text:?}");
    }
    let token = Token::new("sixteen-letters!").unwrap();
    assert_eq!(format!("{token:?}"), "Token(..)");
}

#[test]
fn a_token_file_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    std::fs::write(&path, format!(" {TOKEN}\n")).unwrap();
    for (mode, fine) in [
        (0o600, true),
        (0o400, true),
        (0o640, false),
        (0o604, false),
        (0o644, false),
        (0o610, false),
    ] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let read = Token::from_file(&path);
        assert_eq!(read.is_ok(), fine, "{mode:o}: {read:?}");
        if let Err(error) = read {
            let text = error.to_string();
            assert!(
                text.contains("chmod 600") && !text.contains(TOKEN),
                "{text}"
            );
        }
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&path, "short").unwrap();
    assert!(Token::from_file(&path).is_err());
    assert!(Token::from_file(&dir.path().join("absent")).is_err());
}
