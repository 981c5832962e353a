//! A short list of the skills for a model, most important first, within a budget in bytes: as in
//! spec 2 if every skill fits like that; otherwise shorter, and at last names alone. Only as many
//! skills are read as can fit, so ten thousand are listed as fast as ten.

use crate::catalog::Catalog;
use crate::error::Error;
use crate::skill::Skill;

/// Maximum characters of a description in a list. Longer ones tend to repeat the skill itself.
const HEADLINE: usize = 200;

/// Maximum characters of a description where not every skill has room for spec 2's element, the
/// longest at which every skill fits; the last is for some skills among others that are only named.
const SHORTENED: [usize; 3] = [120, 80, 60];

/// Maximum bytes of a name in a list, four times what hosts allow: a longer one would leave no room
/// for others.
const NAME_BYTES: usize = 256;

/// A list of skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillListing {
    /// One element for each skill, separated by line breaks.
    pub text: String,
    /// The number of skills it names, in order of importance.
    pub shown: usize,
    /// The number of skills, from the first, that it also describes.
    pub described: usize,
}

/// One skill in a list.
struct Entry<'a> {
    name: &'a str,
    summary: &'a str,
    scope: &'static str,
}

impl<'a> Catalog<'a> {
    /// The skills that models are shown, by importance: higher priority first, then listing order.
    pub fn ranked(&self) -> impl Iterator<Item = Result<Skill<'a>, Error>> + use<'a> {
        let catalog = *self;
        let ranking = &catalog.index.ranking;
        (0..catalog.listed_len().min(ranking.len()))
            .map(move |at| catalog.skill(catalog.row(ranking, at)?.to_native()))
    }

    /// As many skills as fit in `room` bytes: all with descriptions if they fit; otherwise as many
    /// names as fit in half of it at least, and descriptions of the most important skills.
    pub fn skill_listing(&self, room: usize) -> Result<SkillListing, Error> {
        let total = self.listed_len();
        let (mut entries, mut names_len) = (Vec::new(), 0);
        for skill in self.ranked() {
            let entry = Entry::of(&skill?)?;
            if entry.name.len() <= NAME_BYTES {
                names_len += name_only(&entry).len() + 1;
                entries.push(entry);
            }
            if names_len > room {
                break;
            }
        }
        if entries.len() == total {
            let in_full = joined(&entries, room, element);
            let mut shorter = SHORTENED.iter();
            let mut shorter =
                || shorter.find_map(|most| joined(&entries, room, |it| shortened(it, *most)));
            if let Some(text) = in_full.or_else(&mut shorter) {
                let (shown, described) = (total, total);
                return Ok(SkillListing {
                    text,
                    shown,
                    described,
                });
            }
        }
        Ok(partly_described(&entries, total, room))
    }
}

