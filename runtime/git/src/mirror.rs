//! A private directory that is a mirror of one directory of a branch: whatever the branch does, the
//! mirror follows, and whatever goes wrong, it keeps what it has.
//!
//! ```text
//! objects.git/    git's objects of the latest commit, in a repository of our own
//! trees/COMMIT/   the files of that commit, written once
//! tree            a link to them, replaced in one step
//! state.json      which commit that is, and since when
//! sync.lock       held by the process that synchronises, and by the gits that write for it
//! tree.lock       held while the link is replaced, and shared while its files are read
//! gate.lock       passed on the way to tree.lock, and held by who waits to replace the link: without
//!                 it, readers that take turns would keep that waiting for ever
//! ```

mod directory;
mod find;
mod locks;

use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::error::GitError;
use crate::location::{Location, USUAL_DIRECTORY};
use crate::program::{Limits, Program, size_of};
use crate::state::{State, Wanted, now};
use crate::token::Token;
use crate::tree::{LeftOut, Listing};
use directory::{in_directory, is_private, link, remove_directory, remove_leftovers};
use find::Found;
pub(crate) use locks::lock_to_remove;

/// The commit that was fetched, and the one that is mirrored.
const INCOMING: &str = "refs/mirror/incoming";
const CURRENT: &str = "refs/mirror/current";

/// Packs of objects before they are made one. Each fetch adds one.
const MOST_PACKS: usize = 8;

/// How soon a lock, or a directory that was removed, is tried again.
const NEXT_TRY: Duration = Duration::from_millis(2);

/// How often a synchronisation starts over if its directory is removed before it has the lock.
const ATTEMPTS: usize = 50;

/// How a repository is mirrored.
#[derive(Debug, Clone)]
pub struct Options {
    /// The token, if there is one, and who may have it.
    pub token: Option<Token>,
    /// How long one synchronisation may take.
    pub timeout: Duration,
    /// Most bytes of what is received, and of the files of a commit.
    pub max_bytes: u64,
}

/// A mirror of a repository. It is what is in its directory, so several processes can have one.
#[derive(Debug)]
pub struct Mirror {
    location: Location,
    directory: PathBuf,
    options: Options,
    /// Found by the first synchronisation.
    program: Mutex<Option<Program>>,
}

/// What a synchronisation has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synced {
    /// What the mirror has now.
    pub state: State,
    /// Files that were added, removed or changed.
    pub files_changed: usize,
}

