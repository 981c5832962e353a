//! The requests that a skill makes for itself: what it says of when to use it. Whoever wrote that
//! expects a request in these words to find the skill.

use std::collections::BTreeSet;

use skillbundle_format::{Audience, Catalog, Dialect, Error, Skill};
use skillbundle_search::text::{Token, Tokenizer, fold, sayings};

use crate::frontmatter::keys::{DESCRIPTION, KEYWORDS, NAME};

/// Most requests of one skill. Real descriptions have two or three sentences and up to ten phrases.
const MOST: usize = 16;

/// Requests of all skills together, about: so many take some seconds. With more skills, each makes
/// fewer, its name and its first phrases.
const ALL: usize = 100_000;

/// The fewest requests of one skill, however many skills there are.
const LEAST: usize = 2;

/// Most characters of a request. What is longer is a list of everything rather than a request.
const LONGEST: usize = 240;

/// A request, and the key of the frontmatter that it is from.
pub(super) type Own = (&'static str, String);

/// The requests of a skill: its name as words, then the phrases and sentences of its description,
/// or the declared keywords of a page, which is found by these alone. None for a skill that models
/// are not shown. `skills` is how many skills make requests.
pub(super) fn requests(
    catalog: &Catalog<'_>,
    skill: &Skill<'_>,
    skills: usize,
) -> Result<Vec<Own>, Error> {
    if skill.audience() != Audience::Everyone {
        return Ok(Vec::new());
    }
    let mut found = vec![(NAME, skill.name.replace(['-', '_'], " "))];
    let is_other = |name: &str| {
        let other = catalog.by_name(name);
        matches!(other, Ok(Some(other)) if other.id != skill.id)
    };
    match skill.dialect {
        Dialect::Folder => {
            let sayings = sayings(skill.description, is_other).into_iter();
            found.extend(sayings.map(|text| (DESCRIPTION, text.to_owned())));
        }
        Dialect::Tree => {
            let keywords = skill.keywords()?.into_iter();
            found.extend(keywords.map(|text| (KEYWORDS, text.to_owned())));
        }
    }
    let mut seen = BTreeSet::new();
    let mut tokenizer = Tokenizer::default();
    found.retain(|(_, text)| {
        let mut any = false;
        tokenizer.tokens(text, |token| any |= matches!(token, Token::Term(_)));
        any && text.chars().count() <= LONGEST && seen.insert(fold(text))
    });
    found.truncate((ALL / skills.max(1)).clamp(LEAST, MOST));
    Ok(found)
}
