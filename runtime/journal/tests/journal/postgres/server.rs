//! A PostgreSQL server of the tests' own: a private directory, a socket in it, ended by its pid.

use std::env;
use std::fs::{self, File, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::common::PATIENCE;

/// The user that the server runs as if the tests run as root: it refuses root. "nobody".
const USER: u32 = 65_534;

/// A running server. Ends when it is dropped.
pub(crate) struct Server {
    directory: TempDir,
    programs: PathBuf,
    port: u16,
    process: Mutex<Child>,
}

/// The server that tests share, if there is a PostgreSQL here. Each takes a database of its own.
pub(crate) fn shared() -> Option<Arc<Server>> {
    static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let server = Arc::new(Server::start()?);
    *shared = Arc::downgrade(&server);
    Some(server)
}

impl Server {
    /// Starts one; `None`, with a line that says so, if there is no PostgreSQL here.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(|_| {})
    }

    /// The same with a data directory that `prepare` may change first.
    pub(crate) fn start_with(prepare: impl FnOnce(&Path)) -> Option<Self> {
        let Some(programs) = programs() else {
            let line = "SKIPPED: no PostgreSQL server in PATH, pg_config --bindir or /usr/lib/postgresql\n";
            // Not by `eprint`, which the test harness keeps to itself.
            drop(std::io::Write::write_all(
                &mut std::io::stderr(),
                line.as_bytes(),
            ));
            return None;
        };
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        for name in ["data", "socket"] {
            let path = directory.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
            own(&path);
        }
        // Others that need a port on loopback ask the system for one, too.
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let data = directory.path().join("data");
        let output = as_user(&programs.join("initdb"))
            .args([
                "--auth=trust",
                "--username=postgres",
                "--no-sync",
                "--encoding=UTF8",
            ])
            .args(["--locale=C", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        prepare(&data);
        let process = Mutex::new(launch(&programs, directory.path(), port));
        let server = Self {
            directory,
            programs,
            port,
            process,
        };
        server.wait();
        Some(server)
    }

    /// The address of a database, over the socket.
    pub(crate) fn url(&self, database: &str) -> String {
        let socket = self.directory.path().join("socket");
        let socket = socket.to_str().unwrap().replace('/', "%2F");
        format!("postgres://postgres@{socket}:{}/{database}", self.port)
    }

    /// The same over loopback.
    pub(crate) fn tcp_url(&self, database: &str, parameters: &str) -> String {
        let port = self.port;
        format!("postgres://postgres:hunter2@127.0.0.1:{port}/{database}?{parameters}")
    }

    /// An empty database. Returns its address.
    pub(crate) fn create(&self, database: &str) -> String {
        self.query("postgres", &format!("CREATE DATABASE {database}"));
        self.url(database)
    }

    /// The rows of the last statement.
    pub(crate) fn query(&self, database: &str, sql: &str) -> Vec<Vec<Option<String>>> {
        self.try_query(database, sql).unwrap()
    }

    /// The one value of a query.
    pub(crate) fn value(&self, database: &str, sql: &str) -> String {
        let rows = self.query(database, sql);
        rows[0][0].clone().expect("it is not null")
    }

    fn try_query(
        &self,
        database: &str,
        sql: &str,
    ) -> Result<Vec<Vec<Option<String>>>, tokio_postgres::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let url = self.url(database);
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
            tokio::spawn(connection);
            let messages = client.simple_query(sql).await?;
            let rows = messages.into_iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            });
            let values = rows.map(|row| {
                let columns = 0..row.len();
                columns.map(|it| row.get(it).map(str::to_owned)).collect()
            });
            Ok(values.collect())
        })
    }

    /// Kills the server as a power cut would.
    pub(crate) fn kill(&self) {
        let mut process = self.process.lock().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Starts it again after it was killed.
    pub(crate) fn restart(&self) {
        *self.process.lock().unwrap() = launch(&self.programs, self.directory.path(), self.port);
        self.wait();
    }

    /// Waits until it answers. After a kill it refuses to start while its old children end.
    fn wait(&self) {
        let started = Instant::now();
        while self.try_query("postgres", "SELECT 1").is_err() {
            let log = || fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
            assert!(
                started.elapsed() < PATIENCE,
                "it does not answer: {}",
                log()
            );
            let mut process = self.process.lock().unwrap();
            if process.try_wait().unwrap().is_some() {
                *process = launch(&self.programs, self.directory.path(), self.port);
            }
            drop(process);
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let process = self
            .process
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Ok(None) = process.try_wait() {
            // Ends without waiting for clients.
            let pid = Pid::from_child(process);
            if kill_process(pid, Signal::QUIT).is_err() {
                drop(process.kill());
            }
            drop(process.wait());
        }
    }
}

/// Gives a file to the user that the server runs as.
pub(crate) fn own(path: &Path) {
    if geteuid().is_root() {
        chown(path, Some(USER), Some(USER)).unwrap();
    }
}

/// Where the programs of PostgreSQL are.
fn programs() -> Option<PathBuf> {
    let configured = Command::new("pg_config").arg("--bindir").output().ok();
    let configured = configured.filter(|it| it.status.success()).map(|it| {
        let path = String::from_utf8_lossy(&it.stdout).trim().to_owned();
        PathBuf::from(path)
    });
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let versions = versions.filter_map(|it| Some(it.ok()?.path().join("bin")));
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places = configured.into_iter().chain(versions).collect::<Vec<_>>();
    places.extend(env::split_paths(&path));
    let mut places = places.into_iter();
    places.find(|it| it.join("initdb").is_file() && it.join("postgres").is_file())
}

fn launch(programs: &Path, directory: &Path, port: u16) -> Child {
    let log = File::options()
        .create(true)
        .append(true)
        .open(directory.join("log"))
        .unwrap();
    // A killed server loses nothing that it has handed to the system, so nothing need wait for disks.
    as_user(&programs.join("postgres"))
        .arg("-D")
        .arg(directory.join("data"))
        .arg("-k")
        .arg(directory.join("socket"))
        .args(["-p", &port.to_string(), "-c", "fsync=off"])
        .args([
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "max_connections=50",
        ])
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}

fn as_user(program: &Path) -> Command {
    if !geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let user = USER.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    command.arg(program).current_dir("/");
    command
}
