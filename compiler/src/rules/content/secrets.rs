//! Texts that have the form of a credential. Examples are full of made-up ones, so whatever looks
//! made up is left out. No message repeats more of it than its prefix.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::{Findings, MOST_READ, Text, at_most};
use crate::diagnostic::Code;

/// Which bytes the secret part has.
#[derive(Debug, Clone, Copy)]
enum Alphabet {
    UpperDigits,
    Letters,
    Hex,
    /// Letters, digits, `-` and `_`.
    Url,
    /// Those and `.`, `/`.
    Path,
}

/// A form of credentials.
struct Form {
    prefix: &'static str,
    alphabet: Alphabet,
    /// The length of what follows the prefix.
    length: Range<usize>,
    what: &'static str,
}

const fn form(
    prefix: &'static str,
    alphabet: Alphabet,
    length: Range<usize>,
    what: &'static str,
) -> Form {
    Form {
        prefix,
        alphabet,
        length,
        what,
    }
}

const FORMS: &[Form] = {
    use Alphabet::{Hex, Letters, Path, UpperDigits, Url};
    &[
        form("AIza", Url, 35..36, "a Google API key"),
        form("AKIA", UpperDigits, 16..17, "an access key of AWS"),
        form("ASIA", UpperDigits, 16..17, "an access key of AWS"),
        form("SG.", Path, 60..70, "a SendGrid API key"),
        form("dckr_pat_", Url, 27..28, "a Docker token"),
        form("dop_v1_", Hex, 64..65, "a DigitalOcean token"),
        form("eyJ", Path, 60..4000, "a JSON Web Token"),
        form("figd_", Url, 40..64, "a Figma token"),
        form("gho_", Letters, 36..256, "a GitHub token"),
        form("ghp_", Letters, 36..256, "a GitHub token"),
        form("ghr_", Letters, 36..256, "a GitHub token"),
        form("ghs_", Letters, 36..256, "a GitHub token"),
        form("ghu_", Letters, 36..256, "a GitHub token"),
        form("github_pat_", Url, 60..256, "a GitHub token"),
        form("glpat-", Url, 20..64, "a GitLab token"),
        form("glsa_", Url, 41..42, "a Grafana token"),
        form("gsk_", Letters, 48..64, "a Groq API key"),
        form("hf_", Letters, 34..41, "a Hugging Face token"),
        form("hooks.slack.com/services/", Path, 40..80, "a Slack webhook"),
        form("lin_api_", Letters, 40..41, "a Linear API key"),
        form("npm_", Letters, 36..37, "an npm token"),
        form("ntn_", Letters, 43..60, "a Notion token"),
        form("pplx-", Letters, 48..64, "a Perplexity API key"),
        form("pypi-AgEIcHlwaS5vcmc", Url, 50..256, "a PyPI token"),
        form("r8_", Letters, 37..38, "a Replicate token"),
        form("rk_live_", Letters, 24..128, "a Stripe key"),
        form("shpat_", Hex, 32..33, "a Shopify token"),
        form("sk-", Letters, 40..64, "an API key"),
        form("sk-ant-", Url, 40..200, "an Anthropic API key"),
        form("sk-or-v1-", Hex, 64..65, "an OpenRouter API key"),
        form("sk-proj-", Url, 40..256, "an OpenAI API key"),
        form("sk-svcacct-", Url, 40..256, "an OpenAI API key"),
        form("sk_live_", Letters, 24..128, "a Stripe key"),
        form("whsec_", Letters, 32..64, "a Stripe webhook secret"),
        form("xai-", Letters, 80..81, "an xAI API key"),
        form("xapp-", Url, 40..160, "a Slack token"),
        form("xoxa-", Url, 30..160, "a Slack token"),
        form("xoxb-", Url, 30..160, "a Slack token"),
        form("xoxp-", Url, 30..160, "a Slack token"),
        form("xoxr-", Url, 30..160, "a Slack token"),
        form("xoxs-", Url, 30..160, "a Slack token"),
    ]
};

/// How a private key in PEM begins. It comes after the forms in the numbering of prefixes.
const KEY: &str = "-----BEGIN ";
const KEY_END: &str = "PRIVATE KEY-----";

/// Most letters between the two: `OPENSSH `, `ENCRYPTED `.
const MOST_KIND: usize = 16;

/// The fewest characters of a private key that is none for show.
const LEAST_KEY: usize = 100;

/// What made-up credentials have in them, in any case.
const PLACEHOLDERS: &[&str] = &[
    "1234567",
    "abc123",
    "changeme",
    "deadbeef",
    "demo",
    "dummy",
    "example",
    "fake",
    "foobar",
    "hardcoded",
    "mock",
    "placeholder",
    "redacted",
    "sample",
    "secret",
    "token",
    "xxxx",
    "your",
];

static MADE_UP: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let builder = &mut AhoCorasick::builder();
    let automaton = builder.ascii_case_insensitive(true).build(PLACEHOLDERS);
    automaton.expect("a table of short words makes a small automaton")
});

/// The payloads of well-known example tokens: `"sub":"1234567890"` of jwt.io, and the key of every
/// local Supabase.
const EXAMPLE_PAYLOADS: &[&str] = &["eyJzdWIiOiIxMjM0NTY3ODkwIi", "eyJpc3MiOiJzdXBhYmFzZS1kZW1v"];

/// Fewer different characters are typed, not drawn by lot.
const LEAST_DIFFERENT: u32 = 8;

/// More characters in alphabetical order are typed, not drawn by lot.
const MOST_ORDERED: usize = 5;

