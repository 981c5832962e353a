//! The table of everything the compiler can find. One row per code: variant,
//! name, default severity, meaning. A new finding is a new row.

use std::fmt;

use super::Severity;

macro_rules! codes {
    ($($variant:ident $name:literal $severity:ident $meaning:literal)*) => {
        /// Which kind of finding a diagnostic is. The names are stable: people
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

            /// The severity it has unless the finding says otherwise.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// What it means, in one line.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

codes! {
    // Text and fences.
    NotUtf8 "not-utf8" Error "The file is not UTF-8 text."
    ByteOrderMark "byte-order-mark" Info "The file begins with a byte order mark, which is left out when served."
    ControlCharacter "control-character" Warning "A control character stands in the file."
    HiddenCharacter "hidden-character" Warning "Characters that carry text unseen, or that reorder text, stand in the file."
    InvisibleCharacter "invisible-character" Info "Characters without width stand in the file."
    UnclosedFrontmatter "unclosed-frontmatter" Error "The frontmatter has no closing fence."
    FrontmatterTooLarge "frontmatter-too-large" Error "The frontmatter is larger than 64 KiB or holds more than 4,096 values."
    EmptyBody "empty-body" Warning "Nothing follows the frontmatter."

    // YAML.
    InvalidYaml "invalid-yaml" Error "The frontmatter is not YAML and cannot be recovered."
    UnquotedValue "unquoted-value" Error "A value needs quotes to be YAML; it was recovered as written."
    TabIndentation "tab-indentation" Error "A tab is used for indentation, which YAML does not allow."
    LooseIndentation "loose-indentation" Warning "A line that continues a value is not indented."
    MissingSpace "missing-space" Error "A key's colon has no blank behind it."
    UnindentedText "unindented-text" Error "A line of text stands where a key is expected; it was taken as part of the value above."
    TextLostToComment "text-lost-to-comment" Warning "Text is lost because ` #` begins a comment."
    DuplicateKey "duplicate-key" Error "A key is given twice; the first one counts."
    YamlFeature "yaml-feature" Error "Anchors, aliases, merge keys, tags and directives are refused."
    TooDeep "too-deep" Error "The frontmatter is nested deeper than 32 levels."
    NotAMapping "not-a-mapping" Error "The frontmatter is not a list of `key: value` pairs."
    NotText "not-text" Warning "Text is wanted; the value's source text is taken."
    NotAList "not-a-list" Warning "A list is wanted."
    NotABoolean "not-a-boolean" Warning "`true` or `false` is wanted."
    NotANumber "not-a-number" Warning "A number is wanted."
    ToolListShape "tool-list-shape" Info "The list of tools is not written in the portable, space-separated form."
    UnknownKey "unknown-key" Warning "Nothing reads the key; it resembles one that is read."

    // The disk.
    RootMissing "root-missing" Error "A root does not exist."
    Unreadable "unreadable" Error "A file or directory cannot be read."
    ChangedWhileRead "changed-while-read" Error "A file was replaced between looking at it and reading it."
    NotAFile "not-a-file" Error "A pipe, socket or device stands where a file is wanted."
    UnusableName "unusable-name" Error "A file name cannot be a key of a bundle."
    FileTooLarge "file-too-large" Error "A file is larger than what is read at most."
    TooManyFiles "too-many-files" Error "A root or a linked directory holds more than what is read at most."
    DirectoryTooDeep "directory-too-deep" Warning "A directory lies deeper than what is searched."
    IgnoredDirectory "ignored-directory" Info "Directories of this name are never read."
    LinkEscapes "link-escapes" Error "A link leads out of the area that may be read."
    BrokenLink "broken-link" Warning "A link leads to nothing."
    LinkCycle "link-cycle" Warning "A link leads back to a directory that it lies in."
    SecretFile "secret-file" Warning "A file is named like one that holds credentials."
    HardLinkedFile "hard-linked-file" Info "A file has a second name, which may lie outside the skill."

    // Which files are skills.
    NoSkills "no-skills" Warning "A root holds no skill."
    HiddenSkill "hidden-skill" Warning "A skill lies in a dot folder, which is not searched."
    LinkedSkill "linked-skill" Info "A link leads to a skill that is served already."
    SkillFileName "skill-file-name" Warning "The file is not called `SKILL.md` in this spelling."
    SkillInResources "skill-in-resources" Warning "A page with keywords lies among the files of another skill."
    NotASkill "not-a-skill" Info "A page in a tree of skills has no frontmatter."

    // What a skill must have.
    MissingFrontmatter "missing-frontmatter" Error "The file has no frontmatter; it is not served."
    MissingName "missing-name" Error "The skill has no name; it is not served."
    MissingDescription "missing-description" Error "The skill has no description; it is not served."
    MissingKeywords "missing-keywords" Error "The page has no keywords; it is not served."

    // Names and paths.
    NameMismatch "name-mismatch" Warning "The name differs from the folder's; several hosts refuse that."
    DuplicatePath "duplicate-path" Error "Two skills of one root have the same path."
    DuplicateName "duplicate-name" Warning "Two skills have one name; the first in order is found by it."
    SkillShadowed "skill-shadowed" Warning "An earlier root has a skill of the same path."
    NotPublished "not-published" Warning "The skills extension of MCP cannot serve the skill; the tools do."
    LastGoodKept "last-good-kept" Warning "The new text does not load; the last good version stays."
    ConfigIgnored "config-ignored" Warning "An earlier root has a configuration already."

    // Files.
    AssetShape "asset-shape" Warning "A declared file is not written as one."
    AssetEscapesSkill "asset-escapes-skill" Error "A declared file lies outside the skill."
    MissingAsset "missing-asset" Warning "A declared file is not there."
    DuplicateAsset "duplicate-asset" Warning "A file is declared twice; the first declaration counts."
    UndeclaredFile "undeclared-file" Info "A file lies beside a page and is not declared, so it is not served."
    UnknownExecution "unknown-execution" Warning "A script's `execution` is neither `claude` nor `server`."
    SkillTooLarge "skill-too-large" Warning "A skill, or its text, is larger than hosts accept."
    ReferenceLeavesSkill "reference-leaves-skill" Warning "A reference leads out of the skill, where an installed copy has nothing."
    BrokenReference "broken-reference" Warning "A reference leads to a file that is not there."

    // config.yaml.
    ConfigNeedsOperator "config-needs-operator" Warning "Content cannot widen what the operator allows; the key has no effect."
    ConfigUnknownKey "config-unknown-key" Warning "The configuration has a key that nothing reads."
    ConfigInvalidValue "config-invalid-value" Warning "The value is out of range or of the wrong type; the default is kept."

    // Evaluations.
    EvaluationShape "evaluation-shape" Error "An evaluation file, or a request in it, is not written as one."
    EvaluationSkill "evaluation-skill" Error "A request of an evaluation names no skill that is served."
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
            assert!(seen.insert(name), "`{name}` stands twice in the table");
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
