//! What a script can reach: the modules and programs with which it uses the network, and the
//! environment variables that it reads. One fact for each script, and no judgement.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::Text;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::rules::language::Language;

/// Most names that a message has.
const MOST_NAMES: usize = 8;

/// How the variables begin in which a server passes arguments and places to a script.
const PASSED: &str = "SKILL_";

/// Longer names of variables are none.
const MOST_LETTERS: usize = 64;

/// What a word in a script means.
#[derive(Debug, Clone, Copy)]
enum Sign {
    /// A module, class or function for the network, and how it is called.
    Module(&'static str),
    /// The same, but only where a shell expects a command.
    Command(&'static str),
    /// The name of an environment variable follows.
    Variable,
    /// A variable of a shell, which may be one of the environment.
    ShellVariable,
}

/// The signs of one language.
type Signs = &'static [(&'static str, Sign)];

const SHELL: Signs = {
    use Sign::{Command, Module, ShellVariable};
    &[
        ("curl", Command("curl")),
        ("wget", Command("wget")),
        ("ssh", Command("ssh")),
        ("scp", Command("scp")),
        ("sftp", Command("sftp")),
        ("rsync", Command("rsync")),
        ("telnet", Command("telnet")),
        ("nc", Command("nc")),
        ("ncat", Command("ncat")),
        ("git clone", Command("git")),
        ("git fetch", Command("git")),
        ("git pull", Command("git")),
        ("git push", Command("git")),
        ("/dev/tcp/", Module("/dev/tcp")),
        ("/dev/udp/", Module("/dev/udp")),
        ("${", ShellVariable),
        ("$", ShellVariable),
    ]
};

const PYTHON: Signs = {
    use Sign::{Module, Variable};
    &[
        ("import requests", Module("requests")),
        ("from requests", Module("requests")),
        ("import httpx", Module("httpx")),
        ("from httpx", Module("httpx")),
        ("import aiohttp", Module("aiohttp")),
        ("from aiohttp", Module("aiohttp")),
        ("urllib.request", Module("urllib")),
        ("from urllib import request", Module("urllib")),
        ("import urllib3", Module("urllib3")),
        ("http.client", Module("http.client")),
        ("import socket", Module("socket")),
        ("from socket", Module("socket")),
        ("import websockets", Module("websockets")),
        ("import paramiko", Module("paramiko")),
        ("import smtplib", Module("smtplib")),
        ("import ftplib", Module("ftplib")),
        ("import boto3", Module("boto3")),
        ("environ[", Variable),
        ("environ.get(", Variable),
        ("environ.setdefault(", Variable),
        ("getenv(", Variable),
    ]
};

const JAVASCRIPT: Signs = {
    use Sign::{Module, Variable};
    &[
        ("fetch(", Module("fetch")),
        ("XMLHttpRequest", Module("XMLHttpRequest")),
        ("new WebSocket(", Module("WebSocket")),
        ("\"axios\"", Module("axios")),
        ("'axios'", Module("axios")),
        ("\"node-fetch\"", Module("node-fetch")),
        ("'node-fetch'", Module("node-fetch")),
        ("\"undici\"", Module("undici")),
        ("'undici'", Module("undici")),
        ("\"http\"", Module("http")),
        ("'http'", Module("http")),
        ("\"https\"", Module("https")),
        ("'https'", Module("https")),
        ("node:http", Module("http")),
        ("node:https", Module("https")),
        ("node:net", Module("net")),
        ("process.env.", Variable),
        ("process.env[", Variable),
        ("Bun.env.", Variable),
        ("Deno.env.get(", Variable),
    ]
};

const RUBY: Signs = {
    use Sign::{Module, Variable};
    &[
        ("net/http", Module("net/http")),
        ("open-uri", Module("open-uri")),
        ("faraday", Module("faraday")),
        ("httparty", Module("httparty")),
        ("ENV[", Variable),
        ("ENV.fetch(", Variable),
    ]
};

const PERL: Signs = {
    use Sign::{Module, Variable};
    &[
        ("LWP::", Module("LWP")),
        ("HTTP::Tiny", Module("HTTP::Tiny")),
        ("IO::Socket", Module("IO::Socket")),
        ("$ENV{", Variable),
    ]
};

const POWERSHELL: Signs = {
    use Sign::{Module, Variable};
    &[
        ("Invoke-WebRequest", Module("Invoke-WebRequest")),
        ("Invoke-RestMethod", Module("Invoke-RestMethod")),
        ("Net.WebClient", Module("WebClient")),
        ("iwr ", Module("Invoke-WebRequest")),
        ("irm ", Module("Invoke-RestMethod")),
        ("$env:", Variable),
        ("$Env:", Variable),
    ]
};