/// Names, and descriptions for the first.
fn partly_described(entries: &[Entry<'_>], total: usize, room: usize) -> SkillListing {
    let names: Vec<String> = entries.iter().map(name_only).collect();
    let lengths = names.iter().map(|name| name.len() + 1);
    let names_len = lengths.sum::<usize>();
    let all_fit = entries.len() == total && names_len <= room;
    let mut spare = if all_fit { room - names_len } else { room / 2 };
    let mut listing = SkillListing::default();
    let [.., shortest] = SHORTENED;
    for (entry, name) in entries.iter().zip(&names) {
        let separator = if listing.text.is_empty() { "" } else { "\n" };
        let left = room - listing.text.len();
        let all_described = listing.described == listing.shown;
        let line = all_described.then(|| shortened(entry, shortest));
        let fits = |line: &String| {
            line.len() - name.len() <= spare && separator.len() + line.len() <= left
        };
        if let Some(line) = line.filter(fits) {
            listing.text.extend([separator, &line]);
            listing.described += 1;
            spare -= line.len() - name.len();
        } else if separator.len() + name.len() <= left {
            listing.text.extend([separator, name]);
        } else {
            break;
        }
        listing.shown += 1;
    }
    listing
}

/// A line for each skill, if all fit.
fn joined(
    entries: &[Entry<'_>],
    room: usize,
    line: impl Fn(&Entry<'_>) -> String,
) -> Option<String> {
    let mut text = String::new();
    for entry in entries {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line(entry));
        if text.len() > room {
            return None;
        }
    }
    Some(text)
}

impl<'a> Entry<'a> {
    fn of(skill: &Skill<'a>) -> Result<Self, Error> {
        Ok(Self {
            name: skill.callable_name()?,
            summary: skill.summary,
            scope: skill.scope.as_str(),
        })
    }
}

impl Skill<'_> {
    /// The description as shown in a list: one line of at most 200 characters, without invisible
    /// characters.
    pub fn headline(&self) -> String {
        headline(self.summary, HEADLINE)
    }

    /// The line of a list for this skill, `- pdf: Fills in forms`; `None` if its name is too long.
    pub fn listing_line(&self) -> Result<Option<String>, Error> {
        let name = self.callable_name()?;
        let line = || format!("- {}: {}\n", visible_line(name), self.headline());
        Ok((name.len() <= NAME_BYTES).then(line))
    }
}

/// The name alone.
fn name_only(entry: &Entry<'_>) -> String {
    format!("<name>{}</name>", escaped(entry.name))
}

/// The name and a short description on one line.
fn shortened(entry: &Entry<'_>, most: usize) -> String {
    let description = escaped(&headline(entry.summary, most));
    format!("{} {description}", name_only(entry))
}

/// The XML element of spec 2.
fn element(entry: &Entry<'_>) -> String {
    format!(
        "<skill>\n<name>{}</name>\n<description>{}</description>\n<location>{}</location>\n</skill>",
        escaped(entry.name),
        escaped(&headline(entry.summary, HEADLINE)),
        entry.scope
    )
}

fn headline(summary: &str, most: usize) -> String {
    let seen = summary.chars().filter(|c| is_seen(*c));
    let line: String = seen.take(most + 1).collect();
    match line.char_indices().nth(most - 1) {
        Some((end, last)) if end + last.len_utf8() < line.len() => {
            format!("{}…", line[..end].trim_end())
        }
        _ => line,
    }
}

/// Text for the inside of an element: on one line, visible characters only, escaped.
fn escaped(text: &str) -> String {
    let line = visible_line(text);
    line.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The text on one line, visible characters only.
pub fn visible_line(text: &str) -> String {
    let seen = text.chars().filter(|c| is_seen(*c));
    seen.map(|c| match c {
        '\u{2028}' | '\u{2029}' => ' ',
        c if c.is_control() => ' ',
        c => c,
    })
    .collect()
}

/// Direction overrides and tag characters can carry text that is visible only to a model. A list
/// omits them; the skill itself is served unchanged, and so are joiners, which scripts and emoji
/// need.
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
        let listing = bundle.catalog().and_then(|it| it.skill_listing(2000));
        let listing = listing.expect("intact");
        assert_eq!(
            (listing.shown, &*listing.text),
            (
                1,
                "<skill>\n<name>pdf</name>\n<description>About pdf.</description>\n<location>project</location>\n</skill>"
            )
        );
    }

    /// Skills, bytes, the skills that are named and described.
    #[test]
    fn where_room_is_short_names_go_before_descriptions() {
        for (count, room, shown, described) in [
            (10, 2000, 10, 10),
            (30, 1500, 30, 30),
            (45, 1500, 45, 23),
            (300, 1500, 36, 35),
            (3, 40, 1, 0),
            (3, 0, 0, 0),
            (0, 2000, 0, 0),
        ] {
            let bundle = many(count);
            let listing = bundle.catalog().and_then(|it| it.skill_listing(room));
            let listing = listing.expect("intact");
            let found = (listing.shown, listing.described);
            assert_eq!(found, (shown, described), "{count} skills, {room} bytes");
        }
    }

    #[test]
    fn a_list_never_passes_its_room_and_grows_with_it() {
        let bundle = many(300);
        let catalog = bundle.catalog().expect("intact");
        let mut last = 0;
        for room in (0..60_000).step_by(997) {
            let listing = catalog.skill_listing(room).expect("intact");
            let (len, names) = (listing.text.len(), listing.text.matches("<name>").count());
            assert!(len <= room, "{len} of {room}");
            assert_eq!(names, listing.shown);
            assert!(listing.described <= listing.shown);
            assert!(listing.shown >= last, "{room}: {names} after {last}");
            last = listing.shown;
        }
        assert_eq!(last, 300);
    }

    #[test]
    fn a_name_that_would_fill_a_list_is_left_out() {
        let mut long = skill("long", "x\n");
        long.name = "n".repeat(1800);
        long.priority = 9.0;
        let bundle = bundle(vec![long, skill("pdf", "x\n")]);
        let catalog = bundle.catalog().expect("intact");
        let listing = catalog.skill_listing(1500).expect("intact");
        assert_eq!((listing.shown, listing.described), (1, 1), "{listing:?}");
        let lines = catalog.ranked().map(|it| it?.listing_line());
        let lines: Vec<_> = lines.collect::<Result<_, _>>().expect("intact");
        assert_eq!(lines, [None, Some("- pdf: About pdf.\n".to_owned())]);
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
        assert_eq!(headline(&long, 200).chars().count(), 200);
        assert!(
            headline(&long, 200).ends_with("word…"),
            "{}",
            headline(&long, 200)
        );
        assert_eq!(headline(&"x".repeat(200), 200), "x".repeat(200));
    }
}
