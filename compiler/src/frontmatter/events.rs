//! The one place that knows the YAML parser: its events become a tree, its
//! errors become a [`Fault`] with a place and a cause in our own words.
//! Everything here works on a piece of text and its byte offsets.

use std::ops::Range;

use granit_parser::{
    ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span, StructureStyle, Tag,
};

use super::node::{Entry, Key, Kind, Node, Style};
use super::typing::{self, Typed};

/// Nesting that is read. The deepest real frontmatter found has 6 levels.
pub(super) const MAX_DEPTH: usize = 32;

/// Values that are read, so that 64 KiB of `[],` cost little memory.
const MAX_NODES: usize = 8192;

/// Why a text is not the YAML we read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cause {
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
    /// Nested deeper than [`MAX_DEPTH`].
    Depth,
    /// More than [`MAX_NODES`] values.
    Size,
    /// A key that was read as a part of the text above it.
    SwallowedKey,
    /// All else; the parser's own words.
    Other(String),
}

/// The first thing that is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) cause: Cause,
    /// Byte offset of the fault.
    pub(super) at: usize,
    /// Where the outermost bracket begins that is open at the fault.
    pub(super) bracket: Option<usize>,
    /// Where the last thing ends that was understood.
    pub(super) understood: usize,
}

/// Reads a text as one YAML document: `None` where it has no content. `strict`
/// wants continuation lines indented as YAML 1.2 does; without it they may
/// stand anywhere, as in older readers. `budget` counts events down.
pub(super) fn read(text: &str, strict: bool, budget: &mut usize) -> Result<Option<Node>, Fault> {
    let mut builder = Builder {
        text,
        ..Builder::default()
    };
    let mut parser = Parser::new_from_str_with_options(text, options(strict));
    while let Some(next) = parser.next_event() {
        *budget = budget.saturating_sub(1);
        match next {
            Ok((event, span)) => builder.take(&event, &span)?,
            Err(error) => return Err(builder.fault(cause(text, &error), offset(&error))),
        }
    }
    match builder.refused {
        Some(fault) => Err(fault),
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

fn offset(error: &ScanError) -> usize {
    error.marker().byte_offset().unwrap_or_default()
}

fn cause(text: &str, error: &ScanError) -> Cause {
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

/// A list or mapping that is being read.
struct Open {
    start: usize,
    end: usize,
    in_brackets: bool,
    content: Content,
}

enum Content {
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
    /// The first feature that is refused. A fault of the syntax goes before
    /// it, since `&`, `*` and `!` may be the beginning of mere text.
    refused: Option<Fault>,
}

impl Builder<'_> {
    fn take(&mut self, event: &Event<'_>, span: &Span) -> Result<(), Fault> {
        let range = bytes(span);
        let after_scalar = std::mem::take(&mut self.last_was_scalar);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.fault(Cause::SecondDocument, range.start));
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
                self.begin(range, *style, Content::Items(Vec::new()))?;
            }
            Event::MappingStart(style, _, tag) => {
                self.collection_tag(tag.as_deref(), "map", span);
                self.begin(range, *style, Content::Entries(Vec::new(), None))?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(&range)?,
            Event::Anchor(_, name) => {
                let cause = if after_scalar {
                    Cause::Marked('&', name.to_string())
                } else {
                    Cause::Refused("an anchor (`&`)")
                };
                self.refuse(cause, range.start);
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.refuse(Cause::Refused("an alias (`*`)"), range.start);
                self.add(Node {
                    range,
                    kind: Kind::Null,
                })?;
            }
            _ => {}
        }
        Ok(())
    }

    fn fault(&self, cause: Cause, at: usize) -> Fault {
        let bracket = self
            .open
            .iter()
            .find(|it| it.in_brackets)
            .map(|it| it.start);
        Fault {
            cause,
            at,
            bracket,
            understood: self.understood,
        }
    }

    fn refuse(&mut self, cause: Cause, at: usize) {
        let fault = self.fault(cause, at);
        self.refused.get_or_insert(fault);
    }

    /// The style of a scalar; `!!str` makes any of them text.
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
                self.refuse(Cause::Marked('!', String::new()), tag_start(span));
                own
            }
        }
    }

    fn collection_tag(&mut self, tag: Option<&Tag>, allowed: &str, span: &Span) {
        if tag.is_some_and(|tag| tag.core_suffix() != Some(allowed)) {
            self.refuse(Cause::Refused("a tag (`!`)"), tag_start(span));
        }
    }

    fn begin(
        &mut self,
        range: Range<usize>,
        style: StructureStyle,
        content: Content,
    ) -> Result<(), Fault> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.fault(Cause::Depth, range.start));
        }
        let in_brackets = style == StructureStyle::Flow;
        self.understood = range.end.max(self.understood);
        self.open.push(Open {
            start: range.start,
            end: range.end,
            in_brackets,
            content,
        });
        Ok(())
    }

    /// Closes the innermost collection. Outside brackets its end is that of
    /// its last value, since the parser reports the next line's start.
    fn end(&mut self, range: &Range<usize>) -> Result<(), Fault> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let end = if open.in_brackets {
            open.end.max(range.end)
        } else {
            open.end
        };
        self.understood = end.max(self.understood);
        let kind = match open.content {
            Content::Items(items) => Kind::Sequence(items),
            Content::Entries(entries, _) => Kind::Mapping(entries),
        };
        self.add(Node {
            range: open.start..end,
            kind,
        })
    }

    fn add(&mut self, node: Node) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(self.fault(Cause::Size, node.range.start));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.end = open.end.max(node.range.end);
        match &mut open.content {
            Content::Items(items) => items.push(node),
            Content::Entries(entries, key) => {
                if let Some(key) = key.take() {
                    entries.push(Entry { key, value: node });
                } else {
                    let merge = is_merge_key(&node).then_some(node.range.start);
                    *key = Some(as_key(self.text, node));
                    if let Some(at) = merge {
                        self.refuse(Cause::Refused("a merge key (`<<`)"), at);
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
            kind: Kind::Null,
        };
    }
    Node {
        range,
        kind: Kind::Scalar {
            text: text.to_owned(),
            style,
        },
    }
}

fn is_merge_key(node: &Node) -> bool {
    matches!(&node.kind, Kind::Scalar { text, style: Style::Plain } if text == "<<")
}

/// A key is text; what is none keeps its source text.
fn as_key(source: &str, node: Node) -> Key {
    let text = match node.kind {
        Kind::Scalar { text, .. } => text,
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
