//! What common programs need of the system. Each works at every level, unless it says where not.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use skillbundle_exec::{Isolation, Runner};

use crate::Case;
use crate::kit::{bash, output, perl, program, run, text, with};

pub(crate) const CASES: &[Case] = &[
    ("shells", shells),
    ("perl_loads_modules", perl_loads_modules),
    ("node_runs", node_runs),
    ("python_runs", python_runs),
    (
        "directories_below_tmp_and_closed_ones",
        directories_below_tmp_and_closed_ones,
    ),
    ("a_readable_link", a_readable_link),
    (
        "a_caller_in_a_directory_that_is_gone",
        a_caller_in_a_directory_that_is_gone,
    ),
];

fn shells(level: Isolation) {
    for (script, expected) in [
        ("cat <(echo substituted)", "substituted\n"),
        ("diff <(echo a) <(echo a) && echo same", "same\n"),
        ("cat <<< here", "here\n"),
        ("echo x | tee /dev/stderr | cat /dev/stdin", "x\n"),
        ("f=$(mktemp) && echo made > $f && cat $f", "made\n"),
        ("d=$(mktemp -d) && cd $d && ls -A | wc -l", "0\n"),
        ("printf '%s' \"${#V}\"; V=äö; echo ${#V}", "02\n"),
        ("sort <<< $'b\\na'", "a\nb\n"),
        ("echo $(( $(id -u) > 0 ))", "1\n"),
        (
            "echo '#!/bin/sh' > x; echo 'echo made' >> x; chmod +x x; ./x",
            "made\n",
        ),
        ("cp -p $0 copy && cmp $0 copy && echo copied", "copied\n"),
        (
            "tar c -C $SKILL_DIR scripts | tar xO | cmp - $0 && echo packed",
            "packed\n",
        ),
        ("head -c 3 /dev/zero | wc -c; echo x > /dev/null", "3\n"),
        ("head -c 8 /dev/urandom | wc -c", "8\n"),
        ("timeout 5 sleep 0; echo $?", "0\n"),
        ("(sleep 0.1; echo late) & wait; echo end", "late\nend\n"),
        ("date +%Y > /dev/null && echo dated", "dated\n"),
        ("nohup echo on 2>/dev/null", "on\n"),
        ("kill -0 $$ && echo own", "own\n"),
        ("sleep 60 & kill $!; wait $!; echo $?", "143\n"),
    ] {
        let outcome = run(level, bash(script));
        assert_eq!(
            text(&outcome.stdout),
            expected,
            "{script}: {}",
            text(&outcome.stderr)
        );
    }
    if Runner::find("git").is_ok() {
        // A level that cannot hide the system's settings denies them, which git takes for a fault.
        let script = "export GIT_CONFIG_NOSYSTEM=1; git --version > /dev/null && git init -q . && git -c user.name=a -c user.email=b \
            commit -q --allow-empty -m x && git log --format=%s";
        assert_eq!(output(level, bash(script)), "x\n");
    }
}

fn perl_loads_modules(level: Isolation) {
    let script = "use POSIX; use File::Temp; use Socket;
        my ($t, $name) = File::Temp::tempfile(); print $t 'x'; close $t;
        print -s $name; print `echo run`;
        socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die; syswrite $a, 'pair'; sysread $b, my $got, 4; print $got;";
    assert_eq!(output(level, perl(script)), "1run\npair");
}

fn node_runs(level: Isolation) {
    if Runner::find("node").is_err() {
        return;
    }
    let script = "
        const { execFileSync } = require('child_process'), fs = require('fs'), os = require('os');
        fs.writeFileSync(os.tmpdir() + '/x', 'x'.repeat(1 << 20));
        const { Worker } = require('worker_threads');
        fs.promises.readFile(os.tmpdir() + '/x').then(read => {
            const worker = new Worker('require(\"worker_threads\").parentPort.postMessage(1 + 1)', { eval: true });
            worker.on('message', two => console.log(read.length, two, execFileSync('echo', ['child']).toString().trim()));
        });";
    assert_eq!(
        output(level, program("node", "run.js", script)),
        "1048576 2 child\n"
    );
}

