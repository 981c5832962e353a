//! Lines that are not requests or have a wrong envelope: garbage, ids of every
//! kind, missing and doubled members, batches, notifications, responses, sizes.

use super::frames::{Era, Frame, INVALID, Ids, Kind, NOT_OF_THE_ERA, PARSE, UNKNOWN, request};
use super::random::Random;

/// Ids as JSON, and how each is read.
const IDS: &[(&str, Read)] = &[
    ("-1", Read::Valid),
    ("0", Read::Valid),
    ("9007199254740993", Read::Valid),
    ("9223372036854775807", Read::Valid),
    ("-9223372036854775808", Read::Valid),
    (r#""""#, Read::Valid),
    (r#"" ""#, Read::Valid),
    (r#""null""#, Read::Valid),
    (r#""a\"b\\c\/\n\u0041\u0000""#, Read::Valid),
    (r#""\ud83d\ude00""#, Read::Valid),
    (r#""é😀""#, Read::Valid),
    ("18446744073709551615", Read::Echoed),
    ("9223372036854775808", Read::Echoed),
    ("1.5", Read::Echoed),
    ("1.0", Read::Whole("1")),
    ("-3.0", Read::Whole("-3")),
    ("1e3", Read::Whole("1000")),
    ("123456789012345678901234567890", Read::Echoed),
    ("null", Read::WrongType),
    ("true", Read::WrongType),
    ("false", Read::WrongType),
    ("{}", Read::WrongType),
    (r#"{"id":1}"#, Read::WrongType),
    ("[]", Read::WrongType),
    ("[1]", Read::WrongType),
    ("1e400", Read::Broken),
    (r#""\ud800""#, Read::Broken),
    (r#""\udc00\ud800""#, Read::Broken),
    ("01", Read::Broken),
    ("+1", Read::Broken),
    ("0x1", Read::Broken),
    ("NaN", Read::Broken),
    ("'1'", Read::Broken),
    ("", Read::Broken),
    ("\"\t\"", Read::Broken),
];

/// How an id is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    /// A valid id.
    Valid,
    /// Another spelling of this whole number.
    Whole(&'static str),
    /// A number that is not a valid id; the error repeats it.
    Echoed,
    /// A type that no id may have.
    WrongType,
    /// Not JSON; the error may have an id or not.
    Broken,
}

/// Requests with ids of every kind.
pub(crate) fn odd_ids(era: Era) -> Vec<Frame> {
    let long = [300, 5000].map(|times| format!("\"{}\"", "i".repeat(times)));
    let long = long.iter().map(|id| (id.as_str(), Read::Valid));
    let mut frames = Vec::new();
    for (id, read) in IDS.iter().copied().chain(long) {
        let unknown = if era == Era::Legacy {
            UNKNOWN
        } else {
            NOT_OF_THE_ERA
        };
        for (line, kind) in [
            (request(id, "no/such/method", None), unknown),
            (
                request(id, "tools/call", Some("{}")),
                Kind::Error(&[-32602]),
            ),
            (
                request(id, "skills/get", Some("[]")),
                Kind::Error(&[-32602]),
            ),
            (format!(r#"{{"id":{id},"method":"ping"}}"#), INVALID),
            (format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#), INVALID),
            (
                format!(r#"{{"method":7,"jsonrpc":"2.0","id":{id}}}"#),
                INVALID,
            ),
        ] {
            frames.push(match read {
                Read::Valid => Frame::answered(line, id, kind),
                Read::Whole(number) => Frame::answered_either(line, id, number, kind),
                Read::Echoed => Frame::answered(line, id, INVALID),
                Read::WrongType => Frame::without_id(line, INVALID),
                Read::Broken => Frame::without_id(line, Kind::Error(&[-32700, -32600])),
            });
        }
    }
    frames
}

/// Envelopes with a member that is missing, doubled or of the wrong type. `#` is the id.
const ENVELOPES: &[(&str, &[i64])] = &[
    (r#"{"id":#,"method":"ping"}"#, &[-32600]),
    (r#"{"jsonrpc":"1.0","id":#,"method":"ping"}"#, &[-32600]),
    (r#"{"jsonrpc":2.0,"id":#,"method":"ping"}"#, &[-32600]),
    (r#"{"jsonrpc":"2.0 ","id":#,"method":"ping"}"#, &[-32600]),
    (r#"{"jsonrpc":null,"id":#,"method":"ping"}"#, &[-32600]),
    (r#"{"jsonrpc":["2.0"],"id":#,"method":"ping"}"#, &[-32600]),
    (r#"{"JSONRPC":"2.0","id":#,"method":"ping"}"#, &[-32600]),
    (r#"{"jsonrpc":"2.0","id":#}"#, &[-32600]),
    (r#"{"jsonrpc":"2.0","id":#,"method":null}"#, &[-32600]),
    (r#"{"jsonrpc":"2.0","id":#,"method":["ping"]}"#, &[-32600]),
    (r#"{"jsonrpc":"2.0","id":#,"method":{"ping":1}}"#, &[-32600]),
    (r#"{"jsonrpc":"2.0","id":#,"Method":"ping"}"#, &[-32600]),
    (
        r#"{"jsonrpc":"2.0","id":#,"method":"ping","result":{}}"#,
        &[-32600],
    ),
    (
        r#"{"jsonrpc":"2.0","id":#,"method":"ping","error":null}"#,
        &[-32600],
    ),
    (
        r#"{"jsonrpc":"2.0","id":#,"id":#,"method":"ping"}"#,
        &[-32600],
    ),
    (
        r#"{"jsonrpc":"2.0","id":#,"method":"ping","method":"ping"}"#,
        &[-32600],
    ),
    (
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":#,"method":"ping"}"#,
        &[-32600],
    ),
    (
        r#"{"jsonrpc":"2.0","id":#,"method":"ping","params":{},"params":{}}"#,
        &[-32600],
    ),
    (
        r#"{"jsonrpc":"2.0","id":#,"method":"pi\ud800ng"}"#,
        &[-32700],
    ),
    (
        r#"{"jsonrpc":"2.0","id":#,"method":"ping","params":{"x":nul}}"#,
        &[-32700],
    ),
    (
        r#"{"jsonrpc":"2.0","id":#,"method":"ping","params":{"x":1,}}"#,
        &[-32700],
    ),
    (
        r#"{"jsonrpc":"2.0","id":#,"method":"ping" "params":{}}"#,
        &[-32700],
    ),
    (r#"{"jsonrpc":"2.0","id":#,"method":"ping"}}"#, &[-32700]),
    (r#"{"jsonrpc":"2.0","id":#,"method":"ping"} {"#, &[-32700]),
    (
        r#"{"jsonrpc":"2.0","id":#,"method":"ping"}{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        &[-32700],
    ),
    (r"{'jsonrpc':'2.0','id':#}", &[-32700]),
    (
        r#"{"params":{"name":"skill","arguments":{"name":"\udfff"}},"jsonrpc":"2.0","id":#,"method":"tools/call"}"#,
        &[-32700],
    ),
    (
        r#"{"params":{"uri":"\ud800\ud800"},"jsonrpc":"2.0","id":#,"method":"resources/read"}"#,
        &[-32700],
    ),
    (
        r#"{"jsonrpc":"2.0","id":#,"method":"tools/list","params":{"cursor":"}"#,
        &[-32700],
    ),
    (
        r#"{"a":[{"id":1}],"b":"\"id\":2,","jsonrpc":"2.0","id":#,"method":}"#,
        &[-32700],
    ),
];

/// Requests with a wrong envelope.
pub(crate) fn envelopes(ids: &mut Ids) -> Vec<Frame> {
    let mut frames = Vec::new();
    for (head, codes) in ENVELOPES {
        let id = ids.next();
        let line = head.replace('#', &id);
        let kind = Kind::Error(codes);
        // Single quotes do not delimit member names, so there is no id either.
        frames.push(if head.starts_with("{'") {
            Frame::without_id(line, kind)
        } else {
            Frame::answered(line, &id, kind)
        });
    }
    for byte in [
        b"\0".as_slice(),
        b"\xff",
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\xf5",
        b"\xe2\x82",
    ] {
        let id = ids.next();
        let mut line =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","params":{{"x":""#).into_bytes();
        line.extend_from_slice(byte);
        line.extend_from_slice(br#""}}"#);
        frames.push(Frame::answered(line, &id, PARSE));
    }
    for id in [r#""\u00e9""#, r#""cut""#] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"#);
        frames.push(Frame::answered(line, id, PARSE));
    }
    frames
}

/// Lines without an id.
const GARBAGE: &[(&[u8], &[i64])] = &[
    (b"garbage", &[-32700]),
    (b"\0", &[-32700]),
    (b"\0\0\0\0{}", &[-32700]),
    (b"\xff\xfe", &[-32700]),
    (b"{", &[-32700]),
    (b"}", &[-32700]),
    (b"[", &[-32700]),
    (b"\"", &[-32700]),
    (b"{]", &[-32700]),
    (b"{\"", &[-32700]),
    (b"{\"id\"", &[-32700]),
    (b"{\"id\":", &[-32700]),
    (b"{\"id\":1", &[-32700]),
    (b"{\"id\":\"x", &[-32700]),
    (b"{\"id\":\"x\\", &[-32700]),
    (b"-", &[-32700]),
    (b"nul", &[-32700]),
    (b"GET / HTTP/1.1", &[-32700]),
    (b"Content-Length: 44", &[-32700]),
    (b"/* {} */", &[-32700]),
    (b"\x1b[2J", &[-32700]),
    (b"\xef\xbb\xbf\xef\xbb\xbf{}", &[-32700]),
    (b"{}", &[-32600]),
    (b"[]", &[-32600]),
    (b"[[[]]]", &[-32600]),
    (b"7", &[-32600]),
    (b"1e999999", &[-32700, -32600]),
    (b"null", &[-32600]),
    (b"true", &[-32600]),
    (b"\"text\"", &[-32600]),
    (b"{\"jsonrpc\":\"2.0\"}", &[-32600]),
    (b"{\"jsonrpc\":\"2.0\",\"params\":{\"id\":1}}", &[-32600]),
    (b"{\"jsonrpc\":\"2.0\",\"method\":7}", &[-32600]),
    (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, &[-32600]),
    (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]"#, &[-32600]),
    (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}"#, &[-32700]),
];

/// Lines that are not messages, written ones and random ones.
pub(crate) fn garbage(random: &mut Random) -> Vec<Frame> {
    let written = GARBAGE
        .iter()
        .map(|(line, codes)| Frame::without_id(*line, Kind::Error(codes)));
    let mut frames: Vec<Frame> = written.collect();
    for _ in 0..40 {
        let len = 1 + random.below(200);
        let mut line: Vec<u8> = (0..len).map(|_| random.byte()).collect();
        line.iter_mut()
            .filter(|byte| **byte == b'\n')
            .for_each(|byte| *byte = b'n');
        // Neither JSON nor white space begins like this.
        line.insert(0, b'~');
        frames.push(Frame::without_id(line, PARSE));
    }
    frames
}

/// Lines without a reply: white space, notifications, responses to no request.
pub(crate) fn silent() -> Vec<Frame> {
    const LINES: &[&str] = &[
        "",
        " ",
        "\r",
        "\t \r",
        "\u{feff}",
        "\u{feff}\r",
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":424242}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never-was","reason":"x"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":7}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"x","data":"y"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/made/up","params":{"x":[1,2,{"y":null}]}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"skill","arguments":{"name":"a"}}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":""}"#,
        r#"{"jsonrpc":"2.0","id":424242,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"never-was","result":null}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":[]}"#,
        r#"{"jsonrpc":"2.0","id":{},"result":7}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":424242,"error":{"code":-32603,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not valid JSON"}}"#,
        r#"{"jsonrpc":"2.0","error":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
    ];
    LINES.iter().map(|line| Frame::silent(*line)).collect()
}

/// The notification of a session that is already open.
pub(crate) fn initialized() -> Frame {
    Frame::silent(r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":{}}}"#)
}

/// The same request surrounded by line ends, byte order marks and white space.
pub(crate) fn padded(frame: &Frame) -> Vec<Frame> {
    let dress = |before: &[u8], after: &[u8]| {
        let line = [before, &frame.line, after].concat();
        Frame::new(line, frame.expected.clone())
    };
    vec![
        dress(b"", b"\r"),
        dress(b"\xef\xbb\xbf", b""),
        dress(b"  \t", b" \r"),
        dress(b"\n\r\n", b"\n"),
    ]
}

/// Lines of about the greatest length, `most`. They take time, so there are few.
pub(crate) fn sizes(most: usize, ids: &mut Ids) -> Vec<Frame> {
    let mut frames = Vec::new();
    for (len, fits) in [
        (most - 1, true),
        (most, true),
        (most + 1, false),
        (4 * most, false),
    ] {
        for last in [false, true] {
            let id = ids.next();
            let (head, tail) = if last {
                (
                    r#"{"method":"no/such/method","params":{"x":""#.to_owned(),
                    format!(r#""}},"jsonrpc":"2.0","id":{id}}}"#),
                )
            } else {
                (
                    format!(
                        r#"{{"jsonrpc":"2.0","id":{id},"method":"no/such/method","params":{{"x":""#
                    ),
                    r#""}}"#.to_owned(),
                )
            };
            let filling = "x".repeat(len - head.len() - tail.len());
            let kind = if fits { NOT_OF_THE_ERA } else { INVALID };
            frames.push(Frame::answered([head, filling, tail].concat(), &id, kind));
        }
    }
    frames.push(Frame::without_id("x".repeat(most + 1), INVALID));
    frames
}