/// The files of a mirror stay as they are while this lives.
#[derive(Debug)]
pub struct Reading(#[expect(dead_code, reason = "the lock is held until it is dropped")] File);

impl Mirror {
    /// A mirror in this directory, which need not exist and is used by nothing else.
    pub fn new(location: Location, directory: PathBuf, options: Options) -> Self {
        Self {
            location,
            directory,
            options,
            program: Mutex::default(),
        }
    }

    /// What is mirrored.
    pub const fn location(&self) -> &Location {
        &self.location
    }

    /// Where its files are found, if there are any: always the same path. Hold [`Reading`] while
    /// they are read.
    pub fn tree(&self) -> PathBuf {
        self.directory.join("tree")
    }

    /// The commit whose files are there, found by two system calls; `None` if there are none.
    pub fn commit(&self) -> Option<String> {
        let tree = self.tree();
        let target = fs::read_link(&tree).ok()?;
        let commit = target.file_name()?.to_str()?.to_owned();
        tree.is_dir().then_some(commit)
    }

    /// What it has; `None` if it was never synchronised.
    pub fn state(&self) -> Option<State> {
        let state = State::read(&self.file("state.json"))?;
        let is_there = || self.commit().is_some_and(|it| it == state.commit);
        (state.wanted == self.wanted() && is_there()).then_some(state)
    }

    /// Keeps its files as they are, if there are any. Waits, for some milliseconds usually, if they
    /// are being replaced.
    ///
    /// # Errors
    ///
    /// The directory cannot be used, or other users could change it.
    pub fn read(&self) -> Result<Option<Reading>, GitError> {
        let lock = match self.check_privacy().and_then(|()| self.lock_to_read()) {
            Err(error) if error.is_missing() => None,
            lock => Some(lock?),
        };
        Ok(lock.filter(|_| self.commit().is_some()).map(Reading))
    }

    /// Makes it the latest of its branch. What another process is doing is waited for; if that was
    /// successful `fresh` ago or less, it is enough.
    ///
    /// # Errors
    ///
    /// Whatever can go wrong; the mirror has what it had.
    pub fn sync(&self, fresh: Duration) -> Result<Synced, GitError> {
        let began = Instant::now();
        let limits = Limits {
            deadline: began + self.options.timeout,
            timeout: self.options.timeout,
            size: None,
        };
        let lock = self.begin(&limits)?;
        if let Some(state) = self.state()
            && is_fresh(&state, fresh)
        {
            return Ok(Synced {
                state,
                files_changed: 0,
            });
        }
        let program = self.program(&limits)?;
        let found = self.find(&program, &limits)?;
        if let Some(mut state) = self.state()
            && state.commit == found.commit
        {
            state.synced = now();
            state.branch = found.branch;
            self.note(&state)?;
            self.remove_old_trees(&state)?;
            return Ok(Synced {
                state,
                files_changed: 0,
            });
        }
        match self.fetch_and_publish(&program, &found, &lock, &limits) {
            Err(GitError::Failed { .. } | GitError::Answer { .. })
                if self.is_damaged(&program, &limits) =>
            {
                // As after a full disk. A new one costs a transfer.
                remove_directory(&self.repository())?;
                self.fetch_and_publish(&program, &found, &lock, &limits)
            }
            outcome => outcome,
        }
    }

    /// Whether git finds our repository incomplete.
    fn is_damaged(&self, program: &Program, limits: &Limits) -> bool {
        let repository = self.repository();
        let call = program.call(&[
            "fsck",
            "--connectivity-only",
            "--no-dangling",
            "--no-progress",
        ]);
        let checked = call.in_repository(&repository).output(limits);
        matches!(checked, Err(GitError::Failed { .. }))
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            url: self.location.url.clone(),
            reference: self.location.reference.clone(),
            directory: self.location.directory.clone(),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn repository(&self) -> PathBuf {
        self.file("objects.git")
    }

    /// Makes the directory, and takes the lock to synchronise. Tries again if the directory is removed
    /// in between (`skillbundle cache clean`).
    fn begin(&self, limits: &Limits) -> Result<File, GitError> {
        let begin = || {
            self.prepare()?;
            self.lock("sync.lock", limits)
        };
        for _ in 1..ATTEMPTS {
            match begin() {
                Err(error) if error.is_missing() => thread::sleep(NEXT_TRY),
                lock => return lock,
            }
        }
        begin()
    }

    /// Makes the directory.
    fn prepare(&self) -> Result<(), GitError> {
        let path = self.file("trees");
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(in_directory(&path))?;
        self.check_privacy()
    }

    /// Fails if other users could change the files.
    fn check_privacy(&self) -> Result<(), GitError> {
        for path in [&self.directory, &self.file("trees")] {
            let metadata = fs::symlink_metadata(path).map_err(in_directory(path))?;
            if !is_private(&metadata) {
                return Err(GitError::NotPrivate(path.clone()));
            }
        }
        Ok(())
    }

    fn program(&self, limits: &Limits) -> Result<Program, GitError> {
        let mut found = self.program.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = &*found {
            return Ok(program.clone());
        }
        let program = Program::find(&self.directory, limits)?;
        *found = Some(program.clone());
        Ok(program)
    }

    /// Fetches what was found, writes its files, and makes them the current ones.
    fn fetch_and_publish(
        &self,
        program: &Program,
        found: &Found,
        lock: &File,
        limits: &Limits,
    ) -> Result<Synced, GitError> {
        let before = self.state();
        let repository = self.repository();
        // A process that was killed has left it, or a full disk, which it would keep full.
        remove_directory(&self.new_tree())?;
        let git = |arguments: &[&str]| {
            let call = program.call(arguments).in_repository(&repository);
            let output = call.holding(lock).output(limits)?;
            Ok::<_, GitError>(String::from_utf8_lossy(&output).trim().to_owned())
        };
        let format = match found.commit.len() {
            64 => "sha256",
            _ => "sha1",
        };
        if repository.exists() {
            remove_leftovers(&repository);
            // A repository that was made anew may have another one than ours.
            if git(&["rev-parse", "--show-object-format"]).is_ok_and(|it| it != format) {
                remove_directory(&repository)?;
            }
        }
        if !repository.exists() {
            let format = format!("--object-format={format}");
            // No template: no hooks and nothing to be excluded.
            let path = repository.to_string_lossy().into_owned();
            let init = [
                "init",
                "--quiet",
                "--bare",
                "--template=",
                &format,
                "--",
                &path,
            ];
            program.call(&init).holding(lock).output(limits)?;
        }
        let wanted = format!("+{}:{INCOMING}", found.name);
        let most = size_of(&repository).saturating_add(self.options.max_bytes);
        let fetch = program
            .call(&[
                "fetch",
                "--quiet",
                "--depth=1",
                "--update-shallow",
                "--no-tags",
                "--no-recurse-submodules",
                "--no-auto-maintenance",
                "--no-write-fetch-head",
                "--",
                self.location.url(),
                &wanted,
            ])
            .in_repository(&repository)
            .with(&self.location, self.options.token.as_ref())
            .holding(lock);
        let fetched = fetch.output(&Limits {
            size: Some((repository.clone(), most)),
            ..limits.clone()
        });
        fetched.map_err(|error| match error {
            // Without what was there before.
            GitError::TooLarge { .. } => GitError::TooLarge {
                most: self.options.max_bytes,
            },
            error => error,
        })?;
        let commit = git(&["rev-parse", "--verify", &format!("{INCOMING}^{{commit}}")])?;
        let (directory, tree) = self.tree_in(&commit, &git)?;
        let listing = {
            let arguments = ["ls-tree", "-r", "-z", "-l", "--full-tree", &tree];
            let call = program.call(&arguments).in_repository(&repository);
            Listing::read(&call.output(limits)?, self.options.max_bytes, |_| true)?
        };
        let (files, left_out) = self.write(program, listing, limits)?;
        let files_changed = match &before {
            Some(state) if state.tree == tree => 0,
            Some(state) => {
                changes(program, &repository, &state.tree, &tree, limits).unwrap_or(files)
            }
            None => files,
        };
        let state = State {
            commit: commit.clone(),
            branch: found.branch.clone(),
            directory,
            files,
            left_out,
            synced: now(),
            tree,
            wanted: self.wanted(),
        };
        git(&["update-ref", CURRENT, &commit])?;
        git(&["update-ref", "-d", INCOMING])?;
        self.publish(&state, limits)?;
        self.tidy(program, lock, limits);
        Ok(Synced {
            state,
            files_changed,
        })
    }

    /// The directory to mirror, and the hash of what is in it.
    fn tree_in(
        &self,
        commit: &str,
        git: &dyn Fn(&[&str]) -> Result<String, GitError>,
    ) -> Result<(String, String), GitError> {
        let tree_at = |directory: &str| {
            let name = format!("{commit}:{directory}");
            let tree = match git(&["rev-parse", "--verify", "--quiet", &name]) {
                // There is nothing of this name. Any other error says nothing about that.
                Err(GitError::Failed { .. }) => return Ok(None),
                tree => tree?,
            };
            let is_tree = git(&["cat-file", "-t", &tree])? == "tree";
            Ok::<_, GitError>(is_tree.then(|| (directory.to_owned(), tree)))
        };
        if let Some(wanted) = &self.location.directory {
            return tree_at(wanted)?.ok_or_else(|| GitError::NoDirectory {
                wanted: wanted.clone(),
                commit: commit.to_owned(),
            });
        }
        if let Some(usual) = tree_at(USUAL_DIRECTORY)? {
            return Ok(usual);
        }
        let whole = git(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?;
        Ok((String::new(), whole))
    }

    /// Writes the files beside those that are read.
    fn write(
        &self,
        program: &Program,
        listing: Listing,
        limits: &Limits,
    ) -> Result<(usize, Vec<LeftOut>), GitError> {
        let new = self.new_tree();
        fs::create_dir(&new).map_err(in_directory(&new))?;
        let written = listing.write(program, &self.repository(), &new, limits);
        if written.is_err() {
            // The error says more than one about that would.
            let _ = remove_directory(&new);
        }
        written
    }

    /// Where the next files are written.
    fn new_tree(&self) -> PathBuf {
        self.file("trees").join("new")
    }

    /// Makes what was written the current files, once nobody reads those before. If the process dies
    /// on the way, the link is the old one or the new one; a state that does not fit it is none, and
    /// the next synchronisation begins anew.
    fn publish(&self, state: &State, limits: &Limits) -> Result<(), GitError> {
        let locks = self.lock_to_replace(limits)?;
        let target = self.directory.join(tree_of(&state.commit));
        // A process that was killed has left it, even if the link leads there.
        remove_directory(&target)?;
        fs::rename(self.new_tree(), &target).map_err(in_directory(&target))?;
        let (new, tree) = (self.file("tree.new"), self.tree());
        if let Err(error) = fs::remove_file(&new)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(in_directory(&new)(error));
        }
        link(&tree_of(&state.commit), &new).map_err(in_directory(&new))?;
        self.note(state)?;
        fs::rename(&new, &tree).map_err(in_directory(&tree))?;
        // From now on, readers read the new files.
        drop(locks);
        self.remove_old_trees(state)
    }

    /// Removes the files of all other commits, which nobody reads: also what a process that was killed
    /// has left. For those who hold the lock of those who synchronise.
    fn remove_old_trees(&self, state: &State) -> Result<(), GitError> {
        let trees = self.file("trees");
        let entries = fs::read_dir(&trees).map_err(in_directory(&trees))?;
        for entry in entries.flatten() {
            if entry.file_name() != *state.commit {
                // What cannot be removed now goes the next time.
                let _ = remove_directory(&entry.path());
            }
        }
        Ok(())
    }

    fn note(&self, state: &State) -> Result<(), GitError> {
        let file = self.file("state.json");
        state.write(&file).map_err(in_directory(&file))
    }

    /// Keeps what git has small: the objects of one commit. It can fail, and is tried again after
    /// the next fetch.
    fn tidy(&self, program: &Program, lock: &File, limits: &Limits) {
        let repository = self.repository();
        let packs = fs::read_dir(repository.join("objects/pack"))
            .into_iter()
            .flatten()
            .flatten();
        let packs = packs.filter(|it| it.path().extension().is_some_and(|it| it == "pack"));
        if packs.count() <= MOST_PACKS {
            return;
        }
        for arguments in [
            &["repack", "-a", "-d", "-q"][..],
            &["prune", "--expire=now"],
        ] {
            let call = program.call(arguments).in_repository(&repository);
            if call.holding(lock).output(limits).is_err() {
                return;
            }
        }
    }
}

/// Files that differ between two trees.
fn changes(
    program: &Program,
    repository: &Path,
    old: &str,
    new: &str,
    limits: &Limits,
) -> Result<usize, GitError> {
    let arguments = [
        "diff-tree",
        "-r",
        "-z",
        "--name-only",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        old,
        new,
    ];
    let call = program.call(&arguments).in_repository(repository);
    let output = call.output(limits)?;
    Ok(output
        .split(|it| *it == 0)
        .filter(|it| !it.is_empty())
        .count())
}

/// Where the files of a commit are, from the mirror's directory.
fn tree_of(commit: &str) -> PathBuf {
    Path::new("trees").join(commit)
}

/// Whether it was synchronised so recently. A clock that was set back makes nothing fresh.
fn is_fresh(state: &State, fresh: Duration) -> bool {
    let age = SystemTime::now().duration_since(state.last_sync());
    age.is_ok_and(|age| age < fresh)
}
