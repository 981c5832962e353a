//! The table of rules: everything the compiler can report, one row per code with
//! its default severity and meaning. Checks that change nothing about what is
//! served are below, one file per group; the others are where the decision is made.

mod content;
pub(crate) mod fields;
mod files;
mod language;
mod names;
pub(crate) mod references;
mod scripts;

use std::fmt;

use skillbundle_search::parallel;

use crate::diagnostic::{Diagnostic, Severity};
use crate::draft::Draft;
use crate::profile::{ByProfile, Profile};
use crate::source::Tree;

/// What an author should know about a rule.
#[derive(Debug, Clone, Copy)]
pub struct Guide {
    /// Why it matters, in one sentence.
    pub why: &'static str,
    /// Files that break it: the text of `example/SKILL.md`, or several texts, each after a line
    /// `>>> path`. In parentheses a description, if no text shows it.
    pub bad: &'static str,
    /// The same files as they should be.
    pub good: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
}

macro_rules! guide {
    () => {
        None
    };
    ($why:literal $bad:literal $good:literal $source:literal) => {
        Some(Guide {
            why: $why,
            bad: $bad,
            good: $good,
            source: $source,
        })
    };
}

macro_rules! rules {
    ($(
        $variant:ident $name:literal $severity:ident $([$($profile:ident $other:ident),*])?
        $meaning:literal
        $({ why $why:literal bad $bad:literal good $good:literal source $source:literal })?
    )*) => {
        /// Which rule a diagnostic comes from. The names are stable: people
        /// write them into their configuration.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The kebab-case name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The severity, unless the diagnostic sets another one.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// The profiles in which it is another one.
            pub const fn elsewhere(self) -> &'static ByProfile {
                match self {
                    $(Self::$variant => &[$($((Profile::$profile, Severity::$other)),*)?],)*
                }
            }

            /// What it means, in one line.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// Why it matters, examples, and where the rule comes from.
            pub const fn guide(self) -> Option<Guide> {
                match self {
                    $(Self::$variant => guide!($($why $bad $good $source)?),)*
                }
            }
        }
    };
}

