//! What can be wrong with a text, in our own words, and which of them each
//! error of the parser is.

use granit_parser::{ErrorKind, ScanError};

/// Why a text is not the YAML we read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::frontmatter) enum Cause {
    /// `: ` within an unquoted value.
    Colon,
    /// A value begins with this character, which YAML keeps for itself.
    Start(char),
    /// Something stands behind the end of a quoted text or a bracket.
    Trailing,
    /// A bracket or quote is never closed.
    Unclosed(char),
    /// A continuation line is not indented.
    Indentation,
    /// A tab stands where only blanks may.
    Tab,
    /// A line that is neither `key: value` nor part of the value above.
    NoKey,
    /// A backslash sequence that YAML does not know.
    Escape,
    /// The `|` or `>` of a text block is followed by something else.
    BlockHeader,
    /// An alias, anchor or tag that could be meant as text; with its name.
    Marked(char, String),
    /// A YAML feature that is refused; with its name.
    Refused(&'static str),
    /// A second document begins.
    SecondDocument,
    /// Nested deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    Depth,
    /// More values than are read.
    Size,
    /// A key that was read as a part of the text above it.
    SwallowedKey,
    /// All else; the parser's own words.
    Other(String),
}

/// The first thing that is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::frontmatter) struct Fault {
    pub(in crate::frontmatter) cause: Cause,
    /// Byte offset of the fault.
    pub(in crate::frontmatter) at: usize,
    /// Where the outermost bracket begins that is open at the fault.
    pub(in crate::frontmatter) bracket: Option<usize>,
    /// Where the last thing ends that was understood.
    pub(in crate::frontmatter) understood: usize,
}

/// Where an error stands.
pub(super) fn offset(error: &ScanError) -> usize {
    error.marker().byte_offset().unwrap_or_default()
}

/// What an error means.
pub(super) fn cause(text: &str, error: &ScanError) -> Cause {
    use ErrorKind as E;
    match error.kind() {
        E::MappingValueNotAllowed | E::InvalidColonPlacement => Cause::Colon,
        E::UnexpectedCharacter { character } => Cause::Start(*character),
        E::InvalidTrailingSingleQuotedScalar | E::InvalidTrailingDoubleQuotedScalar => {
            Cause::Trailing
        }
        E::UnclosedFlowCollection { open } => Cause::Unclosed(*open),
        E::UnclosedQuotedScalar => Cause::Unclosed(first_char(text, offset(error))),
        E::InvalidIndentation | E::InvalidQuotedScalarIndent | E::InvalidFlowScalarIndent => {
            Cause::Indentation
        }
        E::TabNotAllowed
        | E::TabInBlockIndentation
        | E::TabInIndentation
        | E::TabInPlainScalar
        | E::TabAtBlockScalarStart => Cause::Tab,
        E::SimpleKeyExpected => Cause::NoKey,
        E::UnknownQuotedScalarEscape
        | E::InvalidQuotedScalarHexEscape
        | E::InvalidUnicodeEscape
        | E::InvalidLowSurrogateHexEscape
        | E::InvalidLowSurrogate
        | E::MissingLowSurrogate
        | E::UnpairedLowSurrogate => Cause::Escape,
        E::InvalidBlockScalarHeader | E::ZeroBlockScalarIndent => Cause::BlockHeader,
        E::UnknownAnchor => Cause::Marked('*', name_at(text, offset(error))),
        E::MissingAnchorOrAliasName
        | E::MissingTagUri
        | E::UndeclaredTagHandle
        | E::UnclosedVerbatimTag
        | E::InvalidTagTerminator
        | E::InvalidTagEscape
        | E::BlockSequenceEntryNotAllowed
        | E::MappingKeyNotAllowed
        | E::MisplacedFlowCollectionEnd
        | E::UnexpectedEofBlockMapping => Cause::Start(first_char(text, offset(error))),
        E::DirectiveDisallowed => Cause::Refused("a `%` directive"),
        E::RecursionLimitExceeded => Cause::Depth,
        kind => Cause::Other(kind.to_string()),
    }
}

fn first_char(text: &str, at: usize) -> char {
    text.get(at..)
        .and_then(|rest| rest.chars().next())
        .unwrap_or_default()
}

/// The name behind the `*` or `&` at `at`.
fn name_at(text: &str, at: usize) -> String {
    let rest = text.get(at + 1..).unwrap_or_default();
    rest.chars()
        .take_while(|it| !it.is_whitespace() && !"[]{},".contains(*it))
        .collect()
}
