//! The table of rules: everything the compiler can report, one row per code with its severities, its
//! meaning and examples. Checks that change nothing about what is served are below, one file per group;
//! the others are where the decision is made. The file is long because it is one table.

pub(crate) mod blocks;
mod budget;
pub(crate) mod checkout;
pub(crate) mod content;
mod explain;
pub(crate) mod fields;
mod files;
pub(crate) mod keywords;
mod language;
mod layout;
mod look_alikes;
mod names;
mod references;
mod scripts;

use std::collections::BTreeSet;
use std::fmt;

pub use explain::rules_page;

use skillbundle_format::Dialect;
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

macro_rules! rules {
    ($(
        $variant:ident $name:literal $severity:ident $([$($profile:ident $other:ident),*])?
        $meaning:literal
        { why $why:literal bad $bad:literal good $good:literal source $source:literal }
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
            pub const fn guide(self) -> Guide {
                match self {
                    $(Self::$variant => Guide {
                        why: $why,
                        bad: $bad,
                        good: $good,
                        source: $source,
                    },)*
                }
            }
        }
    };
}

rules! {
    // Text and fences.
    NotUtf8 "not-utf8" Error "The file is not UTF-8 text."
    {
        why "Hosts read UTF-8 alone, and other bytes become wrong letters or end the reading."
        bad "(a file saved as Latin-1, with the byte E9 for `é`)"
        good "(the same file saved as UTF-8)"
        source "Agent Skills specification, SKILL.md format"
    }
    ByteOrderMark "byte-order-mark" Info [Spec Error, Codex Error, Gemini Error] "The file begins with a byte order mark, which is removed when it is served."
    {
        why "Codex, Gemini CLI and the reference validator look for `---` at the first byte and do not find the frontmatter."
        bad "\u{feff}---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "crewAIInc/crewAI#7538; codex-rs/core-skills/src/loader.rs, extract_frontmatter; packages/core/src/skills/skillLoader.ts of gemini-cli"
    }
    ControlCharacter "control-character" Warning "The file contains a control character."
    {
        why "YAML forbids it, so other parsers refuse the whole frontmatter, and terminals may obey it."
        bad "---\nname: example\ndescription: Fills \u{7} forms\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "YAML 1.2, section 5.1"
    }
    HiddenCharacter "hidden-character" Warning "The file or its name contains characters that carry invisible text or reorder text."
    {
        why "A model reads what no reviewer sees."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen \u{e0041}\u{e0042} the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Unicode TR 36 and TR 39; the trojan source attack, CVE-2021-42574"
    }
    InvisibleCharacter "invisible-character" Info "The file or its name contains characters that do not show."
    {
        why "Words that look equal differ, so searches and comparisons fail."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen\u{200b} the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Unicode TR 36"
    }
    UnclosedFrontmatter "unclosed-frontmatter" Error "The frontmatter has no closing fence."
    {
        why "No host finds a name or a description."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, SKILL.md format"
    }
    LateFrontmatter "late-frontmatter" Warning [Spec Error, Gh Error, Claude Error, Codex Error, Gemini Error, VsCode Error, OpenCode Error] "The frontmatter is not at the top of the file."
    {
        why "Nearly every host looks for `---` in the first line, and takes a file that begins otherwise for one without a name and description."
        bad "<!-- Made by a generator. -->\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\n<!-- Made by a generator. -->\nOpen the form.\n"
        source "Agent Skills specification, SKILL.md format; codex-rs/core-skills/src/loader.rs, extract_frontmatter"
    }
    FragileFence "fragile-fence" Info "Some hosts find the fences of the frontmatter elsewhere, or not at all."
    {
        why "What they take for the frontmatter ends early or is missing, and they say nothing."
        bad "---\nname: example\ndescription: Fills forms --- also long ones. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "skills-ref 0.1.x and goose split at the first `---`; codex-rs/core-skills/src/loader.rs, extract_frontmatter; FRONTMATTER_REGEX of gemini-cli"
    }
    FrontmatterTooLarge "frontmatter-too-large" Error "The frontmatter is larger than 64 KiB or has more than 4,096 values."
    {
        why "Every host puts the frontmatter into its context or parses it at each start."
        bad "(frontmatter of 70 KiB)"
        good "(long texts moved to the body or to files)"
        source "this program"
    }
    EmptyBody "empty-body" Warning "Nothing follows the frontmatter."
    {
        why "The agent loads the skill and learns nothing."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, body content"
    }

    MergeConflict "merge-conflict" Warning "The file has the marks of a merge that is not resolved."
    {
        why "Two versions of the text stand in the file, and hosts that read it as YAML refuse it."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n<<<<<<< HEAD\nSave it.\n=======\nPrint it.\n>>>>>>> main\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\nSave it.\n"
        source "git, merge.conflictStyle"
    }

    // YAML.
    InvalidYaml "invalid-yaml" Error "The frontmatter is not valid YAML and cannot be recovered."
    {
        why "The frontmatter cannot be read, so hosts skip the skill or load it without its limits."
        bad "---\nname: example\n allowed-tools: Read\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "YAML 1.2"
    }
    UnquotedValue "unquoted-value" Error "A value needs quotes; one of text is recovered as written."
    {
        why "YAML reads `: ` as the end of a key, so most hosts refuse the file."
        bad "---\nname: example\ndescription: Two steps: open, fill. Use when: asked\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: \"Two steps: open, fill. Use when: asked\"\n---\nOpen the form.\n"
        source "YAML 1.2, section 7.3.3; anthropics/claude-code#25837 and 60 files of a public corpus"
    }
    TabIndentation "tab-indentation" Error "A line is indented with a tab, which YAML does not allow."
    {
        why "YAML does not allow tabs there, and other parsers refuse the file."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nmetadata:\n\tauthor: Ada\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nmetadata:\n  author: Ada\n---\nOpen the form.\n"
        source "YAML 1.2, section 6.1"
    }
    LooseIndentation "loose-indentation" Warning "A line that continues a value is not indented."
    {
        why "Some parsers read the line as a new key or refuse the file."
        bad "---\nname: example\ndescription: \"Fills forms\nof any kind\"\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: \"Fills forms\n  of any kind\"\n---\nOpen the form.\n"
        source "YAML 1.2, section 7.3"
    }
    MissingSpace "missing-space" Error "The space after a key's colon is missing, so the file is not served."
    {
        why "YAML reads the line as text, so the key does not exist."
        bad "---\nname:example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "YAML 1.2, section 7.4"
    }
    UnindentedText "unindented-text" Error "A line is neither `key: value` nor indented, so the file is not served."
    {
        why "Other parsers end the value above and refuse the line."
        bad "---\nname: example\ndescription: Fills forms\nof any kind\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills forms\n  of any kind\n---\nOpen the form.\n"
        source "YAML 1.2, section 7.3.3"
    }
    TextLostToComment "text-lost-to-comment" Warning "` #` begins a comment, so the text after it is lost."
    {
        why "Everything after ` #` is a comment, so hosts do not see it."
        bad "---\nname: example\ndescription: #1 choice for forms\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: \"#1 choice for forms\"\n---\nOpen the form.\n"
        source "YAML 1.2, section 6.6"
    }
    DuplicateKey "duplicate-key" Error "A key is given twice; the first one counts."
    {
        why "Parsers differ in which one counts; some refuse the file."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nname: other\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "YAML 1.2, section 3.2.1.1"
    }
    YamlFeature "yaml-feature" Error "Anchors, aliases, merge keys, tags and directives are refused."
    {
        why "Anchors and aliases make small files explode, and many readers do not know them."
        bad "---\nname: &n example\ndescription: Fills PDF forms. Use it for forms.\nlicense: *n\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nlicense: example\n---\nOpen the form.\n"
        source "GHSA-pm4m-ph32-ghv5, js-yaml#738"
    }
    TooDeep "too-deep" Error "The frontmatter is nested deeper than 32 levels."
    {
        why "No host needs it, and deep nesting exhausts the stack of parsers."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nmetadata: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nmetadata:\n  a: \"1\"\n---\nOpen the form.\n"
        source "this program"
    }
    NotAMapping "not-a-mapping" Error "The frontmatter is not a list of `key: value` pairs."
    {
        why "Hosts look for keys and find none."
        bad "---\n- name: example\n- description: Fills PDF forms\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, frontmatter"
    }
    NotText "not-text" Warning "The value should be text; its source text is used."
    {
        why "Readers get a number, a date or a list where they expect text: some fail, some show other digits."
        bad "---\nname: 3000\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: \"3000\"\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "anthropics/claude-code#25837"
    }
    NotAList "not-a-list" Warning "The value should be a list."
    {
        why "The value is not used as it was meant."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nkeywords: forms\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nkeywords: [forms]\n---\nOpen the form.\n"
        source "docs/format.md, pages of a tree"
    }
    NotABoolean "not-a-boolean" Warning "The value should be `true` or `false`."
    {
        why "Readers differ in which words mean yes."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nuser-invocable: maybe\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nuser-invocable: true\n---\nOpen the form.\n"
        source "Claude Code, frontmatter reference"
    }
    NotANumber "not-a-number" Warning "The value should be a number."
    {
        why "The value is not used."
        bad ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\npriority: high\n---\nBe kind.\n"
        good ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\npriority: 5\n---\nBe kind.\n"
        source "docs/format.md, pages of a tree"
    }
    ToolListShape "tool-list-shape" Info [Spec Warning] "The list of tools is not in the portable, space-separated form."
    {
        why "The specification wants one text with spaces; its own reader fails on a list."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nallowed-tools: [Read, Grep]\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nallowed-tools: Read Grep\n---\nOpen the form.\n"
        source "Agent Skills specification, allowed-tools"
    }
    UnknownKey "unknown-key" Warning "The key is unknown and resembles a known one."
    {
        why "A misspelt key has no effect, and nothing says so."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nallowed-tool: Read\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nallowed-tools: Read\n---\nOpen the form.\n"
        source "this program"
    }

    // The disk.
    RootMissing "root-missing" Error "A root does not exist."
    {
        why "Nothing is read from it."
        bad "(a directory that was named and does not exist)"
        good "(an existing directory)"
        source "this program"
    }
    Unreadable "unreadable" Error "A file or directory cannot be read."
    {
        why "What cannot be read cannot be served."
        bad "(a file of mode 000)"
        good "(a file of mode 644)"
        source "this program"
    }
    ChangedWhileRead "changed-while-read" Error "A file was replaced while it was being read."
    {
        why "The text could be half old and half new."
        bad "(a file that an editor replaces during the check)"
        good "(a file at rest)"
        source "this program"
    }
    NotAFile "not-a-file" Error "A pipe, socket or device was found instead of a file."
    {
        why "Reading a pipe or a device may never end."
        bad "(a named pipe called `data.txt`)"
        good "(a regular file)"
        source "this program"
    }
    UnusableName "unusable-name" Error "A file name cannot be used in a bundle."
    {
        why "A bundle holds UTF-8 paths without backslashes and control characters."
        bad "(a file name that is not UTF-8)"
        good "(a name of letters, digits, `-`, `_` and `.`)"
        source "docs/format.md"
    }
    FileTooLarge "file-too-large" Error "A file is larger than the limit."
    {
        why "Hosts do not take it, and every start would carry it."
        bad "(a file of 20 MiB)"
        good "(the file at a URL that the skill names)"
        source "docs/format.md; SEP-2640, skills extension of MCP"
    }
    TooManyFiles "too-many-files" Error "A root or a linked directory has more entries than the limit."
    {
        why "A root far above the skills, such as a home directory, is hardly meant."
        bad "(the home directory as a root)"
        good "(the directory that holds the skills)"
        source "this program"
    }
    DirectoryTooDeep "directory-too-deep" Warning "A directory is nested too deep to be searched."
    {
        why "Hosts look four to six levels deep."
        bad "(a skill seventeen directories below its root)"
        good "(a skill one or two directories below its root)"
        source "Agent Skills specification, client guide"
    }
    IgnoredDirectory "ignored-directory" Info "Directories of this name are never read."
    {
        why "It holds what tools produce, such as packages and caches."
        bad "(a skill in `node_modules`)"
        good "(the skill in a directory of its own)"
        source "Agent Skills specification, client guide"
    }
    LinkEscapes "link-escapes" Error "A link leads outside the directories that may be read."
    {
        why "A link out of the directory could serve any file of the machine."
        bad "(`notes.md`, a link to `/etc/passwd`)"
        good "(a copy of the file)"
        source "docs/security.md"
    }
    BrokenLink "broken-link" Warning "The target of a link does not exist."
    {
        why "The file that was meant is not there."
        bad "(a link to a file that was moved)"
        good "(a link to an existing file of the skill)"
        source "this program"
    }
    LinkCycle "link-cycle" Warning "A link leads to a directory that contains it."
    {
        why "Following it would never end."
        bad "(a link to the directory above it)"
        good "(a link to a directory beside it)"
        source "this program"
    }
    SecretFile "secret-file" Warning "The name or the content of a file suggests that it holds credentials."
    {
        why "Whoever gets the bundle gets the credentials."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> example/.env\nTOKEN=1\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> example/.env.example\nTOKEN=\n"
        source "docs/security.md"
    }
    HardLinkedFile "hard-linked-file" Info "A file has a second name, which may lie outside the skill."
    {
        why "Its content may be a file elsewhere on the machine."
        bad "(a file with two names, one of them outside of the skill)"
        good "(a copy)"
        source "docs/security.md"
    }

    // Which files are skills.
    NoSkills "no-skills" Error "A root contains no skill."
    {
        why "Nothing can be served."
        bad ">>> readme.txt\nNothing here.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "this program"
    }
    HiddenSkill "hidden-skill" Warning "A skill is in a dot folder, which is not searched."
    {
        why "Hosts do not look into dot folders."
        bad ">>> .drafts/example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> other/SKILL.md\n---\nname: other\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, client guide"
    }
    LinkedSkill "linked-skill" Info "A link leads to a skill that is already served."
    {
        why "It is served once, under the name of its real directory."
        bad "(`b`, a link to the skill directory `a`)"
        good "(one of the two)"
        source "this program"
    }
    LinkedSkillFile "linked-skill-file" Info [Codex Error] "The `SKILL.md` is a link to a file."
    {
        why "Codex follows links to folders of skills, and not links to their files."
        bad "(`example/SKILL.md` is a symbolic link to `../shared/example.md`)"
        good "(a link to the whole folder, or a copy of the file)"
        source "codex-rs/core-skills/src/loader.rs"
    }
    SkillFileName "skill-file-name" Warning [Spec Info, Gh Error, Claude Error, Codex Error, Gemini Error, VsCode Error, OpenCode Error, Goose Error] "The file should be called exactly `SKILL.md`."
    {
        why "Nearly every host looks for exactly `SKILL.md`."
        bad ">>> example/skill.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, directory structure; anthropics/claude-code#16983"
    }
    SkillInResources "skill-in-resources" Warning "A page with keywords is among the files of another skill."
    {
        why "A page among the files of another page is a file, not a skill."
        bad ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> auth.md\n---\ndescription: Signs users in\nkeywords: [login, session]\n---\nAsk for the password.\n>>> auth/form.md\n---\ndescription: Signs users in\nkeywords: [login, session]\n---\nAsk for the password.\n"
        good ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> auth.md\n---\ndescription: Signs users in\nkeywords: [login, session]\n---\nAsk for the password.\n>>> form.md\n---\ndescription: Signs users in\nkeywords: [login, session]\n---\nAsk for the password.\n"
        source "docs/format.md, pages of a tree"
    }
    NotASkill "not-a-skill" Info "A page in a tree of skills has no frontmatter."
    {
        why "It is part of the repository, not of the skills."
        bad ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> README.md\nAbout us.\n"
        good ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n"
        source "docs/format.md, pages of a tree"
    }
    UnreadPage "unread-page" Warning "A page is written like a skill, and no program reads it."
    {
        why "A skill is a folder with a `SKILL.md`, so a page beside such folders is not found, although its author gave it a name and a description."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> tables.md\n---\nname: tables\ndescription: Reads tables of a PDF. Use it for tables.\n---\nOpen the file.\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> tables/SKILL.md\n---\nname: tables\ndescription: Reads tables of a PDF. Use it for tables.\n---\nOpen the file.\n"
        source "Agent Skills specification, directory structure"
    }
    NestedSkill "nested-skill" Info [Claude Warning, Gemini Warning, Goose Warning] "A skill is inside of another one."
    {
        why "Hosts that search one level below a folder of skills do not find it, and the outer skill has its files as well."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> example/inner/SKILL.md\n---\nname: inner\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> inner/SKILL.md\n---\nname: inner\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "the loaders of Gemini CLI 5411f113 and goose 17aa5170; Claude Code 2.1.240"
    }
    DeepSkill "deep-skill" Info "Skills are deeper than hosts search."
    {
        why "Claude Code, Gemini CLI and goose look one level below a folder of skills, Codex six."
        bad ">>> skills/team/example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good ">>> skills/example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "the loaders of Codex 033d1d07, Gemini CLI 5411f113 and goose 17aa5170; Claude Code 2.1.240"
    }
    LinkAsText "link-as-text" Warning "A file holds the path of a link instead of what the link leads to."
    {
        why "Git writes links as text on systems that have none, and the agent reads a path instead of the file."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> other\nexample"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> other/SKILL.md\n---\nname: other\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "git-config, core.symlinks"
    }
    LfsPointer "lfs-pointer" Warning "A file is a pointer of Git LFS."
    {
        why "The agent reads a hash instead of the file."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> example/assets/a.bin\nversion https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> example/assets/a.bin\nThe file.\n"
        source "Git LFS, docs/spec.md"
    }
    EmptySubmodule "empty-submodule" Warning "A directory is a submodule that is not checked out."
    {
        why "The skills in it are missing, and nothing else says so."
        bad "(`.gitmodules` names `vendor/skills`, and that directory is empty)"
        good "(the same after `git submodule update --init`)"
        source "gitmodules(5)"
    }

    // What a skill must have.
    MissingFrontmatter "missing-frontmatter" Error "The file has no frontmatter, so it is not served."
    {
        why "Without a name and a description no host offers the skill."
        bad "Open the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, SKILL.md format"
    }
    MissingName "missing-name" Error "The skill has no name, so it is not served."
    {
        why "Hosts need a name to list the skill."
        bad "---\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, name"
    }
    MissingDescription "missing-description" Error "The skill has no description, so it is not served."
    {
        why "The description is all that a model knows before it loads the skill."
        bad "---\nname: example\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, description"
    }
    MissingKeywords "missing-keywords" Error "The page has no keywords, so it is not served."
    {
        why "A page is found by its keywords alone."
        bad ">>> _root.md\n---\ndescription: How we work\n---\nBe kind.\n"
        good ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n"
        source "docs/format.md, pages of a tree"
    }

    // Fields of the Agent Skills specification.
    NameCharacters "name-characters" Info [Spec Error, Gh Error, Cursor Error, VsCode Warning, Copilot Warning, ChatGpt Warning] "The name has other characters than small letters, digits and single hyphens."
    {
        why "Cursor and the specification's validator refuse other characters."
        bad "---\nname: PDF_Forms\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, name"
    }
    NameTooLong "name-too-long" Warning [Spec Error, Gh Error, Codex Error, VsCode Error, Cursor Error] "The name is longer than 64 characters."
    {
        why "Codex skips the skill, and VS Code cuts the name so that no lookup finds it."
        bad "---\nname: a-name-that-says-everything-which-the-description-should-say-about-it\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, name"
    }
    NameNotAscii "name-not-ascii" Info "The name has letters outside of a to z."
    {
        why "The specification allows letters of every script; some hosts take a to z alone."
        bad "---\nname: café\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, name; agentskills/agentskills#345"
    }
    DescriptionTooLong "description-too-long" Info "The description is longer than hosts accept."
    {
        why "Codex skips the skill, VS Code cuts the text at 1,024 characters, Claude Code at 1,536."
        bad "---\nname: example\ndescription: Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. Fills forms of any kind. \n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, description; openai/codex loader.rs"
    }
    DescriptionTag "description-tag" Info [VsCode Error, Claude Warning, ChatGpt Warning] "The description has a tag of XML or HTML."
    {
        why "The description stands in the system prompt, where tags can be taken for structure; VS Code cuts them."
        bad "---\nname: example\ndescription: Fills <form> elements\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills form elements\n---\nOpen the form.\n"
        source "VS Code, promptsServiceImpl; Anthropic, skill authoring"
    }
    CompatibilityTooLong "compatibility-too-long" Info [Spec Error, Gh Error] "The `compatibility` is longer than 500 characters."
    {
        why "The specification's validator refuses the skill."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ncompatibility: Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. Needs Python and more. \n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ncompatibility: Needs Python 3.12\n---\nOpen the form.\n"
        source "Agent Skills specification, compatibility"
    }
    EmptyValue "empty-value" Info [Spec Error] "The `compatibility` is empty."
    {
        why "The specification has 1 to 500 characters of it."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ncompatibility: \"\"\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, compatibility"
    }
    MetadataShape "metadata-shape" Info [Spec Error] "The `metadata` is not a flat map of text to text."
    {
        why "Crush and Rovo Dev drop skills whose metadata has other values than text."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nmetadata:\n  tags: [a, b]\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nmetadata:\n  tags: a b\n---\nOpen the form.\n"
        source "Agent Skills specification, metadata; charmbracelet/crush#3787"
    }
    ProvenanceKey "provenance-key" Warning "The metadata has keys that an installer writes into copies."
    {
        why "An installer writes it into each copy, so at the source it is wrong after the next change."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nmetadata:\n  github-repo: org/skills\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "gh 2.90, skill install"
    }
    UnsupportedKey "unsupported-key" Info [Spec Error] "The key is not in the specification, so only some hosts know it."
    {
        why "Hosts ignore keys that they do not know; the specification's validator refuses them."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ncolour: red\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nmetadata:\n  colour: red\n---\nOpen the form.\n"
        source "Agent Skills specification, skills-ref"
    }
    UnsupportedValue "unsupported-value" Info [Claude Warning] "Claude Code does not know the value of a key of its own."
    {
        why "Claude Code ignores the value, so the key does nothing."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ncontext: frok\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ncontext: fork\n---\nOpen the form.\n"
        source "Claude Code, frontmatter reference"
    }
    NeverInvoked "never-invoked" Warning "Neither people nor models can start the skill."
    {
        why "The skill is installed and never used."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ndisable-model-invocation: true\nuser-invocable: false\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ndisable-model-invocation: true\n---\nOpen the form.\n"
        source "Claude Code, frontmatter reference"
    }
    NumberLosesDigits "number-loses-digits" Info "The value is a number that other readers write differently."
    {
        why "Every other reader takes 1.10 for the number 1.1."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nrevision: 1.10\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nrevision: \"1.10\"\n---\nOpen the form.\n"
        source "YAML 1.2, core schema"
    }

    // Names and paths.
    NameMismatch "name-mismatch" Warning [Spec Error, Gh Error, VsCode Error, Cursor Error, Claude Info, Codex Info, Gemini Info, OpenCode Info, Goose Info] "The name differs from the folder's name; some hosts refuse that."
    {
        why "Cursor, early versions of VS Code and the specification refuse the skill."
        bad "---\nname: forms\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Agent Skills specification, name"
    }
    DuplicatePath "duplicate-path" Error "Two skills of one root have the same path."
    {
        why "A path finds one skill alone."
        bad ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> example.md\n---\ndescription: Signs users in\nkeywords: [login, session]\n---\nAsk for the password.\n>>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> login.md\n---\ndescription: Signs users in\nkeywords: [login, session]\n---\nAsk for the password.\n>>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "docs/format.md, pages of a tree"
    }
    DuplicateName "duplicate-name" Warning [Gemini Error, OpenCode Error, Goose Error] "Two skills have the same name; a lookup by name finds the first."
    {
        why "A lookup by name finds the first. Gemini CLI, opencode and goose keep the last one of a folder and drop the others."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> other/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOther text.\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> other/SKILL.md\n---\nname: other\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "docs/roots.md; packages/core/src/skills of Gemini CLI; src/skill/skill.ts of opencode"
    }
    MixedScripts "mixed-scripts" Warning "A word of the name has letters of several scripts."
    {
        why "Letters of two scripts can look alike, so the name is not the one that people read and type."
        bad ">>> ex\u{430}mple/SKILL.md\n---\nname: ex\u{430}mple\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "Unicode TR 39, section 5"
    }
    SkillShadowed "skill-shadowed" Warning "An earlier root has a skill with the same name, or a page with the same path."
    {
        why "Agents are offered the skill of the earlier root instead."
        bad "(a skill `pdf` in two roots)"
        good "(two names)"
        source "docs/roots.md"
    }
    NotPublished "not-published" Warning [Spec Info, Gh Info, Claude Info, Codex Info, Gemini Info, VsCode Info, Copilot Info, Cursor Info, ChatGpt Info, OpenCode Info, Goose Info] "The MCP skills extension cannot serve the skill; the tools do."
    {
        why "Hosts that read skills over MCP's skills extension do not see it."
        bad "---\nname: Not OK!\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "SEP-2640, skills extension of MCP"
    }
    LastGoodKept "last-good-kept" Warning "The new text does not load; the last good version is still served."
    {
        why "Agents get the text from before the change."
        bad "(a file that is saved half-written while it is served)"
        good "(the file saved whole)"
        source "docs/living-folders.md"
    }
    ConfigIgnored "config-ignored" Warning "The configuration of an earlier root is used instead."
    {
        why "Settings count for all roots, so one file decides."
        bad "(a `config.yaml` in two roots)"
        good "(one `config.yaml`, in the first root)"
        source "docs/configuration.md"
    }

    // Trees of pages.
    DuplicateKeyword "duplicate-keyword" Warning "A page has a keyword twice."
    {
        why "The score of a page is the share of its keywords that a request has, so a keyword that counts twice shifts it."
        bad ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> auth.md\n---\ndescription: Signs users in\nkeywords: [login, session, Login]\n---\nAsk for the password.\n"
        good ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> auth.md\n---\ndescription: Signs users in\nkeywords: [login, session]\n---\nAsk for the password.\n"
        source "docs/format.md, pages of a tree"
    }
    WeakKeyword "weak-keyword" Warning "A keyword leads no request to its page."
    {
        why "Requests are searched without words such as `the` and without punctuation, so the keyword only lowers the score."
        bad ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> auth.md\n---\ndescription: Signs users in\nkeywords: [login, the]\n---\nAsk for the password.\n"
        good ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> auth.md\n---\ndescription: Signs users in\nkeywords: [login, password]\n---\nAsk for the password.\n"
        source "docs/format.md, pages of a tree"
    }
    SameKeywords "same-keywords" Warning "Two pages have the same keywords."
    {
        why "No request finds one of them alone."
        bad ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> auth.md\n---\ndescription: Signs users in\nkeywords: [login]\n---\nAsk for the password.\n>>> session.md\n---\ndescription: Signs users in\nkeywords: [login]\n---\nAsk for the password.\n"
        good ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> auth.md\n---\ndescription: Signs users in\nkeywords: [login]\n---\nAsk for the password.\n>>> session.md\n---\ndescription: Signs users in\nkeywords: [session]\n---\nAsk for the password.\n"
        source "docs/format.md, pages of a tree"
    }
    MissingIndex "missing-index" Info "A directory in a tree of pages has no `_index.md`."
    {
        why "Its pages inherit from the directory above."
        bad ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> web/auth.md\n---\ndescription: Signs users in\nkeywords: [login]\n---\nAsk for the password.\n"
        good ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> web/_index.md\n---\ndescription: Signs users in\nkeywords: [web]\n---\nAsk for the password.\n>>> web/auth.md\n---\ndescription: Signs users in\nkeywords: [login]\n---\nAsk for the password.\n"
        source "docs/format.md, pages of a tree"
    }

    // Files.
    AssetShape "asset-shape" Warning "A file declaration is malformed."
    {
        why "A file that is not declared properly is not served."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nscripts: run.sh\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "docs/format.md, pages of a tree"
    }
    AssetEscapesSkill "asset-escapes-skill" Error "A declared file is outside the skill."
    {
        why "A skill serves its own files alone."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nscripts:\n  - file: ../run.sh\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "docs/security.md"
    }
    MissingAsset "missing-asset" Warning "A declared file does not exist."
    {
        why "Agents are promised a file that is not there."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nscripts:\n  - file: scripts/run.sh\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "docs/format.md, pages of a tree"
    }
    DuplicateAsset "duplicate-asset" Warning "A file is declared twice; the first declaration counts."
    {
        why "Only one declaration can count."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nassets:\n  - file: a.txt\n  - file: a.txt\n---\nOpen the form.\n>>> example/a.txt\nA.\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nassets:\n  - file: a.txt\n---\nOpen the form.\n>>> example/a.txt\nA.\n"
        source "docs/format.md, pages of a tree"
    }
    UndeclaredFile "undeclared-file" Info "A file beside a page is not declared, so it is not served."
    {
        why "A page serves the files that it declares, no others."
        bad ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> auth.md\n---\ndescription: Signs users in\nkeywords: [login, session]\n---\nAsk for the password.\n>>> auth/form.txt\nForm.\n"
        good ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> auth.md\n---\ndescription: Signs users in\nkeywords: [login, session]\nassets:\n  - file: form.txt\n---\nAsk for the password.\n>>> auth/form.txt\nForm.\n"
        source "docs/format.md, pages of a tree"
    }
    UnknownExecution "unknown-execution" Warning "A script's `execution` is neither `claude` nor `server`."
    {
        why "The script is treated as one that the agent runs itself."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nscripts:\n  - file: run.sh\n    execution: local\n---\nOpen the form.\n>>> example/run.sh\n#!/bin/sh\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nscripts:\n  - file: run.sh\n    execution: server\n---\nOpen the form.\n>>> example/run.sh\n#!/bin/sh\n"
        source "docs/format.md, pages of a tree"
    }
    ArgumentName "argument-name" Warning "An argument's name cannot become a variable, so the argument is left out."
    {
        why "The script could not read it: arguments become environment variables."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nscripts:\n  - file: run.sh\n    args:\n      - name: \"a b\"\n---\nOpen the form.\n>>> example/run.sh\n#!/bin/sh\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nscripts:\n  - file: run.sh\n    args:\n      - name: a-b\n---\nOpen the form.\n>>> example/run.sh\n#!/bin/sh\n"
        source "docs/scripts.md"
    }
    DuplicateArgument "duplicate-argument" Warning "Two arguments of a script become the same variable; the first one counts."
    {
        why "One variable cannot hold both."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nscripts:\n  - file: run.sh\n    args:\n      - name: a-b\n      - name: a_b\n---\nOpen the form.\n>>> example/run.sh\n#!/bin/sh\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\nscripts:\n  - file: run.sh\n    args:\n      - name: a-b\n---\nOpen the form.\n>>> example/run.sh\n#!/bin/sh\n"
        source "docs/scripts.md"
    }
    SkillTooLarge "skill-too-large" Warning [Claude Error] "A skill or its text is larger than hosts accept."
    {
        why "Hosts need not load more than 512 files or 16 MiB, and Claude Code reads at most 1,000,000 bytes of a SKILL.md."
        bad "(a skill of 600 files)"
        good "(fewer files, or several skills)"
        source "SEP-2640, skills extension of MCP"
    }
    LongText "long-text" Info [Spec Warning, Claude Warning] "A skill's text is longer than is advised."
    {
        why "The whole text enters the context of the model whenever the skill is used."
        bad "(a `SKILL.md` of 600 lines)"
        good "(details in files of `references/`, which are read when they are needed)"
        source "Agent Skills specification, progressive disclosure"
    }
    ManySkills "many-skills" Info [Claude Warning] "There are more skills than a host takes from one server."
    {
        why "Claude Code takes 100 skills of a server, if it lists the skills of servers at all."
        bad "(101 skills)"
        good "(100 skills)"
        source "Claude Code 2.1.332, read in the program"
    }
    LongListing "long-listing" Info [Claude Warning] "All descriptions together are longer than a host lists."
    {
        why "Claude Code lists skills in 1 % of its context, about 2,000 tokens, and leaves the rest out."
        bad "(60 skills with descriptions of 200 characters)"
        good "(30 such skills)"
        source "Claude Code, changelog to 2.1.240"
    }
    ReferenceLeavesSkill "reference-leaves-skill" Warning "A reference leads out of the skill and breaks once the skill is installed."
    {
        why "An installed skill has only its own files."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nSee [the guide](../../guide.md).\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nSee the guide.\n"
        source "Agent Skills specification, file references"
    }
    BrokenReference "broken-reference" Warning "A reference leads to a file that does not exist."
    {
        why "The agent looks for the file, finds nothing, and guesses."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nSee [the guide](references/guide.md).\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nSee [the guide](references/guide.md).\n>>> example/references/guide.md\nGuide.\n"
        source "Agent Skills specification, file references"
    }

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
    UnusableShebang "unusable-shebang" Warning "The `#!` line of a script has a byte order mark before it, a CRLF behind it, or several words for `env`."
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
        bad "(a file with a private key, or with a token as GitHub, AWS or Slack issue them)"
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
        bad "(a page in Latin-1 or UTF-16)"
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
    PartlyChecked "partly-checked" Info "Only a part of the file was checked, since it is too large or nested too deeply."
    {
        why "What was not checked may have anything that other rules report."
        bad "(a text of more than 1 MiB)"
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
    {
        why "The skill cannot be invoked; it stays a text."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ncontract:\n  category: ai\n  input_schema: {type: object}\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ncontract:\n  category: ai\n  input_schema: {type: object}\n  output_schema: {type: object}\n---\nOpen the form.\n"
        source "docs/contracts.md"
    }
    ContractName "contract-name" Error "The name or description does not fit a skill with a contract, so it cannot be invoked."
    {
        why "A skill with a contract is a tool, and tools have such names."
        bad "---\nname: a--b\ndescription: Fills PDF forms. Use it for forms.\ncontract:\n  category: ai\n  input_schema: {type: object}\n  output_schema: {type: object}\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ncontract:\n  category: ai\n  input_schema: {type: object}\n  output_schema: {type: object}\n---\nOpen the form.\n"
        source "docs/contracts.md"
    }
    ContractSchema "contract-schema" Error "A schema of a contract is not valid, so the skill cannot be invoked."
    {
        why "Input and output could not be checked."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ncontract:\n  category: ai\n  input_schema: {type: nothing}\n  output_schema: {type: object}\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ncontract:\n  category: ai\n  input_schema: {type: object}\n  output_schema: {type: object}\n---\nOpen the form.\n"
        source "JSON Schema 2020-12; docs/contracts.md"
    }
    ContractAgent "contract-agent" Error "A contract names an agent that does not exist, so the skill cannot be invoked."
    {
        why "Nobody could ever invoke it."
        bad "(`assigned_to: [Ghost]`, and `config.yaml` has no agent `Ghost`)"
        good "(an agent that `contracts.agents` of `config.yaml` has)"
        source "docs/contracts.md"
    }
    ContractHandler "contract-handler" Error "The handler of a contract cannot be run, so the skill cannot be invoked."
    {
        why "There is nothing to run."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ncontract:\n  category: ai\n  input_schema: {type: object}\n  output_schema: {type: object}\n  handler: run.sh\n---\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\ncontract:\n  category: ai\n  input_schema: {type: object}\n  output_schema: {type: object}\n---\nOpen the form.\n"
        source "docs/contracts.md"
    }

    // config.yaml.
    ConfigNeedsOperator "config-needs-operator" Warning "Only the operator may set this; the value has no effect."
    {
        why "Content cannot grant itself rights; only who runs the server can."
        bad ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> config.yaml\nanalytics:\n  enabled: true\n"
        good ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n"
        source "docs/configuration.md"
    }
    ConfigUnknownKey "config-unknown-key" Warning "The configuration has an unknown key."
    {
        why "The key has no effect."
        bad ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> config.yaml\nmatching:\n  max_result: 3\n"
        good ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> config.yaml\nmatching:\n  max_results: 3\n"
        source "docs/configuration.md"
    }
    ConfigInvalidValue "config-invalid-value" Warning "The value has the wrong type or is out of range; the default is used."
    {
        why "The default is used instead."
        bad ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> config.yaml\nmatching:\n  min_score: 2\n"
        good ">>> _root.md\n---\ndescription: How we work\nkeywords: [rules]\n---\nBe kind.\n>>> config.yaml\nmatching:\n  min_score: 0.2\n"
        source "docs/configuration.md"
    }

    // Evaluations.
    EvaluationShape "evaluation-shape" Error "An evaluation file, or a request in it, is malformed."
    {
        why "The request is not replayed, so nothing guards the routing that it stands for."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> routing.json\n[{\"expect\": \"example\"}]\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> routing.json\n[{\"request\": \"fill this PDF form\", \"expect\": \"example\"}]\n"
        source "docs/routing-proofs.md"
    }
    EvaluationSkill "evaluation-skill" Error "A request names a skill that is not served."
    {
        why "A request that expects nothing that exists cannot be met."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> routing.json\n[{\"request\": \"fill this PDF form\", \"expect\": \"exmple\"}]\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> routing.json\n[{\"request\": \"fill this PDF form\", \"expect\": \"example\"}]\n"
        source "docs/routing-proofs.md"
    }
    RequestMissed "request-missed" Warning "A request does not find the skill that it should find."
    {
        why "Agents that route by words would not be led to the skill."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> mail/SKILL.md\n---\nname: mail\ndescription: Sends mail to colleagues. Use it for letters and newsletters.\n---\nSend it.\n>>> routing.json\n[{\"request\": \"knit a woollen hat\", \"expect\": \"example\"}]\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> mail/SKILL.md\n---\nname: mail\ndescription: Sends mail to colleagues. Use it for letters and newsletters.\n---\nSend it.\n>>> routing.json\n[{\"request\": \"fill this PDF form\", \"expect\": \"example\"}]\n"
        source "docs/routing-proofs.md"
    }
    RequestAmbiguous "request-ambiguous" Warning "A request finds the right skill and others that are too close to choose."
    {
        why "The agent has to choose, and may choose wrongly."
        bad "(two skills with nearly the same description, and a request with words of both)"
        good "(descriptions that say what each is for and the other is not)"
        source "docs/routing-proofs.md"
    }
    RequestMisrouted "request-misrouted" Warning "Another skill wins a request."
    {
        why "The agent follows other instructions than those that were meant."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> mail/SKILL.md\n---\nname: mail\ndescription: Sends mail to colleagues. Use it for letters and newsletters.\n---\nSend it.\n>>> routing.json\n[{\"request\": \"send mail to colleagues\", \"expect\": \"example\"}]\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> mail/SKILL.md\n---\nname: mail\ndescription: Sends mail to colleagues. Use it for letters and newsletters.\n---\nSend it.\n>>> routing.json\n[{\"request\": \"send mail to colleagues\", \"expect\": \"mail\"}]\n"
        source "docs/routing-proofs.md"
    }
    RequestFalseTrigger "request-false-trigger" Warning "A skill wins a request that it should not win."
    {
        why "The agent loads a skill that does not fit."
        bad ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> mail/SKILL.md\n---\nname: mail\ndescription: Sends mail to colleagues. Use it for letters and newsletters.\n---\nSend it.\n>>> routing.json\n[{\"request\": \"fill this PDF form\", \"expect\": null}]\n"
        good ">>> example/SKILL.md\n---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n>>> mail/SKILL.md\n---\nname: mail\ndescription: Sends mail to colleagues. Use it for letters and newsletters.\n---\nSend it.\n>>> routing.json\n[{\"request\": \"knit a woollen hat\", \"expect\": null}]\n"
        source "docs/routing-proofs.md"
    }
    RequestRerouted "request-rerouted" Warning "A request that found its skill before finds another one, several or none now."
    {
        why "A change of one skill takes requests from another."
        bad "(a new skill whose description has the words of an older one, checked with `--against`)"
        good "(a description with words of its own)"
        source "docs/routing-proofs.md"
    }

    // Comments that allow findings.
    SuppressionReason "suppression-reason" Warning "A comment that allows a finding gives no reason, so it has no effect."
    {
        why "Without a reason nobody can tell later whether the finding may be allowed still."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\n<!-- skillbundle: allow broken-reference -->\nRead [the fields](references/fields.md).\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\n<!-- skillbundle: allow broken-reference: the build writes the file -->\nRead [the fields](references/fields.md).\n"
        source "docs/check-settings.md"
    }
    UnknownSuppression "unknown-suppression" Warning "A comment that should allow a finding names no rule."
    {
        why "The comment has no effect, and the finding that it was written for is reported."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\n<!-- skillbundle: allow brokn-reference: the build writes the file -->\nRead [the fields](references/fields.md).\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\n<!-- skillbundle: allow broken-reference: the build writes the file -->\nRead [the fields](references/fields.md).\n"
        source "docs/check-settings.md"
    }
    UnusedSuppression "unused-suppression" Warning "A comment allows a finding that does not exist."
    {
        why "What it was written for is fixed, and it would hide the next finding of its kind."
        bad "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\n<!-- skillbundle: allow broken-reference: the build writes the file -->\nOpen the form.\n"
        good "---\nname: example\ndescription: Fills PDF forms. Use it for forms.\n---\nOpen the form.\n"
        source "docs/check-settings.md"
    }
}

/// Fewer skills are checked faster than a thread starts.
const LEAST_SKILLS: usize = 8;

/// Runs the rules about whole skills and their files, which are known by now, and about all skills
/// together.
pub(crate) fn check(tree: &Tree, drafts: &[Draft], out: &mut Vec<Diagnostic>) {
    let homes = homes(tree, drafts);
    let found = parallel::map(drafts, LEAST_SKILLS, |draft| {
        let mut out = Vec::new();
        let root = draft.entry.root as usize;
        let (root, homes) = (&tree.roots[root], &homes[root]);
        files::check(root, draft, &mut out);
        scripts::check(root, draft, &mut out);
        references::check(root, draft, homes, &mut out);
        checkout::check(root, draft, &mut out);
        layout::check(draft, homes, &mut out);
        budget::check(draft, &mut out);
        look_alikes::check(draft, &mut out);
        out
    });
    out.extend(found.into_iter().flatten());
    names::check(tree, drafts, out);
    content::check(tree, drafts, out);
    checkout::check_all(tree, drafts, out);
    layout::check_all(tree, drafts, &homes, out);
    keywords::check_all(tree, drafts, out);
    budget::check_all(tree, drafts, out);
}

/// For each root the directories of its skills.
fn homes<'a>(tree: &Tree, drafts: &'a [Draft]) -> Vec<BTreeSet<&'a str>> {
    let mut homes = vec![BTreeSet::new(); tree.roots.len()];
    let folders = drafts
        .iter()
        .filter(|it| it.entry.dialect == Dialect::Folder);
    for draft in folders {
        homes[draft.entry.root as usize].insert(draft.directory());
    }
    homes
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