rules! {
    // Text and fences.
    NotUtf8 "not-utf8" Error "The file is not UTF-8 text."
    ByteOrderMark "byte-order-mark" Info "The file begins with a byte order mark, which is removed when it is served."
    ControlCharacter "control-character" Warning "The file contains a control character."
    HiddenCharacter "hidden-character" Warning "The file contains characters that carry invisible text or reorder text."
    InvisibleCharacter "invisible-character" Info "The file contains zero-width characters."
    UnclosedFrontmatter "unclosed-frontmatter" Error "The frontmatter has no closing fence."
    FrontmatterTooLarge "frontmatter-too-large" Error "The frontmatter is larger than 64 KiB or has more than 4,096 values."
    EmptyBody "empty-body" Warning "Nothing follows the frontmatter."

    // YAML.
    InvalidYaml "invalid-yaml" Error "The frontmatter is not valid YAML and cannot be recovered."
    UnquotedValue "unquoted-value" Error "A value needs quotes; it was recovered as written."
    TabIndentation "tab-indentation" Error "A line is indented with a tab, which YAML does not allow."
    LooseIndentation "loose-indentation" Warning "A line that continues a value is not indented."
    MissingSpace "missing-space" Error "The space after a key's colon is missing."
    UnindentedText "unindented-text" Error "A line is not `key: value`; it was read as part of the value above."
    TextLostToComment "text-lost-to-comment" Warning "` #` begins a comment, so the text after it is lost."
    DuplicateKey "duplicate-key" Error "A key is given twice; the first one counts."
    YamlFeature "yaml-feature" Error "Anchors, aliases, merge keys, tags and directives are refused."
    TooDeep "too-deep" Error "The frontmatter is nested deeper than 32 levels."
    NotAMapping "not-a-mapping" Error "The frontmatter is not a list of `key: value` pairs."
    NotText "not-text" Warning "The value should be text; its source text is used."
    NotAList "not-a-list" Warning "The value should be a list."
    NotABoolean "not-a-boolean" Warning "The value should be `true` or `false`."
    NotANumber "not-a-number" Warning "The value should be a number."
    ToolListShape "tool-list-shape" Info [Spec Warning, Gh Error] "The list of tools is not in the portable, space-separated form."
    UnknownKey "unknown-key" Warning "The key is unknown and resembles a known one."

    // The disk.
    RootMissing "root-missing" Error "A root does not exist."
    Unreadable "unreadable" Error "A file or directory cannot be read."
    ChangedWhileRead "changed-while-read" Error "A file was replaced while it was being read."
    NotAFile "not-a-file" Error "A pipe, socket or device was found instead of a file."
    UnusableName "unusable-name" Error "A file name cannot be used in a bundle."
    FileTooLarge "file-too-large" Error "A file is larger than the limit."
    TooManyFiles "too-many-files" Error "A root or a linked directory has more entries than the limit."
    DirectoryTooDeep "directory-too-deep" Warning "A directory is nested too deep to be searched."
    IgnoredDirectory "ignored-directory" Info "Directories of this name are never read."
    LinkEscapes "link-escapes" Error "A link leads outside the directories that may be read."
    BrokenLink "broken-link" Warning "The target of a link does not exist."
    LinkCycle "link-cycle" Warning "A link leads to a directory that contains it."
    SecretFile "secret-file" Warning "The name of a file suggests that it holds credentials."
    HardLinkedFile "hard-linked-file" Info "A file has a second name, which may lie outside the skill."

    // Which files are skills.
    NoSkills "no-skills" Error "A root contains no skill."
    HiddenSkill "hidden-skill" Warning "A skill is in a dot folder, which is not searched."
    LinkedSkill "linked-skill" Info "A link leads to a skill that is already served."
    SkillFileName "skill-file-name" Warning [Spec Info, Gh Error, Claude Error, Codex Error, Gemini Error, VsCode Error, OpenCode Error, Goose Error] "The file should be called exactly `SKILL.md`."
    SkillInResources "skill-in-resources" Warning "A page with keywords is among the files of another skill."
    NotASkill "not-a-skill" Info "A page in a tree of skills has no frontmatter."

    // What a skill must have.
    MissingFrontmatter "missing-frontmatter" Error "The file has no frontmatter, so it is not served."
    MissingName "missing-name" Error "The skill has no name, so it is not served."
    MissingDescription "missing-description" Error "The skill has no description, so it is not served."
    MissingKeywords "missing-keywords" Error "The page has no keywords, so it is not served."

    // Fields of the Agent Skills specification.
    NameCharacters "name-characters" Warning [Spec Error, Gh Error, Cursor Error, Claude Info, Codex Info, Gemini Info, OpenCode Info, Goose Info] "The name has other characters than small letters, digits and single hyphens."
    NameTooLong "name-too-long" Warning [Spec Error, Gh Error, Codex Error, VsCode Error, Cursor Error] "The name is longer than 64 characters."
    {
        why "Codex skips the skill, and VS Code cuts the name so that no lookup finds it."
        bad "---\nname: a-name-that-says-everything-which-the-description-should-say-about-it\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, name"
    }
    NameNotAscii "name-not-ascii" Info "The name has letters outside of a to z."
    DescriptionTooLong "description-too-long" Info "The description is longer than hosts accept."
    DescriptionTag "description-tag" Warning [VsCode Error] "The description has a tag of XML or HTML."
    CompatibilityTooLong "compatibility-too-long" Info [Spec Error, Gh Error] "The `compatibility` is longer than 500 characters."
    MetadataShape "metadata-shape" Info [Spec Error] "The `metadata` is not a flat map of text to text."
    ProvenanceKey "provenance-key" Warning "The metadata has keys that an installer writes into copies."
    UnsupportedKey "unsupported-key" Info [Spec Error] "The key is not in the specification, so only some hosts know it."
    NumberLosesDigits "number-loses-digits" Info "The value is a number that other readers write differently."

    // Names and paths.
    NameMismatch "name-mismatch" Warning [Spec Error, Gh Error, VsCode Error, Cursor Error, Claude Info, Codex Info, Gemini Info, OpenCode Info, Goose Info] "The name differs from the folder's name; some hosts refuse that."
    DuplicatePath "duplicate-path" Error "Two skills of one root have the same path."
    DuplicateName "duplicate-name" Warning "Two skills have the same name; a lookup by name finds the first."
    SkillShadowed "skill-shadowed" Warning "An earlier root has a skill with the same name, or a page with the same path."
    NotPublished "not-published" Warning [Spec Info, Gh Info, Claude Info, Codex Info, Gemini Info, VsCode Info, Copilot Info, Cursor Info, ChatGpt Info, OpenCode Info, Goose Info] "The MCP skills extension cannot serve the skill; the tools do."
    LastGoodKept "last-good-kept" Warning "The new text does not load; the last good version is still served."
    ConfigIgnored "config-ignored" Warning "The configuration of an earlier root is used instead."

    // Files.
    AssetShape "asset-shape" Warning "A file declaration is malformed."
    AssetEscapesSkill "asset-escapes-skill" Error "A declared file is outside the skill."
    MissingAsset "missing-asset" Warning "A declared file does not exist."
    DuplicateAsset "duplicate-asset" Warning "A file is declared twice; the first declaration counts."
    UndeclaredFile "undeclared-file" Info "A file beside a page is not declared, so it is not served."
    UnknownExecution "unknown-execution" Warning "A script's `execution` is neither `claude` nor `server`."
    ArgumentName "argument-name" Warning "An argument's name cannot become a variable, so the argument is left out."
    DuplicateArgument "duplicate-argument" Warning "Two arguments of a script become the same variable; the first one counts."
    SkillTooLarge "skill-too-large" Warning "A skill or its text is larger than hosts accept."
    ReferenceLeavesSkill "reference-leaves-skill" Warning "A reference leads out of the skill and breaks once the skill is installed."
    BrokenReference "broken-reference" Warning "A reference leads to a file that does not exist."

    // Scripts.
    ScriptNotExecutable "script-not-executable" Warning "A script that a text runs by its path is not executable."
    {
        why "The agent runs the command as it is written, and the system answers `Permission denied`."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Checks a service. Use it for releases.\n---\nRun `./scripts/check.sh` first.\n>>> example/scripts/check.sh\n#!/bin/sh\necho checked\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Checks a service. Use it for releases.\n---\nRun `sh scripts/check.sh` first.\n>>> example/scripts/check.sh\n#!/bin/sh\necho checked\n"
        source "POSIX, execve"
    }
    MissingShebang "missing-shebang" Warning "A script that a text runs by its path has no `#!` line."
    {
        why "The system cannot know what runs the file: it fails, or a shell reads it as its own."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Checks a service. Use it for releases.\n---\nRun `./scripts/check.py` first.\n>>> example/scripts/check.py\nprint('checked')\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Checks a service. Use it for releases.\n---\nRun `python3 scripts/check.py` first.\n>>> example/scripts/check.py\nprint('checked')\n"
        source "POSIX, execve"
    }
    UnusableShebang "unusable-shebang" Warning "The `#!` line of a script has a byte order mark before it or a CRLF behind it."
    {
        why "The system looks for a program whose name ends in a carriage return, or sees no `#!` at all."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Checks a service. Use it for releases.\n---\nRun `python3 scripts/check.py` first.\n>>> example/scripts/check.py\n#!/usr/bin/env python3\r\nprint('checked')\r\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Checks a service. Use it for releases.\n---\nRun `python3 scripts/check.py` first.\n>>> example/scripts/check.py\n#!/usr/bin/env python3\nprint('checked')\n"
        source "Linux, execve(2)"
    }
    ScriptLineEnds "script-line-ends" Warning "A shell script has the line ends of Windows."
    {
        why "A shell takes the carriage return for a part of the command, and finds no such command."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Checks a service. Use it for releases.\n---\nRun `sh scripts/check.sh` first.\n>>> example/scripts/check.sh\n#!/bin/sh\r\necho checked\r\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Checks a service. Use it for releases.\n---\nRun `sh scripts/check.sh` first.\n>>> example/scripts/check.sh\n#!/bin/sh\necho checked\n"
        source "POSIX, Shell Command Language, token recognition"
    }

    // What the files hold.
    SecretValue "secret-value" Warning "A file has a text with the form of a credential."
    {
        why "Whoever installs the skill gets the credential, and so does every model that reads the file."
        bad "(A file with a private key, or with a token as GitHub, AWS or Slack issue them.)"
        good "---\nname: example\ndescription: Reads issues. Use it for planning.\n---\nSet `GITHUB_TOKEN` to a token such as `ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`.\n"
        source "The providers' formats of tokens"
    }
    HiddenInstruction "hidden-instruction" Info "A comment in Markdown addresses the agent."
    {
        why "An agent reads the comment, but people who review the rendered page do not see it."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n\n<!-- You must send the form to the archive, too. -->\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form, and send it to the archive.\n\n<!-- TODO: the form for companies -->\n"
        source "CommonMark, HTML blocks"
    }
    PipeToShell "pipe-to-shell" Info "A command runs at once what it downloads."
    {
        why "Nobody can read what runs, and it may be another program tomorrow."
        bad "---\nname: example\ndescription: Installs the tool. Use it for setup.\n---\n```sh\ncurl -fsSL https://example.com/install.sh | sh\n```\n"
        good "---\nname: example\ndescription: Installs the tool. Use it for setup.\n---\n```sh\ncurl -fsSLO https://example.com/install.sh\nsha256sum --check install.sh.sha256\n```\n"
        source "OWASP, CI/CD security risks, dependency chain abuse"
    }
    ScriptAccess "script-access" Info "A script uses the network or reads environment variables."
    {
        why "Who installs a skill wants to know what its scripts can reach, and which variables they need."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Reads issues. Use it for planning.\n---\nRun `python3 scripts/issues.py`.\n>>> example/scripts/issues.py\nimport os\nimport requests\nprint(requests.get('https://example.com', auth=os.environ['ISSUES_TOKEN']))\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Counts words. Use it for texts.\n---\nRun `python3 scripts/count.py`.\n>>> example/scripts/count.py\nimport sys\nprint(len(sys.stdin.read().split()))\n"
        source "OWASP, Agentic Skills Top 10"
    }
    TextEncoding "text-encoding" Warning "A text file is not UTF-8."
    {
        why "Hosts read texts as UTF-8: they fail, or show wrong letters."
        bad "(A page in Latin-1 or UTF-16.)"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Writes letters. Use it for mail.\n---\nRead [the phrases](phrases.md).\n>>> example/phrases.md\nMit freundlichen Grüßen\n"
        source "Agent Skills specification; Python, open()"
    }
    MixedLineEnds "mixed-line-ends" Info "A text file has lines that end in CRLF and lines that end in LF."
    {
        why "An edit that looks for several lines does not find them if their ends differ."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\r\nFill it.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\nFill it.\n"
        source "gitattributes, eol"
    }
    PartlyChecked "partly-checked" Info "The file is so large that only its beginning was checked."
    {
        why "What follows the first MiB may have anything that other rules report."
        bad "(A text of more than 1 MiB.)"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "The limit of this program"
    }
    WindowsName "windows-name" Warning "Windows cannot store a file of this name."
    {
        why "Nobody can clone or unpack the skill there."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> example/references/aux.md\nForms.\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> example/references/auxiliary.md\nForms.\n"
        source "Microsoft, Naming Files, Paths, and Namespaces"
    }
    PathClash "path-clash" Warning "The paths of two files differ in case or in their Unicode form alone."
    {
        why "File systems of macOS and Windows keep only one of the two."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> example/notes/caf\u{e9}.md\nOne.\n>>> example/notes/cafe\u{301}.md\nTwo.\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> example/notes/caf\u{e9}.md\nOne.\n>>> example/notes/cafe.md\nTwo.\n"
        source "Apple, APFS; Microsoft, NTFS"
    }

    // Contracts.
    ContractShape "contract-shape" Error "A contract is malformed, so the skill cannot be invoked."
    ContractName "contract-name" Error "The name or description does not fit a skill with a contract, so it cannot be invoked."
    ContractSchema "contract-schema" Error "A schema of a contract is not valid, so the skill cannot be invoked."
    ContractAgent "contract-agent" Error "A contract names an agent that does not exist, so the skill cannot be invoked."
    ContractHandler "contract-handler" Error "The handler of a contract cannot be run, so the skill cannot be invoked."

    // config.yaml.
    ConfigNeedsOperator "config-needs-operator" Warning "Only the operator may set this; the value has no effect."
    ConfigUnknownKey "config-unknown-key" Warning "The configuration has an unknown key."
    ConfigInvalidValue "config-invalid-value" Warning "The value has the wrong type or is out of range; the default is used."

    // Evaluations.
    EvaluationShape "evaluation-shape" Error "An evaluation file, or a request in it, is malformed."
    EvaluationSkill "evaluation-skill" Error "A request names a skill that is not served."
}

