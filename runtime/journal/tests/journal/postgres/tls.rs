//! What `sslmode` promises about the certificate of a server.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use skillbundle_journal::Recorded;

use super::server::{Server, own};
use super::{postgres, wait_until};
use crate::common::{PATIENCE, analytics, record};

#[test]
fn sslmode_means_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let ca = authority();
    let (root, other) = (
        directory.path().join("root.pem"),
        directory.path().join("other.pem"),
    );
    fs::write(&root, ca.pem()).unwrap();
    fs::write(&other, authority().pem()).unwrap();
    let install = |data: &Path| {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = certificate.signed_by(&key, &ca).unwrap();
        for (name, text) in [
            ("server.crt", certificate.pem()),
            ("server.key", key.serialize_pem()),
        ] {
            let path = data.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            own(&path);
        }
        let configuration = data.join("postgresql.conf");
        let mut text = fs::read_to_string(&configuration).unwrap();
        text.push_str("\nssl = on\n");
        fs::write(&configuration, text).unwrap();
        // Only connections with TLS.
        let hba = "local all all trust\nhostssl all all 127.0.0.1/32 trust\n";
        fs::write(data.join("pg_hba.conf"), hba).unwrap();
    };
    let Some(server) = Server::start_with(install) else {
        return;
    };
    server.create("tls");
    let root = root.display();
    for (number, (parameters, host, fault)) in [
        ("sslmode=prefer", "127.0.0.1", None),
        ("sslmode=require", "127.0.0.1", None),
        ("sslmode=disable", "127.0.0.1", Some("no encryption")),
        (
            &format!("sslmode=verify-full&sslrootcert={root}"),
            "127.0.0.1",
            None,
        ),
        (
            &format!("sslmode=require&sslrootcert={root}"),
            "127.0.0.1",
            None,
        ),
        (
            &format!("sslmode=require&sslrootcert={}", other.display()),
            "127.0.0.1",
            Some("certificate"),
        ),
        // The certificate does not name this host.
        (
            &format!("sslmode=verify-full&sslrootcert={root}"),
            "localhost",
            Some("certificate"),
        ),
        ("sslmode=verify-full", "127.0.0.1", Some("certificate")),
        (
            "sslmode=verify-full&sslrootcert=/nonexistent",
            "127.0.0.1",
            Some("sslrootcert /nonexistent"),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let url = server.tcp_url("tls", parameters).replace("127.0.0.1", host);
        let journal = postgres(&url, &directory.path().join(format!("{number}.db")));
        assert_eq!(record(&journal, analytics("x")), Recorded::Committed);
        let done = || {
            let status = journal.status();
            status.undelivered == 0 || status.last_error.is_some()
        };
        wait_until(done, || format!("{:?}", journal.status()));
        journal.close(PATIENCE);
        let status = journal.status();
        match fault {
            None => assert_eq!((status.undelivered, status.last_error), (0, None), "{url}"),
            Some(fault) => {
                let error = status.last_error.unwrap();
                assert!(error.contains(fault), "{url}: {error}");
                assert!(!error.contains("hunter2"), "{error}");
                assert_eq!(status.undelivered, 1, "{url}");
            }
        }
    }
    let count = server.value("tls", "SELECT count(*) FROM skill_events");
    assert_eq!(count, "4");
}

/// A certificate authority.
fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut parameters = CertificateParams::default();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap()
}