/// What the automaton looks for, in the order of the numbers that [`Secrets::read`] takes.
pub(super) fn prefixes() -> impl Iterator<Item = &'static str> {
    FORMS.iter().map(|it| it.prefix).chain([KEY])
}

/// Reads the credentials of a file.
pub(super) struct Secrets<'a> {
    scanner: Scanner<'a>,
    pub(super) findings: Findings<'a>,
}

impl<'a> Secrets<'a> {
    pub(super) fn new(file: &'a Text<'a>) -> Self {
        let more = "texts have the form of credentials";
        Self {
            scanner: Scanner::new(file.content),
            findings: Findings::new(Code::SecretValue, file.shown, more),
        }
    }

    /// Reads what follows a prefix, and returns how many bytes that took.
    pub(super) fn read(&mut self, number: usize, at: Range<usize>) -> usize {
        let (length, found) = self.scanner.read(number, at);
        if let Some((span, what)) = found {
            let message = || format!("this has the form of {what}");
            let help = "remove and revoke it; let the skill read it from the environment";
            self.findings.add(span, message, help);
        }
        length
    }
}

/// Reads what follows the prefixes in a text, in the order of their places.
pub(super) struct Scanner<'a> {
    text: &'a str,
    /// The end of what was read last.
    done: usize,
}

/// Where a credential is, and what it is.
type Credential = (Range<usize>, &'static str);

impl<'a> Scanner<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, done: 0 }
    }

    /// Reads what follows a prefix: how many bytes that took, and the credential if there is one.
    pub(super) fn read(&mut self, number: usize, at: Range<usize>) -> (usize, Option<Credential>) {
        let text = self.text;
        if at.start < self.done {
            return (0, None);
        }
        let Some(form) = FORMS.get(number) else {
            return self.read_key(at);
        };
        if text[..at.start].ends_with(|it: char| it.is_alphanumeric() || "_-".contains(it)) {
            return (0, None);
        }
        let rest = &text.as_bytes()[at.end..];
        let rest = &rest[..rest.len().min(form.length.end)];
        let length = rest.iter().position(|it| !form.alphabet.has(*it));
        let length = length.unwrap_or(rest.len());
        self.done = at.end + length;
        // A sentence may end behind it.
        let body = text[at.end..self.done].trim_end_matches(['.', '/', '-']);
        let is_one =
            form.length.contains(&body.len()) && is_complete(form, body) && !is_made_up(body);
        let found = is_one.then(|| (at.start..at.end + body.len(), form.what));
        (length, found)
    }

    fn read_key(&mut self, at: Range<usize>) -> (usize, Option<Credential>) {
        let rest = at_most(&self.text[at.end..], MOST_READ);
        let head = at_most(rest, MOST_KIND + KEY_END.len());
        let kind = head.find(KEY_END).map(|it| &rest[..it]);
        let is_kind = |it: u8| it.is_ascii_uppercase() || it.is_ascii_digit() || it == b' ';
        let Some(kind) = kind.filter(|it| it.bytes().all(is_kind)) else {
            return (head.len(), None);
        };
        let start = kind.len() + KEY_END.len();
        let length = rest[start..].find("-----").unwrap_or(rest.len() - start);
        let key = &rest[start..start + length];
        // In a string of a program, line ends are written `\n`.
        let letters = key.split("\\n").flat_map(str::chars);
        let body: String = letters.filter(char::is_ascii_alphanumeric).collect();
        let is_one = body.len() >= LEAST_KEY && !key.contains("...") && !is_made_up(&body);
        // What follows a mark without a key may be anything.
        self.done = at.end + start + if is_one { length } else { 0 };
        let found = is_one.then_some((at.start..self.done, "a private key"));
        (start + length, found)
    }
}

impl Alphabet {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::UpperDigits => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Letters => byte.is_ascii_alphanumeric(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Self::Path => Self::Url.has(byte) || matches!(byte, b'.' | b'/'),
        }
    }
}

/// Whether a token with parts has all of them.
fn is_complete(form: &Form, body: &str) -> bool {
    match form.prefix {
        "eyJ" => {
            let parts: Vec<&str> = body.split('.').collect();
            let is_example = |it: &str| EXAMPLE_PAYLOADS.iter().any(|start| it.starts_with(start));
            matches!(parts[..], [_, payload, signature]
                if payload.starts_with("eyJ") && signature.len() >= 20 && !is_example(payload))
        }
        "hooks.slack.com/services/" => {
            body.starts_with('T') && body.split('/').filter(|it| it.len() >= 8).count() == 3
        }
        _ => true,
    }
}

/// Whether a person has typed it as an example.
fn is_made_up(body: &str) -> bool {
    let lower = body.to_ascii_lowercase();
    let bytes = lower.as_bytes();
    // One bit for each character of ASCII, which all of them are.
    let seen = bytes
        .iter()
        .fold(0_u128, |seen, it| seen | 1 << (it & 0x7F));
    let different = seen.count_ones();
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    different < LEAST_DIFFERENT
        || !has_digit
        || ordered(bytes, 1) > MOST_ORDERED
        || ordered(bytes, 2) > MOST_ORDERED
        || MADE_UP.is_match(body)
}

/// The most characters in a row that are each the successor of, or equal to, the one `step` before:
/// `abcdef`, `000000`, `a1b2c3`.
fn ordered(bytes: &[u8], step: usize) -> usize {
    let mut most = 0;
    let mut run = 0;
    for (before, byte) in bytes.iter().zip(&bytes[bytes.len().min(step)..]) {
        run = match byte.wrapping_sub(*before) {
            0 | 1 => run + 1,
            _ => 0,
        };
        most = most.max(run);
    }
    most
}
