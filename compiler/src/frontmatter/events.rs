//! The one place that knows the YAML parser: its events become a tree, its
//! errors become a [`Fault`] with a place and a cause in our own words.
//! Everything here works on a piece of text and its byte offsets.

mod fault;

use std::ops::Range;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, StructureStyle, Tag};

use super::node::{Entry, Key, Kind, Node, Style};
use super::typing::{self, Typed};
use fault::{cause, offset};

pub(super) use fault::{Cause, Fault};

/// Nesting that is read. The deepest of 601 real ones has 4 levels.
pub(super) const MAX_DEPTH: usize = 32;

/// Values that are read, so that 64 KiB of `[],` cost little memory. The most
/// that one of 601 real ones holds is 20.
const MAX_NODES: usize = 4096;

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
