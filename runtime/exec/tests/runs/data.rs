//! Directories that a program may change, and what it keeps there from one run to the next.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use skillbundle_exec::{Executor, Isolation, Program, Runner, prepare_data_directory};
use tempfile::TempDir;

use crate::Case;
use crate::kit::{bash, output, perl, program, refusal, run, text, with};
use crate::system::may_all_read;

pub(crate) const CASES: &[Case] = &[
    ("files_stay", files_stay),
    ("wherever_it_lies", wherever_it_lies),
    ("every_kind_of_change", every_kind_of_change),
    ("the_innermost_counts", the_innermost_counts),
    ("sqlite_keeps_rows", sqlite_keeps_rows),
    ("sqlite_loses_no_update", sqlite_loses_no_update),
    ("a_link_is_no_data_directory", a_link_is_no_data_directory),
    ("out_of_reach", out_of_reach),
    ("only_what_is_meant_for_it", only_what_is_meant_for_it),
    ("one_that_is_closed", one_that_is_closed),
];

/// A directory that all may enter, for one of data.
fn around() -> TempDir {
    let around = tempfile::tempdir().unwrap();
    fs::set_permissions(around.path(), Permissions::from_mode(0o755)).unwrap();
    around
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A program with this directory in `DATA`, which it may change.
fn keeping(program: Program, data: &Path) -> Program {
    let mut program = with(program, &[("DATA", data.to_str().unwrap())]);
    program.writable = vec![data.to_owned()];
    program
}

fn files_stay(level: Isolation) {
    let around = around();
    let data = prepare_data_directory(&around.path().join("data")).unwrap();
    let script = "cat $DATA/count 2>/dev/null; echo x >> $DATA/count; ls -A $DATA";
    assert_eq!(output(level, keeping(bash(script), &data)), "count\n");
    assert_eq!(prepare_data_directory(&data).unwrap(), data);
    assert_eq!(output(level, keeping(bash(script), &data)), "x\ncount\n");
    assert_eq!(fs::read(data.join("count")).unwrap(), b"x\nx\n");
    let mut there = keeping(bash("pwd; cat count"), &data);
    there.directory = Some(data.clone());
    let expected = format!("{}\nx\nx\n", data.display());
    assert_eq!(output(level, there), expected);
    // Only what is named now may be changed.
    let mut other = keeping(bash("{ echo y >> $DATA/count; } 2>/dev/null; true"), &data);
    other.writable = Vec::new();
    output(level, other);
    let kept = fs::read(data.join("count")).unwrap();
    assert_eq!(kept == b"x\nx\n", level != Isolation::Weak);
}

/// In directories of the system, of which some have a part of their own in namespaces.
fn wherever_it_lies(level: Isolation) {
    for place in ["/dev/shm", "/var/tmp", "/run", "/opt", "/usr/local/lib"] {
        // Only root may make one in most of them.
        let Ok(around) = tempfile::tempdir_in(place) else {
            continue;
        };
        fs::set_permissions(around.path(), Permissions::from_mode(0o755)).unwrap();
        let data = prepare_data_directory(&around.path().join("data")).unwrap();
        let script =
            "echo kept > $DATA/file; { echo x > $DATA/../file; } 2>/dev/null; cat $DATA/file";
        assert_eq!(
            output(level, keeping(bash(script), &data)),
            "kept\n",
            "{place}"
        );
        assert_eq!(fs::read(data.join("file")).unwrap(), b"kept\n");
        if level != Isolation::Weak {
            assert!(!around.path().join("file").exists(), "{place}");
        }
    }
}

fn every_kind_of_change(level: Isolation) {
    let around = around();
    let data = prepare_data_directory(&around.path().join("data")).unwrap();
    let script = r#"
        use Fcntl ':flock'; use IO::Handle;
        chdir $ENV{DATA} or die;
        my $do = sub { my ($name, $done) = @_; print "$name: $!\n" if !$done };
        $do->('mkdir', mkdir 'd'); $do->('mkdir', mkdir 'd/e');
        open my $f, '+>', 'd/f' or die "open: $!";
        $do->('write', print $f 'text'); $do->('flush', $f->flush); $do->('sync', $f->sync);
        $do->('flock', flock $f, LOCK_EX);
        $do->('truncate', truncate $f, 2);
        $do->('link', link 'd/f', 'd/g'); $do->('symlink', symlink 'f', 'd/h');
        $do->('rename', rename 'd/g', 'd/e/g'); open my $new, '>', 'd/new'; $do->('replace', rename 'd/new', 'd/f');
        $do->('chmod', chmod 0640, 'd/e/g'); $do->('utime', utime 1, 1, 'd/e/g');
        $do->('unlink', unlink 'd/e/g'); $do->('unlink', unlink 'd/h', 'd/f');
        $do->('fifo', system('mkfifo p') == 0); unlink 'p';
        $do->('rmdir', rmdir 'd/e'); $do->('rmdir', rmdir 'd');
        opendir my $d, '.'; print join ' ', sort readdir $d;
    "#;
    assert_eq!(output(level, keeping(perl(script), &data)), ". ..");
}

fn the_innermost_counts(level: Isolation) {
    let around = around();
    let outer = around.path().join("outer");
    fs::create_dir(&outer).unwrap();
    fs::write(outer.join("file"), "").unwrap();
    let data = prepare_data_directory(&outer.join("data")).unwrap();
    let script = "cd $OUTER; for f in file new data/new data/fixed/file; do
        { echo x >> $f; } 2>/dev/null && echo $f; done; true";
    let inner = |readable: &[&Path]| {
        let mut program = with(
            keeping(bash(script), &data),
            &[("OUTER", outer.to_str().unwrap())],
        );
        program.readable = readable.iter().map(|it| (*it).to_owned()).collect();
        program
    };
    if level != Isolation::Weak {
        assert_eq!(output(level, inner(&[&outer])), "data/new\n");
        // One that is named for both may be changed.
        assert_eq!(output(level, inner(&[&outer, &data])), "data/new\n");
    }
    let fixed = data.join("fixed");
    fs::create_dir(&fixed).unwrap();
    fs::write(fixed.join("file"), "").unwrap();
    if is_root() {
        for path in [&fixed, &fixed.join("file")] {
            chown(path, Some(65534), Some(65534)).unwrap();
        }
    }
    let both = inner(&[&outer, &fixed]);
    match level {
        Isolation::Weak => {}
        Isolation::Landlock => {
            let reason = refusal(level, both);
            assert!(
                reason.contains("fixed lies in a directory that scripts may change"),
                "{reason}"
            );
        }
        Isolation::Bubblewrap | Isolation::Namespaces => {
            assert_eq!(output(level, both), "data/new\n");
        }
    }
    // A link in what is shown leads nowhere but inside.
    let target = prepare_data_directory(&around.path().join("target")).unwrap();
    symlink(&target, outer.join("link")).unwrap();
    let mut through = keeping(bash("echo x > $DATA/new"), &outer.join("link/in"));
    prepare_data_directory(&target.join("in")).unwrap_or_default();
    through.readable = vec![outer.clone()];
    if level == Isolation::Namespaces && !is_root() {
        let reason = refusal(level, through);
        assert!(reason.contains("is a symbolic link"), "{reason}");
    }
    assert!(!around.path().join("new").exists());
}

/// A Python that every user may run, if there is one.
fn python(text: &str) -> Option<Program> {
    let found = ["python3", "/usr/bin/python3"].into_iter();
    let mut found = found.filter_map(|it| Runner::find(it).ok());
    let runner = found.find(may_all_read)?;
    let any = program("bash", "run.py", text);
    Some(Program { runner, ..any })
}

const ADD: &str = r"
import os, sqlite3, sys
path = os.path.join(os.environ['DATA'], os.environ['MODE'] + '.db')
db = sqlite3.connect(path, timeout=60, isolation_level=None)
mode = db.execute('pragma journal_mode=' + os.environ['MODE']).fetchone()[0]
db.execute('pragma mmap_size=1048576')
db.execute('pragma synchronous=full')
for _ in range(int(os.environ['TIMES'])):
    db.execute('begin immediate')
    db.execute('create table if not exists counts(name text primary key, n integer)')
    n = db.execute('select n from counts').fetchone()
    db.execute('insert or replace into counts values (?, ?)', ('a', (n[0] if n else 0) + 1))
    db.execute('commit')
print(mode, db.execute('select n from counts').fetchone()[0], db.execute('pragma integrity_check').fetchone()[0])
";

fn adding(data: &Path, mode: &str, times: usize) -> Option<Program> {
    let program = keeping(python(ADD)?, data);
    Some(with(
        program,
        &[("MODE", mode), ("TIMES", &times.to_string())],
    ))
}

fn sqlite_keeps_rows(level: Isolation) {
    let around = around();
    let data = prepare_data_directory(&around.path().join("data")).unwrap();
    for mode in ["wal", "delete", "persist", "truncate"] {
        for count in 1..=2 {
            let Some(program) = adding(&data, mode, 1) else {
                return;
            };
            assert_eq!(output(level, program), format!("{mode} {count} ok\n"));
        }
    }
}

fn sqlite_loses_no_update(level: Isolation) {
    const AT_ONCE: usize = 8;
    const TIMES: usize = 5;
    let around = around();
    let data = prepare_data_directory(&around.path().join("data")).unwrap();
    let executor = Executor::new(level, level);
    for mode in ["wal", "delete"] {
        let Some(program) = adding(&data, mode, TIMES) else {
            return;
        };
        // Alone, since SQLite waits for nobody while it gives a new file its mode.
        let first = adding(&data, mode, 1).unwrap();
        assert_eq!(output(level, first), format!("{mode} 1 ok\n"));
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    let run = executor.start(program.clone()).unwrap();
                    let outcome = run.wait(|_| ()).unwrap();
                    assert_eq!(outcome.exit_code, Some(0), "{}", text(&outcome.stderr));
                });
            }
        });
        let last = adding(&data, mode, 0).unwrap();
        let all = 1 + AT_ONCE * TIMES;
        assert_eq!(output(level, last), format!("{mode} {all} ok\n"));
    }
}

