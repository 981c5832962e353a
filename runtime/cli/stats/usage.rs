//! What the events of a journal say about the use of skills. Counts come from the journal's index;
//! the bodies of a few kinds of events are read one by one, and only what a list shows is kept, so
//! that a journal of a million events takes little memory.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use skillbundle_journal::{EventCount, JournalError, Reader};
use skillbundle_search::text::fold;

/// The kinds of rows in a journal.
const ROUTING: &str = "routing";
const SCRIPT: &str = "script";
const ANALYTICS: &str = "analytics";

/// Outcomes of routing decisions.
const MATCH: &str = "match";
const AMBIGUOUS: &str = "ambiguous";
const NO_MATCH: &str = "no_match";

/// Names of analytics events.
const LOADED: &str = "skill_loaded";
const OFFERED: &str = "skills_offered";
const ASSET: &str = "asset_served";
const FEEDBACK: &str = "skill_feedback";

const DAY: u64 = 86_400;

/// How often each thing happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// `get_skill` answered with a skill.
    pub(super) served: u64,
    /// A skill was read by its name or URI.
    pub(super) loaded: u64,
    /// A skill with a contract was invoked.
    pub(super) invoked: u64,
    /// A script ran, other than as the handler of an invocation.
    pub(super) ran: u64,
    /// A file of a skill was served.
    pub(super) assets: u64,
    /// An answer named a skill: as the match, or as one to choose from.
    pub(super) offered: u64,
    /// A request or a search found nothing.
    pub(super) not_found: u64,
    /// A request found several skills.
    pub(super) ambiguous: u64,
    /// Somebody said that a skill was useful, or was not.
    pub(super) helpful: u64,
    pub(super) unhelpful: u64,
}

/// One of the counts.
pub(super) type Count = fn(&mut Counts) -> &mut u64;

impl Counts {
    /// How often a skill was used.
    pub(super) const fn uses(&self) -> u64 {
        self.served + self.loaded + self.invoked + self.ran
    }
}

/// One skill.
#[derive(Debug, Clone, Default)]
pub(super) struct SkillUsage {
    pub(super) counts: Counts,
    /// When it was last used: served, loaded, invoked or run.
    pub(super) last: Option<SystemTime>,
    /// What was said about it when it was not useful, the latest first.
    pub(super) comments: Vec<Comment>,
}

/// What was said about a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comment {
    pub(super) at: SystemTime,
    pub(super) text: String,
}

/// A request that found nothing, as it was written last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnmetRequest {
    pub(super) request: String,
    pub(super) count: u64,
    pub(super) last: SystemTime,
}

/// Two skills that requests could not tell apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AmbiguousPair {
    pub(super) skills: [String; 2],
    pub(super) count: u64,
    pub(super) last: SystemTime,
}

/// How skills were used.
#[derive(Debug, Default)]
pub(super) struct Usage {
    pub(super) totals: Counts,
    /// By path; an invocation is of a name if the skills are not at hand.
    pub(super) skills: HashMap<String, SkillUsage>,
    /// By midnight, UTC.
    pub(super) days: BTreeMap<SystemTime, Counts>,
    /// The most frequent first.
    pub(super) unmet: Vec<UnmetRequest>,
    /// The number of different ones, also if not all are in the list.
    pub(super) unmet_count: usize,
    /// The most frequent first.
    pub(super) pairs: Vec<AmbiguousPair>,
    /// The number of different ones.
    pub(super) pair_count: usize,
    /// Whether anything was recorded.
    pub(super) is_any: bool,
    /// Whether anything was that is recorded only with `journal.calls`.
    pub(super) has_calls: bool,
}

/// What to read.
pub(super) struct Wanted<'a> {
    pub(super) since: Option<SystemTime>,
    /// The length of lists.
    pub(super) top: usize,
    /// The path of a skill that was invoked by this name.
    pub(super) path_of: &'a dyn Fn(&str) -> Option<&'a str>,
}

/// A text of a body, without a copy unless it has escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The body of a routing decision, as far as it is read.
#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    request: Text<'a>,
}

/// The same of an ambiguous one.
#[derive(Deserialize)]
struct Ambiguity<'a> {
    #[serde(borrow)]
    candidates: Vec<(Text<'a>, f64)>,
}

/// The body of an event of skills that were offered.
#[derive(Deserialize)]
struct Offer<'a> {
    #[serde(borrow)]
    context: Option<Text<'a>>,
    #[serde(borrow)]
    candidates: Vec<Text<'a>>,
}

/// The body of feedback.
#[derive(Deserialize)]
struct Feedback<'a> {
    #[serde(borrow)]
    skill_path: Text<'a>,
    useful: bool,
    #[serde(borrow)]
    comment: Option<Text<'a>>,
}

