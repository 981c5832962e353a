//! The only file that knows the YAML parser: its events become a tree, its errors
//! a [`YamlError`] with a position and a kind that repairs can be chosen by. Works
//! on a piece of text and byte offsets in it.

use std::ops::Range;

use granit_parser::{
    ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span, StructureStyle, Tag,
};

use super::node::{Entry, Key, Node, NodeKind, Style};
use super::typing::{self, Typed};

/// Limit of nesting. The deepest of 601 real frontmatters has 4 levels.
pub(super) const MAX_DEPTH: usize = 32;

/// Limit of values, so that 64 KiB of `[],` cost little memory. The largest of 601
/// real frontmatters has 20.
pub(super) const MAX_NODES: usize = 4096;

/// Why a text is not accepted as YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum YamlErrorKind {
    /// `: ` inside an unquoted value.
    Colon,
    /// A value begins with this character, which YAML reserves.
    Start(char),
    /// Text follows the end of a quoted text or a bracket.
    Trailing,
    /// A bracket or quote is never closed.
    Unclosed(char),
    /// A continuation line is not indented.
    Indentation,
    /// A tab where only spaces are allowed.
    Tab,
    /// A line that is neither `key: value` nor part of the value above.
    NoKey,
    /// A backslash sequence that YAML does not define.
    Escape,
    /// Text follows the `|` or `>` of a block.
    BlockHeader,
    /// An alias, anchor or tag that may be meant as text; its sign and name.
    Marked(char, String),
    /// A refused YAML feature; its name.
    Refused(&'static str),
    /// A second document begins.
    SecondDocument,
    /// Nested deeper than [`MAX_DEPTH`] levels.
    Depth,
    /// More than [`MAX_NODES`] values.
    Size,
    /// A key was read as part of the text above it.
    SwallowedKey,
    /// Everything else.
    Other,
}

/// The first error in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlError {
    pub(super) kind: YamlErrorKind,
    /// Byte offset of the error.
    pub(super) at: usize,
    /// Start of the outermost bracket that is open at the error.
    pub(super) bracket: Option<usize>,
    /// End of the last token that was understood.
    pub(super) understood: usize,
}

/// Reads a text as one YAML document; `None` if it is empty. `strict` requires
/// continuation lines to be indented, as YAML 1.2 does; older parsers do not.
/// Every event decrements `budget`.
pub(super) fn read(
    text: &str,
    strict: bool,
    budget: &mut usize,
) -> Result<Option<Node>, YamlError> {
    let mut builder = Builder {
        text,
        ..Builder::default()
    };
    let mut parser = Parser::new_from_str_with_options(text, options(strict));
    while let Some(next) = parser.next_event() {
        *budget = budget.saturating_sub(1);
        match next {
            Ok((event, span)) => builder.take(&event, &span)?,
            Err(error) => return Err(builder.error(kind(text, &error), offset(&error))),
        }
    }
    match builder.refused {
        Some(error) => Err(error),
        None => Ok(builder.root),
    }
}

fn options(strict: bool) -> Options {
    let mut options = granit_parser::options! {
        strict_indentation: strict,
        disallow_directives: true,
        bom_inside_document_as_content: true,
        emit_anchor_events: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    options.set_emit_comments(false);
    options
}

/// A list or mapping that is not closed yet.
struct Open {
    start: usize,
    end: usize,
    in_brackets: bool,
    children: Children,
}

enum Children {
    Items(Vec<Node>),
    Entries(Vec<Entry>, Option<Key>),
}

/// Builds the tree without recursion.
#[derive(Default)]
struct Builder<'a> {
    text: &'a str,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    nodes: usize,
    understood: usize,
    /// Whether the event before this one was a scalar.
    last_was_scalar: bool,
    /// The first refused feature. A syntax error takes precedence, since `&`,
    /// `*` and `!` may simply begin a text.
    refused: Option<YamlError>,
}