/// It may have been put there in place of the directory.
fn a_link_is_no_data_directory(level: Isolation) {
    let around = around();
    let target = prepare_data_directory(&around.path().join("target")).unwrap();
    let link = around.path().join("link");
    symlink(&target, &link).unwrap();
    let refused = prepare_data_directory(&link).unwrap_err().to_string();
    assert!(refused.contains("it is a symbolic link"), "{refused}");
    let reason = refusal(level, keeping(bash("echo x > $DATA/x"), &link));
    assert!(reason.contains("link"), "{reason}");
    assert!(!target.join("x").exists());
    // On the way there one is followed, once.
    let way = around.path().join("way");
    symlink(around.path(), &way).unwrap();
    let found = prepare_data_directory(&way.join("target")).unwrap();
    assert_eq!(found, target.canonicalize().unwrap());
}

fn out_of_reach(level: Isolation) {
    let around = around();
    let closed = around.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let data = prepare_data_directory(&closed.join("data")).unwrap();
    let program = keeping(bash("echo kept > $DATA/file; cat $DATA/file"), &data);
    if !is_root() || level == Isolation::Namespaces {
        assert_eq!(output(level, program), "kept\n");
    } else {
        let reason = refusal(level, program);
        assert!(
            reason.contains("the user of scripts, 65534, cannot use"),
            "{reason}"
        );
    }
    let missing = keeping(bash("true"), &around.path().join("missing"));
    let reason = refusal(level, missing);
    assert!(reason.contains("missing"), "{reason}");
}