impl Usage {
    /// Reads a journal, as of one moment.
    pub(super) fn read(reader: &Reader, wanted: &Wanted<'_>) -> Result<Self, JournalError> {
        reader.at_one_moment(|reader| {
            let mut usage = Self::default();
            reader.count_events(wanted.since, |counted| usage.count(counted))?;
            reader.count_invocations(wanted.since, |counted| {
                usage.is_any = true;
                let path = (wanted.path_of)(counted.skill).unwrap_or(counted.skill);
                let invoked: Count = |it| &mut it.invoked;
                usage.add(Some(path), counted.day, invoked, counted.count);
                usage.used(path, counted.last);
            })?;
            let mut unmet = Unmet::default();
            usage.read_decisions(reader, wanted, &mut unmet)?;
            usage.read_offers(reader, wanted, &mut unmet)?;
            usage.read_feedback(reader, wanted)?;
            usage.unmet_count = unmet.by_text.len();
            usage.unmet = unmet.most_frequent(reader, wanted.top)?;
            Ok(usage)
        })
    }

    /// Adds to the count of a day, of a skill if it is of one, and of all.
    fn add(&mut self, skill: Option<&str>, day: SystemTime, count: Count, number: u64) {
        *count(&mut self.totals) += number;
        *count(self.days.entry(day).or_default()) += number;
        if let Some(skill) = skill {
            *count(&mut self.skill(skill).counts) += number;
        }
    }

    fn used(&mut self, skill: &str, at: SystemTime) {
        let skill = self.skill(skill);
        skill.last = skill.last.max(Some(at));
    }

    fn skill(&mut self, skill: &str) -> &mut SkillUsage {
        if !self.skills.contains_key(skill) {
            self.skills.insert(skill.to_owned(), SkillUsage::default());
        }
        self.skills.get_mut(skill).expect("it was inserted above")
    }

    fn count(&mut self, counted: EventCount<'_>) {
        let EventCount {
            kind, name, skill, ..
        } = counted;
        self.is_any = true;
        self.has_calls |= match kind {
            SCRIPT => !counted.is_correlated,
            _ => name != FEEDBACK,
        };
        let count: Count = match (kind, name) {
            (ROUTING, MATCH) => |it| &mut it.served,
            (ROUTING, NO_MATCH) => |it| &mut it.not_found,
            (ROUTING, AMBIGUOUS) => |it| &mut it.ambiguous,
            (ANALYTICS, LOADED) => |it| &mut it.loaded,
            (ANALYTICS, ASSET) => |it| &mut it.assets,
            // That of a handler is counted as an invocation.
            (SCRIPT, _) if !counted.is_correlated => |it| &mut it.ran,
            _ => return,
        };
        self.add(skill, counted.day, count, counted.count);
        if (kind, name) == (ROUTING, MATCH) {
            // The answer names the skill.
            self.add(skill, counted.day, |it| &mut it.offered, counted.count);
        }
        if let Some(skill) = skill.filter(|_| name != ASSET) {
            self.used(skill, counted.last);
        }
    }

    fn offer(&mut self, skill: &str, at: SystemTime) {
        self.add(Some(skill), midnight(at), |it| &mut it.offered, 1);
    }

    fn read_decisions(
        &mut self,
        reader: &Reader,
        wanted: &Wanted<'_>,
        unmet: &mut Unmet,
    ) -> Result<(), JournalError> {
        let mut pairs: HashMap<[String; 2], (u64, SystemTime)> = HashMap::new();
        reader.each_body(ROUTING, AMBIGUOUS, wanted.since, |it| {
            // What an edited file holds may be anything; it counts, and names nothing.
            let Ok(decision) = serde_json::from_str::<Ambiguity<'_>>(it.body) else {
                return;
            };
            let mut skills: Vec<&str> = decision.candidates.iter().map(|it| &*it.0.0).collect();
            for skill in &skills {
                self.offer(skill, it.at);
            }
            skills.sort_unstable();
            for (at, one) in skills.iter().enumerate() {
                for other in &skills[at + 1..] {
                    let pair = [(*one).to_owned(), (*other).to_owned()];
                    let (count, last) = pairs.entry(pair).or_insert((0, it.at));
                    *count += 1;
                    *last = (*last).max(it.at);
                }
            }
        })?;
        reader.each_body(ROUTING, NO_MATCH, wanted.since, |it| {
            if let Ok(decision) = serde_json::from_str::<Request<'_>>(it.body) {
                unmet.add(&decision.request.0, it.row);
            }
        })?;
        let pairs = pairs
            .into_iter()
            .map(|(skills, (count, last))| AmbiguousPair {
                skills,
                count,
                last,
            });
        self.pairs = pairs.collect();
        self.pair_count = self.pairs.len();
        self.pairs
            .sort_unstable_by(|a, b| (b.count, &a.skills).cmp(&(a.count, &b.skills)));
        self.pairs.truncate(wanted.top);
        Ok(())
    }

    fn read_offers(
        &mut self,
        reader: &Reader,
        wanted: &Wanted<'_>,
        unmet: &mut Unmet,
    ) -> Result<(), JournalError> {
        reader.each_body(ANALYTICS, OFFERED, wanted.since, |it| {
            let Ok(offer) = serde_json::from_str::<Offer<'_>>(it.body) else {
                return;
            };
            for Text(skill) in &offer.candidates {
                self.offer(skill, it.at);
            }
            if offer.candidates.is_empty() {
                self.add(None, midnight(it.at), |it| &mut it.not_found, 1);
                unmet.add(offer.context.as_ref().map_or("", |it| &it.0), it.row);
            }
        })
    }

    fn read_feedback(&mut self, reader: &Reader, wanted: &Wanted<'_>) -> Result<(), JournalError> {
        reader.each_body(ANALYTICS, FEEDBACK, wanted.since, |it| {
            let Ok(feedback) = serde_json::from_str::<Feedback<'_>>(it.body) else {
                return;
            };
            let count: Count = if feedback.useful {
                |it| &mut it.helpful
            } else {
                |it| &mut it.unhelpful
            };
            self.add(Some(&feedback.skill_path.0), midnight(it.at), count, 1);
            let comment = feedback.comment.filter(|_| !feedback.useful);
            if let Some(Text(text)) = comment {
                let comments = &mut self.skill(&feedback.skill_path.0).comments;
                comments.push(Comment {
                    at: it.at,
                    text: text.into_owned(),
                });
                // Twice as many as are wanted, so that few of them are sorted more than once.
                if comments.len() > 2 * wanted.top {
                    keep_latest(comments, wanted.top);
                }
            }
        })?;
        let skills = self.skills.values_mut();
        skills.for_each(|it| keep_latest(&mut it.comments, wanted.top));
        Ok(())
    }

    /// The skills with more than none of a count, those with the most first.
    pub(super) fn by(&self, count: impl Fn(&Counts) -> u64) -> Vec<(&str, &SkillUsage)> {
        let skills = self.skills.iter().map(|(path, it)| (path.as_str(), it));
        let mut skills: Vec<_> = skills.filter(|(_, it)| count(&it.counts) > 0).collect();
        skills.sort_unstable_by(|(a, of_a), (b, of_b)| {
            (count(&of_b.counts), *a).cmp(&(count(&of_a.counts), *b))
        });
        skills
    }
}

