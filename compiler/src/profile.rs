//! Profiles: for whom a check decides how bad a finding is. The table of rules has the severities
//! that differ from one to the other; here are their names, and how several are combined.

use std::fmt;

use crate::diagnostic::Severity;

macro_rules! profiles {
    ($($variant:ident $name:literal $meaning:literal $source:literal)*) => {
        /// A host of skills, or a program that judges them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Profile {
            $(#[doc = $meaning] $variant,)*
        }

        impl Profile {
            /// Every profile, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name on the command line.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it stands for, in one line.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// Where its rules come from.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$variant => $source,)* }
            }
        }
    };
}

profiles! {
    Skillbundle "skillbundle" "What this program serves." "its own documentation"
    Spec "spec" "The Agent Skills specification, read strictly." "agentskills/agentskills 69ef37e, docs/specification.mdx and skills-ref"
    Gh "gh" "`gh skill publish`, which refuses what installers cannot take." "gh 2.90, skill publish"
    Claude "claude" "Claude Code." "Claude Code, changelog to 2.1.240; claude plugin validate 2.1.197"
    Codex "codex" "Codex." "openai/codex 033d1d07, codex-rs/core-skills/src/loader.rs"
    Gemini "gemini" "Gemini CLI." "google-gemini/gemini-cli 5411f113, packages/core/src/skills"
    VsCode "vscode" "GitHub Copilot in Visual Studio Code, with its stricter early versions." "microsoft/vscode, promptsServiceImpl"
    Copilot "copilot" "GitHub Copilot CLI and its coding agent." "docs.github.com, agent skills"
    Cursor "cursor" "Cursor." "cursor.com/docs/context/skills"
    ChatGpt "chatgpt" "`ChatGPT`." "the specification, which it names as its format"
    OpenCode "opencode" "opencode." "anomalyco/opencode 01a97029, src/skill/skill.ts"
    Goose "goose" "goose." "block/goose 17aa5170, skills_extension.rs"
}

/// The name of the combination of all hosts.
const PORTABLE: &str = "portable";

/// What stands behind `portable`: every host, and neither this program nor those that only validate.
const HOSTS: &[Profile] = &[
    Profile::Claude,
    Profile::Codex,
    Profile::Gemini,
    Profile::VsCode,
    Profile::Copilot,
    Profile::Cursor,
    Profile::ChatGpt,
    Profile::OpenCode,
    Profile::Goose,
];

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Severities that differ from a rule's default, by profile.
pub type ByProfile = [(Profile, Severity)];

/// One or more profiles; the most severe one decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profiles {
    name: String,
    profiles: Vec<Profile>,
}

impl Profiles {
    /// What this program serves.
    pub fn own() -> Self {
        Self {
            name: Profile::Skillbundle.as_str().to_owned(),
            profiles: vec![Profile::Skillbundle],
        }
    }

    /// Every host.
    pub fn portable() -> Self {
        Self {
            name: PORTABLE.to_owned(),
            profiles: HOSTS.to_vec(),
        }
    }

    /// Profiles by their names, `portable` among them.
    ///
    /// # Errors
    ///
    /// The first name that is none.
    pub fn of<'a>(names: &[&'a str]) -> Result<Self, &'a str> {
        let mut profiles = Vec::new();
        for name in names {
            if *name == PORTABLE {
                profiles.extend_from_slice(HOSTS);
                continue;
            }
            let found = Profile::ALL.iter().find(|it| it.as_str() == *name);
            profiles.push(*found.ok_or(*name)?);
        }
        profiles.sort();
        profiles.dedup();
        Ok(Self {
            name: names.join("+"),
            profiles,
        })
    }

    /// Every name that [`Profiles::of`] takes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let own = Profile::ALL.iter().map(|it| it.as_str());
        [PORTABLE].into_iter().chain(own)
    }

    /// Their names, joined by `+`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether one of these counts.
    pub fn has(&self, profile: Profile) -> bool {
        self.profiles.contains(&profile)
    }

    /// The severity in these profiles of something that is `default` where nothing else is said;
    /// and the profiles that say so, if they are not all.
    pub fn judge(&self, default: Severity, elsewhere: &ByProfile) -> (Severity, Vec<Profile>) {
        let in_profile = |profile: Profile| {
            let other = elsewhere.iter().find(|it| it.0 == profile);
            other.map_or(default, |it| it.1)
        };
        let all = self.profiles.iter().map(|it| in_profile(*it));
        let Some(worst) = all.min() else {
            return (default, Vec::new());
        };
        let mut deciding = self.profiles.clone();
        deciding.retain(|it| in_profile(*it) == worst);
        if deciding.len() == self.profiles.len() {
            deciding.clear();
        }
        (worst, deciding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Severity::{Error, Info, Warning};

    #[test]
    fn the_most_severe_profile_decides() {
        let elsewhere = [
            (Profile::Spec, Error),
            (Profile::Claude, Info),
            (Profile::Codex, Error),
        ];
        for (names, severity, deciding) in [
            (&["skillbundle"][..], Warning, &[][..]),
            (&["spec"], Error, &[]),
            (&["claude"], Info, &[]),
            (&["claude", "gemini"], Warning, &[Profile::Gemini]),
            (&["claude", "codex"], Error, &[Profile::Codex]),
            (&["portable"], Error, &[Profile::Codex]),
            (
                &["portable", "spec"],
                Error,
                &[Profile::Spec, Profile::Codex],
            ),
        ] {
            let profiles = Profiles::of(names).unwrap();
            let found = profiles.judge(Warning, &elsewhere);
            assert_eq!(found, (severity, deciding.to_vec()), "{names:?}");
        }
        assert_eq!(Profiles::of(&["claude", "nobody"]), Err("nobody"));
        assert_eq!(Profiles::of(&["portable"]), Ok(Profiles::portable()));
        assert_eq!(Profiles::of(&["skillbundle"]), Ok(Profiles::own()));
    }
}