fn only_what_is_meant_for_it(_: Isolation) {
    let around = around();
    let refused = |path: &Path| prepare_data_directory(path).unwrap_err().to_string();
    let made = |name: &str, mode: u32| -> PathBuf {
        let path = around.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    };
    // One that is missing, and an empty one, become those of programs alone.
    let owner = if is_root() {
        65534
    } else {
        rustix::process::geteuid().as_raw()
    };
    let empty = made("empty", 0o775);
    for path in [around.path().join("new"), empty] {
        let metadata = fs::metadata(prepare_data_directory(&path).unwrap()).unwrap();
        assert_eq!(metadata.uid(), owner);
        assert_eq!(metadata.mode() & 0o7777, 0o700);
    }
    let file = around.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(refused(&file).contains("not a directory"));
    assert!(refused(&file.join("x")).contains("Not a directory"));
    assert!(refused(Path::new("/")).contains("name of a directory"));
    let below = around.path().join("missing/data");
    assert!(refused(&below).contains("make that directory first"));
    assert!(!around.path().join("missing").exists());
    // Others have files there, or may put some there.
    let full = made("full", 0o755);
    fs::write(full.join("file"), "").unwrap();
    let open = if is_root() {
        assert!(refused(&full).contains("it has files in it and belongs to user 0"));
        chown(&full, Some(65534), Some(65534)).unwrap();
        refused(&full)
    } else {
        refused(&full)
    };
    assert!(
        open.contains("other users may enter it (mode 0755)"),
        "{open}"
    );
    assert_eq!(fs::metadata(&full).unwrap().mode() & 0o7777, 0o755);
    if is_root() {
        let other = made("other", 0o700);
        chown(&other, Some(4321), Some(4321)).unwrap();
        let problem = refused(&other);
        assert!(problem.contains("it belongs to user 4321"), "{problem}");
    } else {
        assert!(refused(Path::new("/usr")).contains("it belongs to user 0"));
    }
}

/// A program may close its directory to itself. That is told to the next run, and does no harm.
fn one_that_is_closed(level: Isolation) {
    let around = around();
    let data = prepare_data_directory(&around.path().join("data")).unwrap();
    let outcome = run(
        level,
        keeping(bash("chmod 0777 $DATA; touch $DATA/x"), &data),
    );
    assert_eq!(outcome.exit_code, Some(0));
    let refused = prepare_data_directory(&data).unwrap_err().to_string();
    assert!(refused.contains("close it with `chmod 700`"), "{refused}");
}
