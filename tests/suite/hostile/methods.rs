//! Every method with valid parameters, and all the wrong ones derived from them.

use serde_json::Value;

use super::frames::{
    Era, Frame, Ids, Kind, NOT_OF_THE_ERA, PARAMS, params_of, request, request_id_last,
};

/// A method, valid parameters, and which types are valid at which JSON pointer.
/// A pointer with `!` is required.
struct Method {
    name: &'static str,
    params: &'static str,
    places: &'static [(&'static str, &'static str)],
    eras: &'static [Era],
}

const BOTH: &[Era] = &[Era::Legacy, Era::Modern];
const CURSOR: &[(&str, &str)] = &[("/cursor", "text null")];

const METHODS: &[Method] = &[
    Method {
        name: "tools/call",
        params: r#"{"name":"skill","arguments":{"name":"a"}}"#,
        places: &[("!/name", "text"), ("/arguments", "object null")],
        eras: BOTH,
    },
    Method {
        name: "tools/list",
        params: "{}",
        places: CURSOR,
        eras: BOTH,
    },
    Method {
        name: "skills/list",
        params: "{}",
        places: CURSOR,
        eras: BOTH,
    },
    Method {
        name: "skills/get",
        params: r#"{"uri":"skill://a/SKILL.md"}"#,
        places: &[("!/uri", "text")],
        eras: BOTH,
    },
    Method {
        name: "resources/list",
        params: "{}",
        places: CURSOR,
        eras: BOTH,
    },
    Method {
        name: "resources/templates/list",
        params: "{}",
        places: CURSOR,
        eras: BOTH,
    },
    Method {
        name: "resources/read",
        params: r#"{"uri":"skill://a/notes.txt"}"#,
        places: &[("!/uri", "text")],
        eras: BOTH,
    },
    Method {
        name: "resources/directory/read",
        params: r#"{"uri":"skill://a"}"#,
        places: &[("!/uri", "text"), ("/cursor", "text null")],
        eras: BOTH,
    },
    Method {
        name: "prompts/list",
        params: "{}",
        places: CURSOR,
        eras: BOTH,
    },
    Method {
        name: "prompts/get",
        params: r#"{"name":"a","arguments":{}}"#,
        places: &[("!/name", "text"), ("/arguments", "object null")],
        eras: BOTH,
    },
    Method {
        name: "completion/complete",
        params: r#"{"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{"name":"path","value":"a"}}"#,
        places: &[
            ("!/ref", "object"),
            ("!/ref/type", "text"),
            ("!/ref/uri", "text"),
            ("!/argument", "object"),
            ("!/argument/name", "text"),
            ("!/argument/value", "text"),
        ],
        eras: BOTH,
    },
    Method {
        name: "resources/subscribe",
        params: r#"{"uri":"skill://a/SKILL.md"}"#,
        places: &[("!/uri", "text")],
        eras: &[Era::Legacy],
    },
    Method {
        name: "resources/unsubscribe",
        params: r#"{"uri":"skill://a/SKILL.md"}"#,
        places: &[("!/uri", "text")],
        eras: &[Era::Legacy],
    },
    Method {
        name: "initialize",
        params: r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"h","version":"0"}}"#,
        places: &[
            ("!/protocolVersion", "text"),
            ("!/capabilities", "object"),
            ("!/clientInfo", "object"),
            ("!/clientInfo/name", "text"),
        ],
        eras: &[Era::Legacy],
    },
    Method {
        name: "ping",
        params: "{}",
        places: &[],
        eras: &[Era::Unopened, Era::Legacy],
    },
    Method {
        name: "server/discover",
        params: "{}",
        places: &[],
        eras: &[Era::Modern],
    },
];

/// One value of each type.
pub(crate) const KINDS: [(&str, &str); 7] = [
    ("null", "null"),
    ("bool", "true"),
    ("number", "7"),
    ("number", "-1.5e300"),
    ("text", r#""x""#),
    ("list", r#"["x"]"#),
    ("object", r#"{"x":1}"#),
];

impl Method {
    fn params(&self) -> Value {
        serde_json::from_str(self.params).expect("valid parameters are JSON")
    }
}

/// Valid requests of this era, which are cut, mutated and repeated elsewhere.
pub(crate) fn valid(era: Era, ids: &mut Ids) -> Vec<Frame> {
    let of_era = METHODS.iter().filter(|method| method.eras.contains(&era));
    let written = of_era.flat_map(|method| {
        let (one, other) = (ids.next(), ids.next());
        let params = params_of(era, &method.params());
        [
            Frame::answered(
                request(&one, method.name, Some(&params)),
                &one,
                Kind::Result,
            ),
            Frame::answered(
                request_id_last(&other, method.name, &params),
                &other,
                Kind::Result,
            ),
        ]
    });
    written.collect()
}

/// Requests of every method with wrong parameters, or of another era.
pub(crate) fn invalid(era: Era, ids: &mut Ids) -> Vec<Frame> {
    let mut frames = Vec::new();
    for method in METHODS {
        let kind = match era {
            _ if method.eras.contains(&era) => PARAMS,
            // The era is not yet known, so the parameters are checked first.
            Era::Unopened => PARAMS,
            _ => NOT_OF_THE_ERA,
        };
        let mut put = |params: Option<&str>| {
            let id = ids.next();
            frames.push(Frame::answered(
                request(&id, method.name, params),
                &id,
                kind,
            ));
        };
        for (_, value) in KINDS.iter().filter(|(kind, _)| *kind != "object") {
            put(Some(value));
        }
        if method
            .places
            .iter()
            .any(|(place, _)| place.starts_with('!'))
        {
            put(None);
            put(Some(
                r#"{"name":"skill","name":"skill","uri":"x","uri":"y"}"#,
            ));
        }
        put(Some(r#"{"_meta":"x"}"#));
        for params in mutated(method) {
            put(Some(&params_of(era, &params)));
        }
    }
    frames
}

/// The parameters with one member of another type, or missing.
fn mutated(method: &Method) -> Vec<Value> {
    let mut all = Vec::new();
    for (place, right) in method.places {
        let (place, needed) = place
            .strip_prefix('!')
            .map_or((*place, false), |place| (place, true));
        let (parent, name) = place.rsplit_once('/').expect("a place is a pointer");
        let mut with = |value: Option<&str>| {
            let mut params = method.params();
            let holder = params.pointer_mut(parent).and_then(Value::as_object_mut);
            let holder = holder.expect("places lie in objects");
            match value {
                Some(value) => {
                    let value = serde_json::from_str(value).expect("a value is JSON");
                    holder.insert(name.to_owned(), value);
                }
                None => {
                    holder.remove(name);
                }
            }
            all.push(params);
        };
        let wrong = KINDS
            .iter()
            .filter(|(kind, _)| !right.split(' ').any(|word| word == *kind));
        for (_, value) in wrong {
            with(Some(value));
        }
        if needed {
            with(None);
        }
    }
    all
}
