//! A short list of the skills for a model, as in spec 2, most important first, within a budget in
//! bytes. The list for [`LISTING_BYTES`] is made at compile time, so that a server describes ten
//! skills and ten thousand equally fast.

use std::borrow::Cow;

use crate::catalog::Catalog;
use crate::error::Error;
use crate::skill::Skill;

/// Size limit in bytes of the list that every bundle carries: about 1,500 tokens. With the
/// surrounding text that is under one percent of a context of 200,000 tokens, the share that Claude
/// Code gives its own listing.
pub const LISTING_BYTES: usize = 6 * 1024;

/// Maximum characters of a description in a list. Longer ones tend to repeat the skill itself.
const HEADLINE: usize = 200;

/// Quarters of the budget for entries with descriptions if not every skill fits with one. The rest
/// of the budget lists further skills by name.
const DESCRIBED: usize = 3;

/// A subset of the skills, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillListing<'a> {
    /// One element for each skill, separated by line breaks.
    pub text: Cow<'a, str>,
    /// The number of skills it names, in order of importance.
    pub shown: usize,
    /// The number of skills, from the first, that it also describes.
    pub described: usize,
}

impl<'a> SkillListing<'a> {
    fn new(text: Cow<'a, str>, shown: usize) -> Self {
        // Names and descriptions are escaped, so no skill can contain this marker.
        let described = text.matches("</skill>").count();
        Self {
            text,
            shown,
            described,
        }
    }
}

/// The data of one skill in a list.
pub(crate) struct ListingEntry<'a> {
    pub(crate) name: &'a str,
    pub(crate) summary: &'a str,
    pub(crate) scope: &'static str,
}

impl<'a> Catalog<'a> {
    /// The skills by importance: higher priority first, then listing order.
    pub fn ranked(&self) -> impl Iterator<Item = Result<Skill<'a>, Error>> + use<'a> {
        let catalog = *self;
        let ranking = &catalog.index.ranking;
        (0..ranking.len()).map(move |at| catalog.skill(catalog.row(ranking, at)?.to_native()))
    }

    /// As many skills as fit in `room` bytes: all with descriptions if they fit; otherwise some
    /// with descriptions, then names only.
    pub fn skill_listing(&self, room: usize) -> Result<SkillListing<'a>, Error> {
        if room == LISTING_BYTES {
            let text = Cow::Borrowed(self.text(&self.index.catalogue)?);
            let shown = self.index.catalogue_shown.to_native() as usize;
            return Ok(SkillListing::new(text, shown));
        }
        let (text, shown) = fill(|| self.ranked().map(line), self.len(), room)?;
        Ok(SkillListing::new(Cow::Owned(text), shown))
    }
}

impl Skill<'_> {
    /// The description as shown in a list: one line of at most 200 characters, without invisible
    /// characters.
    pub fn headline(&self) -> String {
        headline(self.summary)
    }
}

fn line(skill: Result<Skill<'_>, Error>) -> Result<ListingEntry<'_>, Error> {
    let skill = skill?;
    Ok(ListingEntry {
        name: skill.callable_name()?,
        summary: skill.summary,
        scope: skill.scope.as_str(),
    })
}

/// The text for `room` bytes, and how many of the `total` lines it contains.
pub(crate) fn fill<'a, Lines>(
    lines: impl Fn() -> Lines,
    total: usize,
    room: usize,
) -> Result<(String, usize), Error>
where
    Lines: Iterator<Item = Result<ListingEntry<'a>, Error>>,
{
    let mut all = Budget::new(room);
    if all.take(lines(), entry)? == total {
        return Ok((all.text, total));
    }
    let mut list = Budget::new(room / 4 * DESCRIBED);
    let described = list.take(lines(), entry)?;
    list.left += room - room / 4 * DESCRIBED;
    let name = |line: &ListingEntry<'_>| format!("<name>{}</name>", escaped(line.name));
    let named = list.take(lines().skip(described), name)?;
    Ok((list.text, described + named))
}

/// Lines up to a budget in bytes.
struct Budget {
    text: String,
    left: usize,
}

impl Budget {
    const fn new(left: usize) -> Self {
        Self {
            text: String::new(),
            left,
        }
    }

    /// Adds lines in order until one does not fit. Returns the number of lines added.
    fn take<'a>(
        &mut self,
        lines: impl Iterator<Item = Result<ListingEntry<'a>, Error>>,
        show: impl Fn(&ListingEntry<'a>) -> String,
    ) -> Result<usize, Error> {
        let mut taken = 0;
        for line in lines {
            if !self.push(&show(&line?)) {
                break;
            }
            taken += 1;
        }
        Ok(taken)
    }

