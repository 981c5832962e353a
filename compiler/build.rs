//! Sets the cfg `has_corpus` if a corpus of real skills exists, so that the tests that
//! need one count as ignored without it. `SKILLBUNDLE_CORPUS` names the folder; the
//! default is beside the workspace. After adding the default one, touch this file.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_corpus)");
    println!("cargo::rerun-if-env-changed=SKILLBUNDLE_CORPUS");
    // Not the corpus itself: Cargo would look at every file of it in each build.
    println!("cargo::rerun-if-changed=build.rs");
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let corpus = env::var_os("SKILLBUNDLE_CORPUS").map_or_else(
        || Path::new(&package).join("../../shared/corpus"),
        PathBuf::from,
    );
    println!("cargo::rustc-env=CORPUS_DIR={}", corpus.display());
    if corpus.is_dir() {
        println!("cargo::rustc-cfg=has_corpus");
    }
}