const PHP: Signs = {
    use Sign::{Module, Variable};
    &[
        ("curl_init(", Module("curl")),
        ("fsockopen(", Module("fsockopen")),
        ("getenv(", Variable),
        ("$_ENV[", Variable),
    ]
};

/// Variables that every shell has, or that a script gets from its caller's terminal.
const COMMON: &[&str] = &[
    "BASH_SOURCE",
    "BASHPID",
    "BASH_REMATCH",
    "BASH_VERSION",
    "COLUMNS",
    "EUID",
    "FUNCNAME",
    "HOME",
    "IFS",
    "LANG",
    "LINENO",
    "LINES",
    "LOGNAME",
    "OLDPWD",
    "OPTARG",
    "OPTIND",
    "OSTYPE",
    "PATH",
    "PIPESTATUS",
    "PPID",
    "PWD",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHELL",
    "SHLVL",
    "TERM",
    "TMPDIR",
    "UID",
    "USER",
];

/// Words after which a shell expects a command.
const BEFORE_COMMANDS: &[&str] = &[
    "!", "do", "elif", "else", "env", "exec", "if", "nohup", "sudo", "then", "time", "until",
    "while",
];

struct Scanner {
    signs: Signs,
    automaton: AhoCorasick,
}

impl Scanner {
    fn new(signs: Signs) -> Self {
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(signs.iter().map(|it| it.0));
        let automaton = automaton.expect("a table of short words makes a small automaton");
        Self { signs, automaton }
    }

    fn of(language: Language) -> &'static Self {
        macro_rules! scanner {
            ($signs:ident) => {{
                static SCANNER: LazyLock<Scanner> = LazyLock::new(|| Scanner::new($signs));
                &SCANNER
            }};
        }
        match language {
            Language::Shell => scanner!(SHELL),
            Language::Python => scanner!(PYTHON),
            Language::JavaScript => scanner!(JAVASCRIPT),
            Language::Ruby => scanner!(RUBY),
            Language::Perl => scanner!(PERL),
            Language::PowerShell => scanner!(POWERSHELL),
            Language::Php => scanner!(PHP),
        }
    }
}

/// What was found in a script.
#[derive(Default)]
struct Access<'a> {
    modules: BTreeSet<&'static str>,
    variables: BTreeSet<&'a str>,
    /// The first place.
    first: Option<Span>,
}

/// States what a script can reach, if anything.
pub(super) fn check(file: &Text<'_>, language: Language, out: &mut Vec<Diagnostic>) {
    let text = file.content;
    let scanner = Scanner::of(language);
    let assigned = match language {
        Language::Shell => assigned(text),
        _ => BTreeSet::new(),
    };
    let mut access = Access::default();
    let mut line = Line::default();
    for found in scanner.automaton.find_iter(text) {
        line.advance(text, found.start());
        let (before, after) = (&text[line.start..found.start()], &text[found.end()..]);
        if line.is_comment(before, language) {
            continue;
        }
        let is_word = is_whole(&text[found.range()], before, after);
        let end = match scanner.signs[found.pattern().as_usize()].1 {
            Sign::Module(name) if is_word => {
                access.modules.insert(name);
                found.end()
            }
            Sign::Command(name) if is_word && is_command(before, after) => {
                access.modules.insert(name);
                found.end()
            }
            Sign::Variable => match variable(after, language) {
                Some(name) => {
                    access.variables.insert(name);
                    found.end() + name.len()
                }
                None => continue,
            },
            Sign::ShellVariable => match shell_variable(after, &assigned) {
                Some(name) if !is_escaped(before) => {
                    access.variables.insert(name);
                    found.end() + name.len()
                }
                _ => continue,
            },
            Sign::Module(_) | Sign::Command(_) => continue,
        };
        let place = Span::from(found.start()..end);
        access.first.get_or_insert(place);
    }
    out.extend(access.diagnostic(file.shown));
}

impl Access<'_> {
    fn diagnostic(&self, shown: &str) -> Option<Diagnostic> {
        let mut facts = Vec::new();
        if !self.modules.is_empty() {
            let modules: Vec<&str> = self.modules.iter().copied().collect();
            facts.push(format!("uses the network ({})", list(&modules)));
        }
        if !self.variables.is_empty() {
            let variables: Vec<&str> = self.variables.iter().copied().collect();
            let noun = if variables.len() == 1 {
                "the environment variable"
            } else {
                "the environment variables"
            };
            facts.push(format!("reads {noun} {}", list(&variables)));
        }
        let message = format!("this script {}", facts.join(" and "));
        Some(Diagnostic::new(Code::ScriptAccess, shown, message).at(self.first?))
    }
}

