//! Valid requests made invalid: cut off at every byte, and mutated at random.

use serde_json::Value;

use super::frames::{Expected, Frame, Kind, PARSE};
use super::random::Random;

/// Every proper prefix of the line.
pub(crate) fn cut(frame: &Frame) -> Vec<Frame> {
    let id_end = end_of_id(frame);
    let cuts = (1..frame.line.len()).map(|len| {
        let line = frame.line[..len].to_vec();
        match &frame.expected {
            // A string id is complete with its closing quote; a number only when
            // another character follows it.
            Expected::Reply { ids, .. }
                if len > id_end || (len == id_end && ids[0].is_string()) =>
            {
                let ids = ids.clone();
                Frame::new(line, Expected::Reply { ids, kind: PARSE })
            }
            _ => Frame::without_id(line, PARSE),
        }
    });
    cuts.collect()
}

/// One random mutation of the line, and what is known about its reply.
pub(crate) fn mutate(frame: &Frame, other: &Frame, random: &mut Random) -> Frame {
    let mut line = frame.line.clone();
    let at = random.below(line.len());
    let up_to = (at + 1 + random.below(12)).min(line.len());
    match random.below(8) {
        0 => line[at] = random.byte(),
        1 => line[at] ^= 1 << random.below(8),
        2 => drop(line.drain(at..up_to)),
        3 => {
            let again = line[at..up_to].to_vec();
            line.splice(at..at, again);
        }
        4 => line.insert(at, *random.pick(b"\"\\{}[],:0\0\xff\x80 ")),
        5 => {
            let number: &[&[u8]] = &[
                b"1e999",
                b"-",
                b"99999999999999999999999",
                b"0.",
                b"\\ud800",
            ];
            let number = random.pick(number).to_vec();
            line.splice(at..at, number);
        }
        6 => {
            line.truncate(at);
            line.extend_from_slice(&other.line[random.below(other.line.len())..]);
        }
        _ => line.swap(at, up_to - 1),
    }
    line.iter_mut()
        .filter(|byte| **byte == b'\n')
        .for_each(|byte| *byte = b'n');
    let expected = expected(&line, frame, at);
    Frame::new(line, expected)
}

/// The reply to a mutated line. If it is unchanged up to the end of its id, that
/// id must be answered, whatever follows.
fn expected(line: &[u8], frame: &Frame, mutated_at: usize) -> Expected {
    if let Expected::Reply { ids, .. } = &frame.expected
        && mutated_at > end_of_id(frame)
    {
        let ids = ids.clone();
        return Expected::Reply {
            ids,
            kind: Kind::Any,
        };
    }
    request_ids(line).map_or(Expected::Unclear, |ids| Expected::Reply {
        ids,
        kind: Kind::Any,
    })
}

/// The id of a line that is clearly a request: as written, and as a whole number.
fn request_ids(line: &[u8]) -> Option<Vec<Value>> {
    let members: Members = serde_json::from_slice(line.trim_ascii()).ok()?;
    let id = members.id;
    let readable = members.jsonrpc == "2.0" && (id.is_string() || id.is_number());
    // `7.0` may be given back as `7`.
    let whole = id.as_f64().filter(|number| number.fract() == 0.0);
    let whole = whole.and_then(|number| format!("{number:.0}").parse::<i64>().ok());
    let ids = [Some(id.clone()), whole.map(Value::from)];
    readable.then(|| ids.into_iter().flatten().collect())
}

/// The members of a request, none of them twice.
#[derive(serde::Deserialize)]
struct Members {
    jsonrpc: String,
    #[serde(rename = "method")]
    _method: String,
    id: Value,
}

/// The end of the id that the frame is answered under.
fn end_of_id(frame: &Frame) -> usize {
    const KEY: &[u8] = b"\"id\":";
    let begin = frame
        .line
        .windows(KEY.len())
        .rposition(|part| part == KEY)
        .expect("a valid request has an id")
        + KEY.len();
    let ends = frame.line[begin..]
        .iter()
        .position(|byte| b",}".contains(byte));
    begin + ends.expect("something follows the id")
}