/// Requests that found nothing. Only hashes of their texts are kept: of a million different requests
/// the texts are hundreds of megabytes, and a list shows a few.
#[derive(Default)]
struct Unmet {
    hasher: RandomState,
    /// Reused from text to text.
    words: String,
    by_text: HashMap<u64, Repeated>,
}

/// How often a text occurred, and the row that has it last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Repeated {
    count: u32,
    row: i64,
}

impl Unmet {
    /// Two requests are the same if they differ only in case and white space.
    fn add(&mut self, request: &str, row: i64) {
        self.words.clear();
        for word in request.split_whitespace() {
            self.words.push_str(word);
            self.words.push(' ');
        }
        let hash = self.hasher.hash_one(fold(&self.words));
        let repeated = self
            .by_text
            .entry(hash)
            .or_insert(Repeated { count: 0, row });
        repeated.count = repeated.count.saturating_add(1);
        repeated.row = repeated.row.max(row);
    }

    fn most_frequent(self, reader: &Reader, top: usize) -> Result<Vec<UnmetRequest>, JournalError> {
        let mut most: Vec<Repeated> = self.by_text.into_values().collect();
        most.sort_unstable_by_key(|it| Reverse(*it));
        let most = most.into_iter().take(top);
        let requests = most.map(|it| {
            let mut found = None;
            reader.body(it.row, |body| {
                let request = request_in(body.body).unwrap_or_default();
                found = Some((request, body.at));
            })?;
            Ok(found.map(|(request, last)| UnmetRequest {
                request,
                count: it.count.into(),
                last,
            }))
        });
        requests.filter_map(Result::transpose).collect()
    }
}

/// The text of a request that found nothing.
fn request_in(body: &str) -> Option<String> {
    if let Ok(decision) = serde_json::from_str::<Request<'_>>(body) {
        return Some(decision.request.0.into_owned());
    }
    serde_json::from_str::<Offer<'_>>(body)
        .ok()?
        .context
        .map(|it| it.0.into_owned())
}

fn keep_latest(comments: &mut Vec<Comment>, top: usize) {
    comments.sort_unstable_by(|a, b| (b.at, &a.text).cmp(&(a.at, &b.text)));
    comments.truncate(top);
}

/// The beginning of a day, UTC.
pub(super) fn midnight(at: SystemTime) -> SystemTime {
    let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    UNIX_EPOCH + Duration::from_secs(seconds - seconds % DAY)
}

/// The beginning of the day before.
pub(super) fn day_before(midnight: SystemTime) -> SystemTime {
    midnight - Duration::from_secs(DAY)
}

#[cfg(test)]
mod tests {
    use skillbundle_server::analytics::EventType;

    use super::*;

    /// Decisions are recorded under other words than they are sent.
    #[test]
    fn the_events_that_are_counted_are_those_of_the_server() {
        for name in [AMBIGUOUS, NO_MATCH, LOADED, OFFERED, ASSET, FEEDBACK] {
            assert!(EventType::find(name).is_some(), "{name}");
        }
    }
}