/// Names in a row, the first ones of many.
fn list(names: &[&str]) -> String {
    let shown = names.len().min(MOST_NAMES);
    let list = names[..shown].join(", ");
    match names.len() - shown {
        0 => list,
        more => format!("{list} and {more} more"),
    }
}

/// The line that contains the place that was looked at last.
#[derive(Default)]
struct Line {
    start: usize,
    seen: usize,
    /// Whether it is a comment, once that was asked.
    is_comment: Option<bool>,
}

impl Line {
    fn advance(&mut self, text: &str, to: usize) {
        if let Some(newline) = text[self.seen..to].rfind('\n') {
            self.start = self.seen + newline + 1;
            self.is_comment = None;
        }
        self.seen = to;
    }

    /// Whether it begins with `before` as a comment does. A line may be as long as the file.
    fn is_comment(&mut self, before: &str, language: Language) -> bool {
        *self
            .is_comment
            .get_or_insert_with(|| is_comment(before, language))
    }
}

fn is_comment(before: &str, language: Language) -> bool {
    let before = before.trim_start();
    match language {
        Language::JavaScript | Language::Php => {
            before.starts_with("//") || before.starts_with('*') || before.starts_with("/*")
        }
        _ => before.starts_with('#'),
    }
}

fn is_of_word(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

/// Whether a sign is no part of a longer word.
fn is_whole(sign: &str, before: &str, after: &str) -> bool {
    let joins_before = sign.starts_with(is_of_word) && before.ends_with(is_of_word);
    let joins_after = sign.ends_with(is_of_word) && after.starts_with(is_of_word);
    !joins_before && !joins_after
}

/// Whether a word stands where a shell expects a command, and has arguments.
fn is_command(before: &str, after: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    let last = before.rsplit([' ', '\t']).next().unwrap_or_default();
    let is_first = before.is_empty()
        || before.ends_with(['|', '&', ';', '(', '{', '`'])
        || BEFORE_COMMANDS.contains(&last);
    is_first && after.starts_with([' ', '\t', '\\'])
}

/// The name of a variable, in quotes if the language wants them.
fn variable(after: &str, language: Language) -> Option<&str> {
    let is_quoted = after.starts_with(['"', '\'']);
    let name = after.trim_start_matches(['"', '\'']);
    let end = name.find(|it: char| !is_of_word(it)).unwrap_or(name.len());
    let next = name[end..].chars().next();
    // A name without quotes is a variable that holds the name.
    let is_literal = match language {
        Language::Python | Language::Ruby | Language::Php => is_quoted,
        _ => is_quoted || next != Some(']'),
    };
    (is_literal && is_name(&name[..end])).then(|| &name[..end])
}

fn is_name(name: &str) -> bool {
    (2..=MOST_LETTERS).contains(&name.len())
        && !name.starts_with(PASSED)
        && name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
}

/// The name of a variable that a shell script has not set itself.
fn shell_variable<'a>(after: &'a str, assigned: &BTreeSet<&str>) -> Option<&'a str> {
    let name = after.trim_start_matches(['#', '!']);
    let end = name.find(|it: char| !is_of_word(it)).unwrap_or(name.len());
    let (name, rest) = name.split_at(end);
    // Variables of the environment are written in capitals.
    let is_capital = name.bytes().all(|it| !it.is_ascii_lowercase());
    let has_default = rest.starts_with(":-") || rest.starts_with(":?") || rest.starts_with(":=");
    let is_own = assigned.contains(name) && !has_default;
    (is_capital && is_name(name) && !is_own && !COMMON.contains(&name)).then_some(name)
}

fn is_escaped(before: &str) -> bool {
    before.ends_with('\\')
}

/// The variables that a shell script sets: `A=`, `for A in`, `read A`.
fn assigned(text: &str) -> BTreeSet<&str> {
    let mut assigned = BTreeSet::new();
    for line in text.lines() {
        let mut names_follow = false;
        for word in line.split([' ', '\t', ';', '(', '|', '&']) {
            let end = word.find(|it: char| !is_of_word(it)).unwrap_or(word.len());
            let (name, rest) = word.split_at(end);
            let is_set = rest.starts_with('=') || rest.starts_with("+=") || rest.starts_with('[');
            if is_set || (names_follow && rest.is_empty()) {
                assigned.insert(name);
            }
            match word {
                "for" | "read" | "local" | "declare" | "typeset" | "mapfile" | "readarray"
                | "getopts" | "select" => names_follow = true,
                "in" | "do" | "then" => names_follow = false,
                _ => {}
            }
        }
    }
    assigned
}