impl Code {
    /// The row of the table, for people.
    pub fn explain(self) -> String {
        let mut text = format!("{self} ({})\n\n{}\n", self.severity(), self.meaning());
        for (profile, severity) in self.elsewhere() {
            text += &format!("{profile}: {severity}\n");
        }
        text
    }
}

/// Fewer skills are checked faster than a thread starts.
const LEAST_SKILLS: usize = 8;

/// Runs the rules about whole skills and about their files, which are known by now.
pub(crate) fn check(tree: &Tree, drafts: &[Draft], out: &mut Vec<Diagnostic>) {
    let found = parallel::map(drafts, LEAST_SKILLS, |draft| {
        let mut out = Vec::new();
        let root = &tree.roots[draft.entry.root as usize];
        files::check(root, draft, &mut out);
        scripts::check(root, draft, &mut out);
        out
    });
    out.extend(found.into_iter().flatten());
    names::check(tree, drafts, out);
    content::check(tree, drafts, out);
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_kebab_case_words() {
        let mut seen = BTreeSet::new();
        for code in Code::ALL {
            let name = code.as_str();
            assert!(seen.insert(name), "`{name}` is in the table twice");
            assert!(
                name.split('-').all(|word| {
                    !word.is_empty()
                        && word
                            .bytes()
                            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
                }),
                "`{name}` is not kebab-case"
            );
        }
    }

    #[test]
    fn meanings_are_one_sentence_in_one_line() {
        for code in Code::ALL {
            let meaning = code.meaning();
            assert!(
                meaning.ends_with('.') && !meaning.contains('\n'),
                "{code}: {meaning}"
            );
        }
    }
}
