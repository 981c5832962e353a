//! An HTTP server of the tests' own, on this machine: it answers as it is told, and remembers what it
//! was asked.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use skillbundle_journal::Endpoint;

use crate::common::PATIENCE;

/// What is in the address and must be in no message.
pub(crate) const SECRET: &str = "canary-token";

/// How the server answers a request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// With this head, after the status line's `HTTP/1.1 `, and a body.
    Head(String),
    /// With success, after somebody else has come to the barrier.
    After(Arc<Barrier>),
    /// Not at all.
    Hang,
    /// One byte of the head after the other, for ever.
    DripHead,
    /// With a status of 200 and then one byte of the body after the other, for ever.
    DripBody,
    /// It closes the connection after the whole request.
    Close,
    /// It closes the connection within the head.
    CloseInHead,
    /// It closes the connection after the head of a success, within the body.
    CloseInBody,
    /// With what is not HTTP.
    Garbage,
    /// With a head without an end.
    EndlessHead,
}

/// A request that came completely.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The request line and the headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether it was answered with success.
    pub(crate) accepted: bool,
}

/// A server at a port. Ends when it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    requests: Mutex<Vec<Request>>,
    /// Answers to come; after them every request succeeds.
    answers: Mutex<VecDeque<Answer>>,
    /// The connection that is being served.
    current: Mutex<Option<TcpStream>>,
    ending: AtomicBool,
}

impl Answer {
    /// An answer with this status and these headers, each with its line end.
    pub(crate) fn status(status: &str, headers: &str) -> Self {
        Self::Head(format!("{status}\r\n{headers}"))
    }

    fn is_success(&self) -> bool {
        match self {
            Self::Head(head) => head.starts_with('2'),
            Self::After(_) | Self::DripBody | Self::CloseInBody => true,
            _ => false,
        }
    }
}

impl Request {
    /// The value of a header; empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|it| it.split_once(": "));
        lines
            .find(|(it, _)| *it == name)
            .map_or("", |(_, value)| value)
    }

    pub(crate) fn events(&self) -> Vec<serde_json::Value> {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
        body["events"].as_array().unwrap().clone()
    }

    /// The ids of its events.
    pub(crate) fn ids(&self) -> Vec<String> {
        let events = self.events();
        let ids = events.iter().map(|it| it["id"].as_str().unwrap());
        ids.map(str::to_owned).collect()
    }
}

impl Server {
    /// One that answers with these, and then with success.
    pub(crate) fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::start_with(answers, |mut stream, serve| serve(&mut stream))
    }

    /// The same with something between the connection and HTTP, such as TLS.
    pub(crate) fn start_with(
        answers: impl IntoIterator<Item = Answer>,
        wrap: impl Fn(TcpStream, &mut dyn FnMut(&mut dyn Stream)) + Send + 'static,
    ) -> Self
where {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        state.answers.lock().unwrap().extend(answers);
        let own = Arc::clone(&state);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if own.ending.load(Ordering::Acquire) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                *own.current.lock().unwrap() = stream.try_clone().ok();
                // A client that is gone is one of the things that happen here.
                wrap(stream, &mut |stream| drop(own.serve(stream)));
                // The last handle of the connection, which ends with it.
                *own.current.lock().unwrap() = None;
            }
        });
        Self {
            address,
            state,
            thread: Some(thread),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Its address, with a secret in it.
    pub(crate) fn endpoint(&self) -> Endpoint {
        endpoint(self.port())
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap().clone()
    }

    /// The ids of all events that it has accepted, in the order in which they came.
    pub(crate) fn accepted(&self) -> Vec<String> {
        let requests = self.requests();
        let accepted = requests.iter().filter(|it| it.accepted);
        accepted.flat_map(Request::ids).collect()
    }
}

/// The address of a server on this machine, with a secret in it.
pub(crate) fn endpoint(port: u16) -> Endpoint {
    let text = format!("http://127.0.0.1:{port}/{SECRET}?token={SECRET}");
    text.parse().unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.ending.store(true, Ordering::Release);
        // Wakes it, whether it waits within an answer or for the next connection.
        if let Some(stream) = self.state.current.lock().unwrap().take() {
            drop(stream.shutdown(Shutdown::Both));
        }
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// A connection.
pub(crate) trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

impl State {
    fn serve(&self, stream: &mut dyn Stream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let mut request = Request {
            head: head.to_lowercase(),
            body: String::new(),
            accepted: false,
        };
        if !request.head.starts_with("post ") {
            let refused = "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n";
            return reader.into_inner().write_all(refused.as_bytes());
        }
        let length: u64 = request.header("content-length").parse().unwrap();
        reader
            .by_ref()
            .take(length)
            .read_to_string(&mut request.body)?;
        if request.body.len() as u64 != length {
            return Ok(());
        }
        let answer = self.answers.lock().unwrap().pop_front();
        let answer = answer.unwrap_or_else(|| Answer::status("200 OK", ""));
        request.accepted = answer.is_success();
        self.requests.lock().unwrap().push(request);
        self.answer(reader.into_inner(), &answer)
    }

    fn answer(&self, to: &mut dyn Stream, answer: &Answer) -> io::Result<()> {
        let success = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
        match answer {
            Answer::Head(head) => {
                let length = "Content-Length: 3\r\nConnection: close\r\n\r\nok\n";
                to.write_all(format!("HTTP/1.1 {head}{length}").as_bytes())
            }
            Answer::After(barrier) => {
                barrier.wait();
                to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
            Answer::Hang => {
                while !self.ending.load(Ordering::Acquire) {
                    // Until the client is gone.
                    if to.read(&mut [0])? == 0 {
                        break;
                    }
                }
                Ok(())
            }
            Answer::DripHead => {
                to.write_all(b"HTTP/1.1 200 OK\r\n")?;
                self.drip(to)
            }
            Answer::DripBody => {
                to.write_all(success.as_bytes())?;
                self.drip(to)
            }
            Answer::Close => Ok(()),
            Answer::CloseInHead => to.write_all(b"HTTP/1.1 200 OK\r\nContent-Le"),
            Answer::CloseInBody => to.write_all(format!("{success}ok").as_bytes()),
            Answer::Garbage => to.write_all(b"220 smtp.example.com ready\r\n"),
            Answer::EndlessHead => {
                to.write_all(b"HTTP/1.1 200 OK\r\n")?;
                loop {
                    to.write_all(b"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n")?;
                }
            }
        }
    }

    /// Writes until the client is gone.
    fn drip(&self, to: &mut dyn Stream) -> io::Result<()> {
        while !self.ending.load(Ordering::Acquire) {
            to.write_all(b"x")?;
            to.flush()?;
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}