impl Builder<'_> {
    fn take(&mut self, event: &Event<'_>, span: &Span) -> Result<(), YamlError> {
        let range = bytes(span);
        let after_scalar = std::mem::take(&mut self.last_was_scalar);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.error(YamlErrorKind::SecondDocument, range.start));
                }
            }
            Event::Scalar(text, style, _, tag) => {
                let style = self.tagged(*style, tag.as_deref(), span);
                self.understood = range.end;
                self.last_was_scalar = true;
                self.add(scalar(text, style, range))?;
            }
            Event::SequenceStart(style, _, tag) => {
                self.collection_tag(tag.as_deref(), "seq", span);
                self.begin(range, *style, Children::Items(Vec::new()))?;
            }
            Event::MappingStart(style, _, tag) => {
                self.collection_tag(tag.as_deref(), "map", span);
                self.begin(range, *style, Children::Entries(Vec::new(), None))?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(&range)?,
            Event::Anchor(_, name) => {
                let kind = if after_scalar {
                    YamlErrorKind::Marked('&', name.to_string())
                } else {
                    YamlErrorKind::Refused("an anchor (`&`)")
                };
                self.refuse(kind, range.start);
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.refuse(YamlErrorKind::Refused("an alias (`*`)"), range.start);
                self.add(Node {
                    range,
                    kind: NodeKind::Null,
                })?;
            }
            _ => {}
        }
        Ok(())
    }

    fn error(&self, kind: YamlErrorKind, at: usize) -> YamlError {
        let bracket = self
            .open
            .iter()
            .find(|it| it.in_brackets)
            .map(|it| it.start);
        YamlError {
            kind,
            at,
            bracket,
            understood: self.understood,
        }
    }

    fn refuse(&mut self, kind: YamlErrorKind, at: usize) {
        let error = self.error(kind, at);
        self.refused.get_or_insert(error);
    }

    /// The style of a scalar; the tag `!!str` makes it text.
    fn tagged(&mut self, style: ScalarStyle, tag: Option<&Tag>, span: &Span) -> Style {
        let own = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
            _ => Style::Quoted,
        };
        match tag.map(Tag::core_suffix) {
            None | Some(Some("int" | "float" | "bool" | "null")) => own,
            Some(Some("str")) => {
                if own == Style::Plain {
                    Style::Quoted
                } else {
                    own
                }
            }
            Some(_) => {
                self.refuse(YamlErrorKind::Marked('!', String::new()), tag_start(span));
                own
            }
        }
    }

    fn collection_tag(&mut self, tag: Option<&Tag>, allowed: &str, span: &Span) {
        if tag.is_some_and(|tag| tag.core_suffix() != Some(allowed)) {
            self.refuse(YamlErrorKind::Refused("a tag (`!`)"), tag_start(span));
        }
    }

    fn begin(
        &mut self,
        range: Range<usize>,
        style: StructureStyle,
        children: Children,
    ) -> Result<(), YamlError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.error(YamlErrorKind::Depth, range.start));
        }
        let in_brackets = style == StructureStyle::Flow;
        self.understood = range.end.max(self.understood);
        self.open.push(Open {
            start: range.start,
            end: range.end,
            in_brackets,
            children,
        });
        Ok(())
    }

    /// Closes the innermost collection. Without brackets it ends with its last
    /// value, since the parser reports the start of the next line.
    fn end(&mut self, range: &Range<usize>) -> Result<(), YamlError> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let end = if open.in_brackets {
            open.end.max(range.end)
        } else {
            open.end
        };
        self.understood = end.max(self.understood);
        let kind = match open.children {
            Children::Items(items) => NodeKind::Sequence(items),
            Children::Entries(entries, _) => NodeKind::Mapping(entries),
        };
        self.add(Node {
            range: open.start..end,
            kind,
        })
    }

    fn add(&mut self, node: Node) -> Result<(), YamlError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(self.error(YamlErrorKind::Size, node.range.start));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.end = open.end.max(node.range.end);
        match &mut open.children {
            Children::Items(items) => items.push(node),
            Children::Entries(entries, key) => {
                if let Some(key) = key.take() {
                    entries.push(Entry { key, value: node });
                } else {
                    let merge = is_merge_key(&node).then_some(node.range.start);
                    *key = Some(as_key(self.text, node));
                    if let Some(at) = merge {
                        self.refuse(YamlErrorKind::Refused("a merge key (`<<`)"), at);
                    }
                }
            }
        }
        Ok(())
    }
}

