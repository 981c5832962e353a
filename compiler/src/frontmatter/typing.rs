//! The types of unquoted words: by the YAML 1.2 core schema, and by the older rules
//! that other parsers still follow.

/// The type of an unquoted word in the core schema.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Typed {
    Null,
    Boolean(bool),
    /// A number in JSON notation, with all its digits.
    Number(String),
    /// `.inf`, `.nan` and numbers beyond the range of a double, which JSON cannot
    /// represent.
    Unrepresentable,
    Text,
}

/// Types an unquoted word.
pub(super) fn resolve(word: &str) -> Typed {
    match word {
        "" | "~" | "null" | "Null" | "NULL" => return Typed::Null,
        "true" | "True" | "TRUE" => return Typed::Boolean(true),
        "false" | "False" | "FALSE" => return Typed::Boolean(false),
        ".nan" | ".NaN" | ".NAN" => return Typed::Unrepresentable,
        _ => {}
    }
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Typed::Unrepresentable;
    }
    radix(word)
        .or_else(|| decimal(word, unsigned))
        .unwrap_or(Typed::Text)
}

/// `0x1F` and `0o17`, without a sign.
fn radix(word: &str) -> Option<Typed> {
    let (digits, radix) = match word.split_at_checked(2)? {
        ("0x", digits) => (digits, 16),
        ("0o", digits) => (digits, 8),
        _ => return None,
    };
    let plain = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    plain.then(|| {
        u128::from_str_radix(digits, radix).map_or(Typed::Unrepresentable, |number| {
            Typed::Number(number.to_string())
        })
    })
}

/// `12`, `-0.5`, `.5`, `5.`, `1e3`: rewritten only if JSON's grammar is narrower,
/// so that every digit of `1.10` is kept.
fn decimal(word: &str, unsigned: &str) -> Option<Typed> {
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = digits(whole)
        && fraction.is_none_or(digits)
        && !(whole.is_empty() && fraction.is_none_or(str::is_empty));
    if !fits {
        return None;
    }
    let mut json = String::from(if word.starts_with('-') { "-" } else { "" });
    let whole = whole.trim_start_matches('0');
    json.push_str(if whole.is_empty() { "0" } else { whole });
    if let Some(fraction) = fraction {
        json.push('.');
        json.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    if let Some(exponent) = exponent {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if unsigned.is_empty() || !digits(unsigned) {
            return None;
        }
        json.push('e');
        json.push_str(exponent);
    }
    let finite = json.parse::<f64>().is_ok_and(f64::is_finite);
    Some(if finite {
        Typed::Number(json)
    } else {
        Typed::Unrepresentable
    })
}

/// What some YAML parser, new or old, reads an unquoted word as, if not as text.
pub(crate) fn misread_as(word: &str) -> Option<&'static str> {
    match resolve(word) {
        Typed::Null => Some("nothing"),
        Typed::Boolean(_) => Some("a boolean"),
        Typed::Number(_) | Typed::Unrepresentable => Some("a number"),
        Typed::Text if loose_boolean(word).is_some() => Some("a boolean"),
        Typed::Text if is_date(word) => Some("a date"),
        Typed::Text if is_old_number(word) => Some("a number"),
        Typed::Text => None,
    }
}

/// How a double writes an unquoted number, if that differs from what is written.
pub(crate) fn loses_digits(word: &str) -> Option<String> {
    let Typed::Number(json) = resolve(word) else {
        return None;
    };
    let number: f64 = json.parse().ok()?;
    let read = number.to_string();
    (read != word).then_some(read)
}

/// `yes`, `no`, `on`, `off`, `y`, `n`: booleans of YAML 1.1.
pub(super) fn loose_boolean(word: &str) -> Option<bool> {
    const WORDS: [(&str, bool); 6] = [
        ("yes", true),
        ("on", true),
        ("y", true),
        ("no", false),
        ("off", false),
        ("n", false),
    ];
    WORDS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(word))
        .map(|(_, value)| *value)
}

/// `2026-01-02`, with or without a time.
fn is_date(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
        && bytes
            .get(10)
            .is_none_or(|byte| matches!(byte, b'T' | b't' | b' '))
}

/// `1_000` and `12:30`, numbers of YAML 1.1.
fn is_old_number(word: &str) -> bool {
    let word = word.strip_prefix(['+', '-']).unwrap_or(word);
    let separated = |separator| {
        word.contains(separator)
            && word
                .split(separator)
                .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    separated('_') || separated(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_typed_as_the_core_schema_types_them() {
        let number = |text: &str| Typed::Number(text.to_owned());
        for (word, expected) in [
            ("", Typed::Null),
            ("~", Typed::Null),
            ("nULL", Typed::Text),
            ("True", Typed::Boolean(true)),
            ("yes", Typed::Text),
            ("0", number("0")),
            ("007", number("7")),
            ("-012", number("-12")),
            ("+5", number("5")),
            ("0x1F", number("31")),
            ("0o17", number("15")),
            ("0b11", Typed::Text),
            ("-0x1F", Typed::Text),
            ("1.10", number("1.10")),
            (".5", number("0.5")),
            ("5.", number("5.0")),
            ("-.5e-3", number("-0.5e-3")),
            ("1e3", number("1e3")),
            ("1e+3", number("1e+3")),
            ("1e", Typed::Text),
            ("e3", Typed::Text),
            (".", Typed::Text),
            ("-", Typed::Text),
            ("+.", Typed::Text),
            ("1.2.3", Typed::Text),
            ("1_000", Typed::Text),
            ("2026-01-02", Typed::Text),
            (
                "123456789012345678901234567890",
                number("123456789012345678901234567890"),
            ),
            ("1e999", Typed::Unrepresentable),
            ("-.inf", Typed::Unrepresentable),
            (".NaN", Typed::Unrepresentable),
            ("é2", Typed::Text),
        ] {
            assert_eq!(resolve(word), expected, "{word:?}");
            if let Typed::Number(json) = resolve(word) {
                assert!(
                    serde_json::from_str::<serde_json::Number>(&json).is_ok(),
                    "{json}"
                );
            }
        }
    }

    #[test]
    fn words_that_older_parsers_misread_are_known() {
        for (word, expected) in [
            ("hello", None),
            ("on", Some("a boolean")),
            ("No", Some("a boolean")),
            ("3000", Some("a number")),
            ("1_000", Some("a number")),
            ("12:30:45", Some("a number")),
            ("2026-01-02", Some("a date")),
            ("2026-01-02T10:00:00Z", Some("a date")),
            ("2026-01-02x", None),
            ("1.2.3", None),
            ("a_b", None),
            ("::", None),
        ] {
            assert_eq!(misread_as(word), expected, "{word:?}");
        }
    }
}
