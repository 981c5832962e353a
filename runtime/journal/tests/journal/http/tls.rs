//! TLS: by the certificates of the system or those that the operator names, and not without.

use std::env;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use skillbundle_journal::{Backlog, HttpOptions};

use super::server::{SECRET, Server};
use super::{INTERVAL, commit, journal, options, wait_for_delivery, wait_until};
use crate::child;
use crate::common::last_error;

/// What the child is to see, and where its server is.
const EXPECTED: &str = "JOURNAL_TEST_EXPECTED";
const ADDRESS: &str = "JOURNAL_TEST_ADDRESS";

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn server(ca: &CertifiedIssuer<'static, KeyPair>) -> Server {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, ca).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    Server::start_with([], move |stream, serve| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        serve(&mut stream);
        stream.conn.send_close_notify();
        // A client that does not trust us is gone.
        drop(stream.flush());
    })
}

/// The variable is of the whole process, so each row is one of its own.
#[test]
fn the_server_must_have_a_certificate_that_the_operator_trusts() {
    let directory = tempfile::tempdir().unwrap();
    let (own, other) = (authority(), authority());
    let server = server(&own);
    for (number, (root, host, problem)) in [
        (own.pem(), "127.0.0.1", ""),
        (other.pem(), "127.0.0.1", "invalid peer certificate"),
        (own.pem(), "localhost", "invalid peer certificate"),
        (String::new(), "127.0.0.1", "SSL_CERT_FILE"),
    ]
    .into_iter()
    .enumerate()
    {
        let path = directory.path().join(format!("{number}.pem"));
        fs::write(&path, root).unwrap();
        let address = format!("https://{host}:{}/{SECRET}", server.port());
        let mut command = sender(
            &directory.path().join(number.to_string()),
            &address,
            problem,
        );
        command.env("SSL_CERT_FILE", &path);
        run(command);
        assert_eq!(server.accepted().len(), 1, "{number}");
    }
}

/// What is encrypted may go by a proxy, and what stays on this machine does not.
#[test]
fn a_proxy_is_for_https_alone() {
    let directory = tempfile::tempdir().unwrap();
    let own = authority();
    let (encrypted, plain) = (server(&own), Server::start([]));
    let root = directory.path().join("root.pem");
    fs::write(&root, own.pem()).unwrap();
    // It answers in the name of no other server.
    let proxy = Server::start([]);
    for (number, (address, no_proxy, problem)) in [
        (format!("http://127.0.0.1:{}/", plain.port()), "", ""),
        (
            format!("https://127.0.0.1:{}/", encrypted.port()),
            "",
            "the proxy does not connect",
        ),
        (
            format!("https://127.0.0.1:{}/", encrypted.port()),
            "127.0.0.1",
            "",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let mut command = sender(
            &directory.path().join(number.to_string()),
            &address,
            problem,
        );
        command
            .env("SSL_CERT_FILE", &root)
            .env("HTTPS_PROXY", format!("http://127.0.0.1:{}", proxy.port()))
            .env("NO_PROXY", no_proxy);
        run(command);
    }
    assert_eq!(plain.accepted().len(), 1);
    assert_eq!(encrypted.accepted().len(), 1);
}

/// A process that sends one event to this address.
fn sender(directory: &Path, address: &str, problem: &str) -> Command {
    let mut command = child::command("send by TLS", directory);
    command
        .env("SSL_CERT_DIR", directory.join("none"))
        .env(ADDRESS, address)
        .env(EXPECTED, problem);
    for name in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command
}

fn run(mut command: Command) {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}{error}");
    assert!(text.contains("> as expected"), "{command:?}: {text}");
}

/// Records one event, and looks whether it arrives.
pub(crate) fn send(directory: &Path) {
    let address = env::var(ADDRESS).unwrap().parse().unwrap();
    let problem = env::var(EXPECTED).unwrap();
    let options: HttpOptions = options(address, directory, INTERVAL);
    let buffer = options.buffer.clone();
    let journal = journal(options);
    commit(&journal, "x");
    if problem.is_empty() {
        wait_for_delivery(&journal, &buffer);
        assert_eq!(journal.status().last_error, None);
    } else {
        let failed = || journal.status().last_error.is_some();
        wait_until(failed, || format!("{:?}", journal.status()));
        let error = last_error(&journal);
        assert!(error.contains(&problem), "{error}");
        assert!(!error.contains(SECRET), "{error}");
        assert_eq!(Backlog::of(&buffer).unwrap().events, 1);
    }
    child::tell("as expected");
}