fn bytes(span: &Span) -> Range<usize> {
    span.byte_range().unwrap_or_default()
}

fn tag_start(span: &Span) -> usize {
    let tag = span.tag_start().and_then(|mark| mark.byte_offset());
    tag.unwrap_or_else(|| bytes(span).start)
}

fn scalar(text: &str, style: Style, range: Range<usize>) -> Node {
    if style == Style::Plain && (range.is_empty() || typing::resolve(text) == Typed::Null) {
        return Node {
            range,
            kind: NodeKind::Null,
        };
    }
    Node {
        range,
        kind: NodeKind::Scalar {
            text: text.to_owned(),
            style,
        },
    }
}

fn is_merge_key(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::Scalar { text, style: Style::Plain } if text == "<<")
}

/// A key as text; a list or mapping as its source text.
fn as_key(source: &str, node: Node) -> Key {
    let text = match node.kind {
        NodeKind::Scalar { text, .. } => text,
        _ => source
            .get(node.range.clone())
            .unwrap_or_default()
            .to_owned(),
    };
    Key {
        text,
        range: node.range,
    }
}

/// The byte offset of a parser error.
fn offset(error: &ScanError) -> usize {
    error.marker().byte_offset().unwrap_or_default()
}

/// Classifies a parser error.
fn kind(text: &str, error: &ScanError) -> YamlErrorKind {
    use ErrorKind as E;
    match error.kind() {
        E::MappingValueNotAllowed | E::InvalidColonPlacement => YamlErrorKind::Colon,
        E::UnexpectedCharacter { character } => YamlErrorKind::Start(*character),
        E::InvalidTrailingSingleQuotedScalar | E::InvalidTrailingDoubleQuotedScalar => {
            YamlErrorKind::Trailing
        }
        E::UnclosedFlowCollection { open } => YamlErrorKind::Unclosed(*open),
        E::UnclosedQuotedScalar => YamlErrorKind::Unclosed(first_char(text, offset(error))),
        E::InvalidIndentation | E::InvalidQuotedScalarIndent | E::InvalidFlowScalarIndent => {
            YamlErrorKind::Indentation
        }
        E::TabNotAllowed
        | E::TabInBlockIndentation
        | E::TabInIndentation
        | E::TabInPlainScalar
        | E::TabAtBlockScalarStart => YamlErrorKind::Tab,
        E::SimpleKeyExpected => YamlErrorKind::NoKey,
        E::UnknownQuotedScalarEscape
        | E::InvalidQuotedScalarHexEscape
        | E::InvalidUnicodeEscape
        | E::InvalidLowSurrogateHexEscape
        | E::InvalidLowSurrogate
        | E::MissingLowSurrogate
        | E::UnpairedLowSurrogate => YamlErrorKind::Escape,
        E::InvalidBlockScalarHeader | E::ZeroBlockScalarIndent => YamlErrorKind::BlockHeader,
        E::UnknownAnchor => YamlErrorKind::Marked('*', name_at(text, offset(error))),
        E::MissingAnchorOrAliasName
        | E::MissingTagUri
        | E::UndeclaredTagHandle
        | E::UnclosedVerbatimTag
        | E::InvalidTagTerminator
        | E::InvalidTagEscape
        | E::BlockSequenceEntryNotAllowed
        | E::MappingKeyNotAllowed
        | E::MisplacedFlowCollectionEnd
        | E::UnexpectedEofBlockMapping => YamlErrorKind::Start(first_char(text, offset(error))),
        E::DirectiveDisallowed => YamlErrorKind::Refused("a `%` directive"),
        E::RecursionLimitExceeded => YamlErrorKind::Depth,
        _ => YamlErrorKind::Other,
    }
}

fn first_char(text: &str, at: usize) -> char {
    text.get(at..)
        .and_then(|rest| rest.chars().next())
        .unwrap_or_default()
}

/// The name after the `*` or `&` at `at`.
fn name_at(text: &str, at: usize) -> String {
    let rest = text.get(at + 1..).unwrap_or_default();
    rest.chars()
        .take_while(|it| !it.is_whitespace() && !"[]{},".contains(*it))
        .collect()
}
