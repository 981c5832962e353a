//! Which commit of a repository is wanted, as the repository itself has it now.

use crate::error::{GitError, shown};
use crate::location::Reference;
use crate::program::{Limits, Program};

use super::Mirror;

/// Branches that an error names.
const MOST_BRANCHES: usize = 10;

/// A commit that the repository has.
pub(super) struct Found {
    pub(super) commit: String,
    pub(super) branch: String,
    /// What to ask for: its name there, or its hash.
    pub(super) name: String,
}

impl Mirror {
    /// Asks the repository for the commit that is wanted.
    pub(super) fn find(&self, program: &Program, limits: &Limits) -> Result<Found, GitError> {
        let wanted = match &self.location.reference {
            Reference::Commit(hash) => {
                return Ok(Found {
                    commit: hash.clone(),
                    branch: hash.clone(),
                    name: hash.clone(),
                });
            }
            Reference::Preferred(name) | Reference::Named(name) => name,
        };
        let branch = format!("refs/heads/{wanted}");
        let tag = format!("refs/tags/{wanted}");
        // What an annotated tag stands for: a tag is no commit.
        let peeled = format!("{tag}^{{}}");
        let list = |what: &[&str]| {
            let options = [
                "ls-remote",
                "--quiet",
                "--symref",
                "--",
                self.location.url(),
            ];
            let call = program.call(&[&options, what].concat());
            let call = call.with(&self.location, self.options.token.as_ref());
            let output = call.output(limits)?;
            Ok::<_, GitError>(String::from_utf8_lossy(&output).into_owned())
        };
        // A server can name a branch as it likes.
        let name = |name: &str| {
            let token = self.options.token.as_ref();
            shown(&token.map_or_else(|| name.to_owned(), |it| it.redact(name)))
        };
        let output = list(&["HEAD", &branch, &tag, &peeled])?;
        let commit = |wanted: &str| {
            let mut lines = output.lines().filter_map(|line| line.split_once('\t'));
            let found = lines.find(|it| it.1 == wanted && !it.0.starts_with("ref: "));
            found.map(|(hash, _)| hash.to_owned())
        };
        for (listed, fetched) in [(&branch, &branch), (&peeled, &tag), (&tag, &tag)] {
            if let Some(commit) = commit(listed) {
                return Ok(Found {
                    commit,
                    branch: wanted.clone(),
                    name: fetched.clone(),
                });
            }
        }
        if let Reference::Preferred(_) = self.location.reference
            && let Some(commit) = commit("HEAD")
        {
            let own = output.lines().find_map(|line| {
                let name = line.strip_prefix("ref: refs/heads/")?;
                name.strip_suffix("\tHEAD")
            });
            return Ok(Found {
                commit,
                branch: own.map_or_else(|| "HEAD".to_owned(), name),
                name: "HEAD".to_owned(),
            });
        }
        let all = list(&["refs/heads/*"])?;
        let branches = all
            .lines()
            .filter_map(|line| line.split_once("\trefs/heads/"));
        let branches: Vec<_> = branches.take(MOST_BRANCHES).map(|it| name(it.1)).collect();
        if branches.is_empty() {
            return Err(GitError::Empty);
        }
        Err(GitError::NoBranch {
            wanted: wanted.clone(),
            found: branches,
        })
    }
}
