//! Finds the id in a line that is not JSON, or too long to be kept, so that its sender gets an
//! answer. Works piece by piece and keeps a few bytes: messages of the TypeScript SDK have the id
//! last, after all parameters.

use super::Id;

/// Longest id that is looked for in a broken line. Real ones are counters and UUIDs.
const LONGEST: usize = 256;

/// A scan for the top-level member `id`.
#[derive(Debug, Default)]
pub(crate) struct IdScan {
    at: At,
    depth: u32,
    /// Whether the next string of the top level is a key.
    key_next: bool,
    /// What is being collected: a key, or the id.
    token: Vec<u8>,
    found: Option<Id>,
}

/// The state of the scan.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the opening brace.
    #[default]
    Start,
    /// Between tokens.
    Between,
    /// In a string; whether after a backslash, and what it is for.
    String { escaped: bool, role: StringRole },
    /// After a key; whether it is `id`.
    AfterKey { id: bool },
    /// After `"id":`.
    BeforeId,
    /// In a number that is the id.
    Number,
    /// The id was found, or cannot be.
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StringRole {
    Key,
    Id,
    Other,
}

impl IdScan {
    /// The id in a whole line.
    pub(crate) fn find(line: &[u8]) -> Option<Id> {
        let mut scan = Self::default();
        scan.feed(line);
        scan.found()
    }

    /// Scans the next piece.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        for byte in piece {
            if self.at == At::Done {
                return;
            }
            self.at = self.step(*byte);
        }
    }

    /// What was found.
    pub(crate) fn found(self) -> Option<Id> {
        self.found
    }

    fn step(&mut self, byte: u8) -> At {
        match self.at {
            At::Start => match byte {
                b'{' => self.open(),
                _ if byte.is_ascii_whitespace() || byte >= 0x80 => At::Start, // a byte order mark
                _ => At::Done,
            },
            At::Between => self.between(byte),
            At::String { escaped, role } => self.string(byte, escaped, role),
            At::AfterKey { id } => match byte {
                b':' if id => At::BeforeId,
                b':' => At::Between,
                _ if byte.is_ascii_whitespace() => self.at,
                _ => At::Done,
            },
            At::BeforeId => match byte {
                b'"' => self.begin(StringRole::Id, byte),
                b'-' | b'0'..=b'9' => {
                    self.begin(StringRole::Id, byte);
                    At::Number
                }
                _ if byte.is_ascii_whitespace() => At::BeforeId,
                _ => At::Done,
            },
            At::Number => match byte {
                b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E' => self.collect(byte, At::Number),
                b',' | b'}' => self.finish(),
                _ if byte.is_ascii_whitespace() => self.finish(),
                // Of `0x1f` the `0` is no id: another request may have that one.
                _ => At::Done,
            },
            At::Done => At::Done,
        }
    }

    fn between(&mut self, byte: u8) -> At {
        match byte {
            b'"' if self.depth == 1 && self.key_next => {
                self.key_next = false;
                self.token.clear();
                At::String {
                    escaped: false,
                    role: StringRole::Key,
                }
            }
            b'"' => At::String {
                escaped: false,
                role: StringRole::Other,
            },
            b'{' | b'[' => self.open(),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    At::Done
                } else {
                    At::Between
                }
            }
            b',' => {
                self.key_next = self.depth == 1;
                At::Between
            }
            _ => At::Between,
        }
    }

    fn string(&mut self, byte: u8, escaped: bool, role: StringRole) -> At {
        let ends = byte == b'"' && !escaped;
        match role {
            StringRole::Key if ends => {
                return At::AfterKey {
                    id: self.token == b"id",
                };
            }
            StringRole::Id if ends => {
                self.token.push(byte);
                return self.finish();
            }
            _ if ends => return At::Between,
            StringRole::Other => {}
            // One byte more than `id` is enough to know that it is another key.
            StringRole::Key if self.token.len() > 2 => {}
            StringRole::Key => self.token.push(byte),
            StringRole::Id => {
                return self.collect(
                    byte,
                    At::String {
                        escaped: byte == b'\\' && !escaped,
                        role,
                    },
                );
            }
        }
        At::String {
            escaped: byte == b'\\' && !escaped,
            role,
        }
    }

    fn open(&mut self) -> At {
        self.depth += 1;
        self.key_next = self.depth == 1;
        At::Between
    }

    fn begin(&mut self, role: StringRole, byte: u8) -> At {
        self.token.clear();
        self.token.push(byte);
        At::String {
            escaped: false,
            role,
        }
    }

    fn collect(&mut self, byte: u8, next: At) -> At {
        self.token.push(byte);
        if self.token.len() > LONGEST {
            At::Done
        } else {
            next
        }
    }

    fn finish(&mut self) -> At {
        self.found = std::str::from_utf8(&self.token)
            .ok()
            .and_then(Id::from_json);
        At::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line that is broken somewhere, and the id its sender waits for.
    const LINES: &[(&[u8], Option<&str>)] = &[
        (br#"{"jsonrpc":"2.0","id":7,"method":"#, Some("7")),
        (
            br#"{"method":"tools/call","params":{"id":1,"a":[{"id":2}]},"jsonrpc":"2.0","id":3}x"#,
            Some("3"),
        ),
        (br#"  {"id" : "a\"b" , "method" : }"#, Some(r#""a\"b""#)),
        (b"\xef\xbb\xbf{\"id\":-12,\"x\":\"\xff\xfe\"}", Some("-12")),
        (br#"{"x":"\\","id":"u-1","#, Some(r#""u-1""#)),
        (br#"{"x":"\"id\":1,","id":1.5,"#, Some("1.5")),
        (
            br#"{"id":18446744073709551615,"#,
            Some("18446744073709551615"),
        ),
        (br#"{"identity":1,"i":2,"method":"x""#, None),
        (br#"{"id":12"#, None),
        (br#"{"id":"cut"#, None),
        (br#"{"id":null,"#, None),
        (br#"{"id":{"id":1},"#, None),
        (br#"{"id":"\ud800","#, None),
        (br#"{"id":1e,"#, None),
        (br#"{"id":0x1f,"method":"ping"}"#, None),
        (br#"{"id":1_000,"method":"ping"}"#, None),
        (br#"{"id":5 ,"method":"#, Some("5")),
        (br#"{"method":nope,"id":5}"#, Some("5")),
        (br#"[{"id":1}]"#, None),
        (b"\0\0{\"id\":1}", None),
        (b"", None),
        (b"garbage", None),
    ];

    #[test]
    fn the_id_is_found_wherever_the_line_breaks() {
        for (line, expected) in LINES {
            let found = IdScan::find(line).map(|id| id.0);
            assert_eq!(
                found.as_deref(),
                *expected,
                "{}",
                String::from_utf8_lossy(line)
            );
        }
    }

    #[test]
    fn a_line_in_pieces_gives_the_same_id() {
        for (line, expected) in LINES {
            let mut scan = IdScan::default();
            line.chunks(1).for_each(|piece| scan.feed(piece));
            assert_eq!(scan.found().map(|id| id.0).as_deref(), *expected);
        }
    }

    #[test]
    fn a_huge_id_is_not_kept() {
        let line = format!(r#"{{"id":"{}","x":"#, "a".repeat(100_000));
        let mut scan = IdScan::default();
        scan.feed(line.as_bytes());
        assert!(scan.token.capacity() < 1024);
        assert_eq!(scan.found(), None);
    }
}