fn python_runs(level: Isolation) {
    let Ok(runner) = Runner::find("python3") else {
        return;
    };
    if !may_all_read(&runner) && level != Isolation::Namespaces {
        // Installed in a home directory of root, where only this level goes.
        return;
    }
    let script = "
import json, os, sqlite3, subprocess, tempfile, threading
with tempfile.TemporaryDirectory() as d:
    c = sqlite3.connect(os.path.join(d, 'db')); c.execute('create table t(x)'); c.commit()
t = [threading.Thread(target=lambda: None) for _ in range(20)]
[x.start() for x in t]; [x.join() for x in t]
print(subprocess.run(['echo', 'child'], capture_output=True).stdout.decode().strip(), 'ä')
";
    assert_eq!(
        output(level, program("python3", "run.py", script)),
        "child ä\n"
    );
    if level == Isolation::Landlock {
        // Its semaphores have names in /dev/shm, which all processes share.
        return;
    }
    let script = "
import multiprocessing as m
def f(x): return x * x
if __name__ == '__main__':
    with m.Pool(3) as p: print(p.map(f, range(5)))
    q = m.Queue(); x = m.Process(target=q.put, args=(1,)); x.start(); print(q.get()); x.join()
    with m.Manager() as g: print(list(g.list([1])))
";
    assert_eq!(
        output(level, program("python3", "run.py", script)),
        "[0, 1, 4, 9, 16]\n1\n[1]\n"
    );
}

pub(crate) fn may_all_read(runner: &Runner) -> bool {
    let mut above = runner.program.ancestors().skip(1);
    above.all(|it| fs::metadata(it).unwrap().permissions().mode() & 0o5 == 0o5)
}

fn directories_below_tmp_and_closed_ones(level: Isolation) {
    let open = tempfile::tempdir().unwrap();
    let closed = open.path().join("closed");
    let deep = closed.join("deep");
    fs::create_dir_all(&deep).unwrap();
    fs::write(open.path().join("file"), "a").unwrap();
    fs::write(deep.join("file"), "b").unwrap();
    for (directory, mode) in [(open.path(), 0o755), (&closed, 0o700)] {
        fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
    }
    let reads = |readable: &[&Path]| {
        let script = "cat $OPEN/file $DEEP/file 2>/dev/null; { echo > $DEEP/x; } 2>/dev/null && echo wrote; true";
        let name = |it: &Path| it.to_str().unwrap().to_owned();
        let mut program = with(
            bash(script),
            &[("OPEN", &name(open.path())), ("DEEP", &name(&deep))],
        );
        program.readable = readable.iter().map(|it| (*it).to_owned()).collect();
        output(level, program)
    };
    let is_root = rustix::process::geteuid().is_root();
    // As root the program is another user, who does not get through closed directories. A namespace
    // has only the one that is named.
    let through = if is_root { "" } else { "b" };
    let named = if level == Isolation::Namespaces {
        "b"
    } else {
        through
    };
    if level == Isolation::Weak {
        assert_eq!(reads(&[]), if is_root { "a" } else { "abwrote\n" });
        return;
    }
    assert_eq!(reads(&[open.path()]), format!("a{through}"));
    assert_eq!(reads(&[open.path(), &deep]), format!("a{through}"));
    assert_eq!(reads(&[&deep]), named);
    assert_eq!(reads(&[]), "");
}

fn a_readable_link(level: Isolation) {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(directory.path().join("real")).unwrap();
    fs::write(directory.path().join("real/file"), "through").unwrap();
    symlink("real", directory.path().join("link")).unwrap();
    let mut program = bash("cat file");
    program.readable = vec![directory.path().join("link")];
    program.directory = Some(directory.path().join("link"));
    assert_eq!(output(level, program), "through");
}

fn a_caller_in_a_directory_that_is_gone(level: Isolation) {
    // In a process of its own, since all threads share a directory.
    let mut shell = std::process::Command::new("sh");
    shell.args([
        "-c",
        "d=$(mktemp -d) && cd $d && rmdir $d && exec \"$0\" --call $1 wait",
        &format!("/proc/{}/exe", std::process::id()),
        level.as_str(),
    ]);
    shell
        .env("TEST_VARIABLES", "[]")
        .stdin(std::process::Stdio::piped());
    let mut process = shell.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"echo fine").unwrap();
    drop(input);
    let output = process.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "Some(0) \"fine\\n\"\n"
    );
}
