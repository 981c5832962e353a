//! Any bytes as a skill, a page of a tree and a configuration: the compiler
//! returns a set and diagnostics, and the set can be written and opened.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use skillbundle_compiler::{Options, Root, compile};
use skillbundle_format::{Bundle, write};
use tempfile::TempDir;

/// One folder for the whole run; `TMPDIR=/dev/shm` keeps it in memory.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    fs::create_dir(folder.path().join("skill")).expect("a folder can be made");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    for name in ["skill/SKILL.md", "_root.md", "config.yaml"] {
        fs::write(FOLDER.path().join(name), bytes).expect("a file can be written");
    }
    let root = Root::project(PathBuf::from(FOLDER.path()));
    let compiled = compile(&[root], &Options::default()).expect("the folder can be read");
    let _ = compiled.report.render_human(false);
    let bytes = write(&compiled.set).expect("a compiled set can be written");
    let bundle = Bundle::from_bytes(&bytes).expect("written bytes open");
    bundle.verify().expect("written bytes are sound");
});
