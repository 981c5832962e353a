//! Over HTTPS, with a certificate that the user's git trusts, or not.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::one_skill;
use crate::project::{Project, finish};
use skillbundle_testkit::{GitServer, Serve};

const TOKEN: &str = "canary";

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("signed")
}

/// Puts TLS before a server that closes after each answer. Returns its host.
fn with_tls(ca: &CertifiedIssuer<'static, KeyPair>, behind: String) -> String {
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
    let certificate = certificate.signed_by(&key, ca).expect("signed");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("known versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a certificate of its key");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("an address").to_string();
    // Ends with the process.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a configuration");
            let behind = behind.clone();
            thread::spawn(move || forward(StreamOwned::new(connection, stream), &behind));
        }
    });
    host
}

/// One request and its answer. Either may end early, if the client does not trust us.
fn forward(mut client: StreamOwned<ServerConnection, TcpStream>, behind: &str) -> Option<()> {
    let mut server = TcpStream::connect(behind).ok()?;
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while !is_whole(&request) {
        let count = client.read(&mut piece).ok().filter(|it| *it > 0)?;
        request.extend(&piece[..count]);
    }
    server.write_all(&request).ok()?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).ok()?;
    client.write_all(&answer).ok()?;
    client.conn.send_close_notify();
    client.flush().ok()
}

/// Whether the head and as much of the body as it announces are there.
fn is_whole(request: &[u8]) -> bool {
    let Some(end) = request.windows(4).position(|it| it == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
    let length = head
        .lines()
        .find_map(|it| it.strip_prefix("content-length:"));
    let length = length.map_or(0, |it| it.trim().parse().expect("a number"));
    request.len() >= end + 4 + length
}

#[test]
fn a_private_repository_is_read_over_https_if_its_certificate_is_trusted() {
    let (origin, _) = one_skill();
    let server = GitServer::start(origin.room(), Serve::WithToken(TOKEN.to_owned()));
    let (own, other) = (authority(), authority());
    let host = with_tls(&own, server.host());
    for (trusted, code) in [(&own, 0), (&other, 2)] {
        let project = Project::new();
        project.file("ca.pem", trusted.pem());
        let ca = project.path("ca.pem");
        project.file(
            ".gitconfig",
            format!("[http]\n\tsslCAInfo = {}\n", ca.display()),
        );
        let mut list = project.command();
        list.args(["list", "--repo", &format!("https://{host}/origin.git")]);
        list.args(["--set", &format!("git.token_hosts={host}")])
            .env("GITHUB_TOKEN", TOKEN);
        let listed = finish(&mut list);
        assert_eq!(listed.code, Some(code), "{}", listed.stderr);
        assert!(!listed.stderr.contains(TOKEN), "{}", listed.stderr);
        fs::remove_file(ca).expect("it is there");
    }
}
