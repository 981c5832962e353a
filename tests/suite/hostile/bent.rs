//! Valid requests made invalid: cut off at every byte, and mutated at random.

use serde_json::Value;

use super::dice::Dice;
use super::frames::{Frame, Kind, Owed, PARSE};

/// Every proper prefix of the line.
pub(crate) fn cut(frame: &Frame) -> Vec<Frame> {
    let id_end = end_of_id(frame);
    let cuts = (1..frame.line.len()).map(|len| {
        let line = frame.line[..len].to_vec();
        match &frame.owed {
            // A string id is complete with its closing quote; a number only when
            // another character follows it.
            Owed::Reply { ids, .. } if len > id_end || (len == id_end && ids[0].is_string()) => {
                let ids = ids.clone();
                Frame::new(line, Owed::Reply { ids, kind: PARSE })
            }
            _ => Frame::nameless(line, PARSE),
        }
    });
    cuts.collect()
}

/// One random mutation of the line, and what is known about its reply.
pub(crate) fn bend(frame: &Frame, other: &Frame, dice: &mut Dice) -> Frame {
    let mut line = frame.line.clone();
    let at = dice.below(line.len());
    let up_to = (at + 1 + dice.below(12)).min(line.len());
    match dice.below(8) {
        0 => line[at] = dice.byte(),
        1 => line[at] ^= 1 << dice.below(8),
        2 => drop(line.drain(at..up_to)),
        3 => {
            let again = line[at..up_to].to_vec();
            line.splice(at..at, again);
        }
        4 => line.insert(at, *dice.pick(b"\"\\{}[],:0\0\xff\x80 ")),
        5 => {
            let number: &[&[u8]] = &[
                b"1e999",
                b"-",
                b"99999999999999999999999",
                b"0.",
                b"\\ud800",
            ];
            let number = dice.pick(number).to_vec();
            line.splice(at..at, number);
        }
        6 => {
            line.truncate(at);
            line.extend_from_slice(&other.line[dice.below(other.line.len())..]);
        }
        _ => line.swap(at, up_to - 1),
    }
    line.iter_mut()
        .filter(|byte| **byte == b'\n')
        .for_each(|byte| *byte = b'n');
    let owed = owed(&line, frame, at);
    Frame::new(line, owed)
}

/// What a mutated line is owed. If it is unchanged up to the end of its id, that
/// id must be answered, whatever follows.
fn owed(line: &[u8], frame: &Frame, bent_at: usize) -> Owed {
    if let Owed::Reply { ids, .. } = &frame.owed
        && bent_at > end_of_id(frame)
    {
        let ids = ids.clone();
        return Owed::Reply {
            ids,
            kind: Kind::Any,
        };
    }
    request_ids(line).map_or(Owed::Unclear, |ids| Owed::Reply {
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