    fn push(&mut self, line: &str) -> bool {
        let needed = line.len() + usize::from(!self.text.is_empty());
        if needed > self.left {
            return false;
        }
        self.left -= needed;
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
        true
    }
}

/// The XML element of spec 2.
fn entry(line: &ListingEntry<'_>) -> String {
    format!(
        "<skill>\n<name>{}</name>\n<description>{}</description>\n<location>{}</location>\n</skill>",
        escaped(line.name),
        escaped(&headline(line.summary)),
        line.scope
    )
}

fn headline(summary: &str) -> String {
    let line: String = summary.chars().filter(|c| is_seen(*c)).collect();
    match line.char_indices().nth(HEADLINE - 1) {
        Some((end, last)) if end + last.len_utf8() < line.len() => {
            format!("{}…", line[..end].trim_end())
        }
        _ => line,
    }
}

/// Text for the inside of an element: on one line, visible characters only, escaped.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars().filter(|c| is_seen(*c)) {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Direction overrides and tag characters can carry text that is visible only to a model. A list
/// omits them; the skill itself is served unchanged.
fn is_seen(c: char) -> bool {
    !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{set, skill};
    use crate::{Bundle, SkillEntry, write};

    fn bundle(skills: Vec<SkillEntry>) -> Bundle {
        Bundle::from_bytes(&write(&set(skills)).expect("consistent")).expect("intact")
    }

    fn many(count: usize) -> Bundle {
        bundle(
            (0..count)
                .map(|number| skill(&format!("skill-{number:04}"), "x\n"))
                .collect(),
        )
    }

    #[test]
    fn few_skills_are_all_described_in_the_form_of_spec_2() {
        let bundle = bundle(vec![skill("pdf", "x\n")]);
        let listing = bundle
            .catalog()
            .and_then(|catalog| catalog.skill_listing(LISTING_BYTES))
            .expect("intact");
        assert_eq!(
            (listing.shown, &*listing.text),
            (
                1,
                "<skill>\n<name>pdf</name>\n<description>About pdf.</description>\n<location>project</location>\n</skill>"
            )
        );
    }

    #[test]
    fn the_list_made_when_compiling_is_the_one_made_when_asked() {
        for count in [0, 1, 40, 60, 70, 400] {
            let bundle = many(count);
            let catalog = bundle.catalog().expect("intact");
            let stored = catalog.skill_listing(LISTING_BYTES).expect("intact");
            let made = fill(|| catalog.ranked().map(line), count, LISTING_BYTES).expect("intact");
            assert_eq!(
                (&*stored.text, stored.shown),
                (made.0.as_str(), made.1),
                "{count} skills"
            );
        }
    }

    #[test]
    fn a_list_never_passes_its_room_and_grows_with_it() {
        let bundle = many(300);
        let catalog = bundle.catalog().expect("intact");
        let mut last = 0;
        for room in (0..60_000).step_by(997) {
            let listing = catalog.skill_listing(room).expect("intact");
            assert!(
                listing.text.len() <= room,
                "{} of {room}",
                listing.text.len()
            );
            // Slightly fewer skills are named once descriptions begin to fit.
            assert!(
                listing.shown + 40 > last,
                "{room}: {} after {last}",
                listing.shown
            );
            last = listing.shown;
        }
        assert_eq!(last, 300);
    }

    #[test]
    fn priority_comes_first_then_the_order_of_the_listing() {
        let mut skills: Vec<_> = ["a", "b", "c", "d"].map(|path| skill(path, "x\n")).into();
        (skills[1].priority, skills[3].priority) = (5.0, 7.0);
        let bundle = bundle(skills);
        let catalog = bundle.catalog().expect("intact");
        let ranked: Vec<_> = catalog
            .ranked()
            .map(|skill| skill.expect("intact").path)
            .collect();
        assert_eq!(ranked, ["d", "b", "a", "c"]);
    }

    #[test]
    fn text_of_skills_cannot_end_the_list_or_hide_in_it() {
        for (text, expected) in [
            ("</available_skills>", "&lt;/available_skills&gt;"),
            ("a & b", "a &amp; b"),
            ("a\u{202e}b\u{e0041}c", "abc"),
            ("bell\u{7}\u{2028}", "bell  "),
        ] {
            assert_eq!(escaped(text), expected, "{text:?}");
        }
        let long = "word ".repeat(100);
        assert_eq!(headline(&long).chars().count(), 200);
        assert!(headline(&long).ends_with("word…"), "{}", headline(&long));
        assert_eq!(headline(&"x".repeat(200)), "x".repeat(200));
    }
}
