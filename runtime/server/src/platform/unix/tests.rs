//! Pipes, sockets and files: each is read to its end, none blocks the thread
//! on a reader that waits, and no flag of a shared description is touched.

use std::fs::File;
use std::io::{PipeReader, Read, Write as _, pipe};
use std::os::unix::net::UnixStream;
use std::thread;

use rustix::fs::fcntl_getfl;

use super::*;

fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

/// Writes until there is no room.
fn fill(output: &Output) -> usize {
    let mut written = 0;
    loop {
        match output.write_now(&[b'x'; 4096]) {
            Ok(some) => written += some,
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                return written;
            }
        }
    }
}

fn blocks(fd: impl AsFd) -> bool {
    !fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK)
}

/// Fills, lets somebody read, and writes on as soon as there is room.
async fn fill_and_go_on(output: Output, mut reader: impl Read + Send + 'static) -> usize {
    let written = fill(&output);
    let read = thread::spawn(move || {
        let mut buffer = vec![0; written];
        reader.read_exact(&mut buffer).unwrap();
        reader
    });
    let more = output
        .when_writable(|| output.write_now(b"more"))
        .await
        .unwrap();
    drop(read.join().unwrap());
    output.reader_gone().await;
    more
}

#[test]
fn a_full_pipe_does_not_block_and_its_flags_stay() {
    on_runtime(async {
        let (reader, writer) = pipe().unwrap();
        let output = Output::new(writer.as_fd()).unwrap();
        assert_eq!(output.how, Write::Own);
        assert!(blocks(&writer), "the flag is on a description of our own");
        drop(writer);
        assert_eq!(fill_and_go_on(output, reader).await, 4);
    });
}

#[test]
fn a_full_socket_does_not_block_and_its_flags_stay() {
    on_runtime(async {
        let (reader, writer) = UnixStream::pair().unwrap();
        let output = Output::new(writer.as_fd()).unwrap();
        assert_eq!(output.how, Write::Socket);
        assert!(blocks(&writer));
        drop(writer);
        assert_eq!(fill_and_go_on(output, reader).await, 4);
    });
}

#[test]
fn a_file_takes_everything() {
    on_runtime(async {
        let mut file = tempfile::tempfile().unwrap();
        let output = Output::new(file.as_fd()).unwrap();
        assert_eq!(output.how, Write::Waiting);
        assert_eq!(output.write_now(b"one\n").unwrap(), 4);
        assert_eq!(
            output
                .when_writable(|| output.write_now(b"two\n"))
                .await
                .unwrap(),
            4
        );
        let mut text = String::new();
        io::Seek::rewind(&mut file).unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\n");
    });
}

#[test]
fn a_reader_that_is_gone_before_is_seen() {
    on_runtime(async {
        let (reader, writer) = pipe().unwrap();
        drop::<PipeReader>(reader);
        Output::new(writer.as_fd()).unwrap().reader_gone().await;
    });
}

#[test]
fn every_kind_of_input_is_read_to_its_end() {
    let sent: Vec<u8> = (0..300_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let (pipe_end, mut pipe_in) = pipe().unwrap();
    let (socket_end, mut socket_in) = UnixStream::pair().unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&sent).unwrap();
    let from_file = File::open(file.path()).unwrap();
    let (to_pipe, to_socket) = (sent.clone(), sent.clone());
    let writers = [
        thread::spawn(move || pipe_in.write_all(&to_pipe).unwrap()),
        thread::spawn(move || socket_in.write_all(&to_socket).unwrap()),
    ];
    let ends: [OwnedFd; 4] = [
        pipe_end.into(),
        socket_end.into(),
        from_file.into(),
        File::open("/dev/null").unwrap().into(),
    ];
    for (at, end) in ends.into_iter().enumerate() {
        let received = on_runtime(async {
            let (mut input, mut received) = (Input::new(end).unwrap(), Vec::new());
            while input.read(&mut received).await.unwrap() > 0 {}
            received
        });
        assert!(
            received == if at == 3 { Vec::new() } else { sent.clone() },
            "kind {at}"
        );
    }
    for writer in writers {
        writer.join().unwrap();
    }
}
