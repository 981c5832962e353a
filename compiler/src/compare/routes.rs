//! Asks both versions the same requests: those of evaluation files, and those that the skills which
//! both versions have make for themselves.

use std::collections::HashSet;

use skillbundle_format::{Catalog, Decision, Error};
use skillbundle_search::parallel;

use super::skills::Same;
use super::{Comparison, Effect, Origin, Rerouted, Version, own};
use crate::eval::{EvalCase, Reasons, found};

/// Fewer requests are asked faster than a thread starts: one takes some ten microseconds.
const LEAST: usize = 64;

/// A request, and where it comes from.
struct Asked {
    case: EvalCase,
    origin: Origin,
    /// Whether the skills that are right are in both versions.
    is_of_both: bool,
}

/// Fills in which requests are answered differently.
pub(super) fn compare(
    (old, old_catalog): (Version<'_>, &Catalog<'_>),
    (new, new_catalog): (Version<'_>, &Catalog<'_>),
    same: &Same,
    out: &mut Comparison,
) -> Result<(), Error> {
    let mut asked = Vec::new();
    let mut seen = HashSet::new();
    let key = |case: &EvalCase| (case.text.clone(), case.expected.clone(), case.not.clone());
    for case in cases(new, new_catalog)? {
        let origin = Origin::File {
            file: case.file.clone(),
            span: case.span,
            line: case.line,
        };
        seen.insert(key(&case));
        asked.push(Asked::new(case, origin, same));
    }
    for mut case in cases(old, old_catalog)? {
        case.rename(|path| renamed(path, same, new_catalog));
        if seen.insert(key(&case)) {
            asked.push(Asked::new(case, Origin::OldFile, same));
        }
    }
    out.request_count = asked.len();
    // With the same skills, every answer is the same.
    if old.bundle.content_address() == new.bundle.content_address() {
        return Ok(());
    }
    for (path, (before, now)) in &same.by_new {
        let (now, before) = (new_catalog.skill(*now)?, old_catalog.skill(*before)?);
        let now = own::requests(new_catalog, &now, same.by_new.len())?;
        let before = own::requests(old_catalog, &before, same.by_new.len())?;
        let now = now.into_iter().map(|(key, text)| (Origin::Own(key), text));
        let before = before.into_iter();
        let before = before.map(|(key, text)| (Origin::OldOwn(key), text));
        for (origin, text) in now.chain(before) {
            let own = Asked::own(path, text, origin);
            if seen.insert(key(&own.case)) {
                asked.push(own);
            }
        }
    }
    out.own_request_count = asked.len() - out.request_count;
    let differing = differing(out);
    let answers = parallel::map(&asked, LEAST, |it| {
        rerouted(it, (old_catalog, new_catalog), (same, &differing))
    });
    for answer in answers {
        out.rerouted.extend(answer?);
    }
    // What a skill does not say any more comes last.
    let key = |it: &Rerouted| {
        let is_old = matches!(it.origin, Origin::OldFile | Origin::OldOwn(_));
        (it.effect, is_old, it.expected.clone(), it.request.clone())
    };
    out.rerouted.sort_by_cached_key(key);
    Ok(())
}

/// The paths of skills whose text is new, gone or another one.
fn differing(comparison: &Comparison) -> HashSet<String> {
    let (added, removed) = (&comparison.added, &comparison.removed);
    let sizes = added.iter().chain(removed).map(|it| &it.path);
    let changed = comparison.changed.iter();
    let changed = changed.filter(|it| !it.fields.is_empty() || it.old_path.is_some());
    sizes.chain(changed.map(|it| &it.path)).cloned().collect()
}

impl Asked {
    fn new(case: EvalCase, origin: Origin, same: &Same) -> Self {
        let expected = case.expected.iter().flatten();
        let mut concerned = expected.chain(&case.not);
        Self {
            is_of_both: concerned.all(|path| same.by_new.contains_key(path)),
            case,
            origin,
        }
    }

    /// A request that the skill at this path makes for itself.
    fn own(path: &str, text: String, origin: Origin) -> Self {
        let case = EvalCase {
            text,
            file: String::new(),
            span: None,
            line: None,
            expected: Some(vec![path.to_owned()]),
            not: Vec::new(),
        };
        Self {
            case,
            origin,
            is_of_both: true,
        }
    }
}

fn cases(version: Version<'_>, catalog: &Catalog<'_>) -> Result<Vec<EvalCase>, Error> {
    match version.sources {
        Some((set, requests)) => Ok(requests.collect(set, catalog)?.cases),
        None => Ok(Vec::new()),
    }
}

/// The path that a skill of the old version has now.
fn renamed(path: &str, same: &Same, new: &Catalog<'_>) -> String {
    let now = same
        .by_old
        .get(path)
        .and_then(|(_, now)| new.skill(*now).ok());
    now.map_or_else(|| path.to_owned(), |skill| skill.path.to_owned())
}

/// How right an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Grade {
    Wrong,
    Offered,
    Right,
}

fn grade(case: &EvalCase, answer: &[String], is_match: bool) -> Grade {
    let won = answer.first().filter(|_| is_match);
    let is_barred = |path: &String| {
        let expects_none = case.expected.as_ref().is_some_and(Vec::is_empty);
        expects_none || case.not.contains(path)
    };
    match case.expected.as_deref() {
        None | Some([]) if won.is_some_and(is_barred) => Grade::Wrong,
        None | Some([]) => Grade::Right,
        Some(expected) if !answer.iter().any(|path| expected.contains(path)) => Grade::Wrong,
        Some(_) if is_match => Grade::Right,
        Some(_) => Grade::Offered,
    }
}

/// What differs between the two answers to a request.
fn rerouted(
    asked: &Asked,
    (old, new): (&Catalog<'_>, &Catalog<'_>),
    (same, differing): (&Same, &HashSet<String>),
) -> Result<Option<Rerouted>, Error> {
    let case = &asked.case;
    let before = old.route(&case.text, 1)?;
    let now = new.route(&case.text, 1)?;
    let was: Vec<String> = (found(&before).into_iter())
        .map(|path| renamed(path, same, new))
        .collect();
    let is: Vec<String> = found(&now).into_iter().map(str::to_owned).collect();
    let matched = |decision| decision == Decision::Match;
    let is_same = was.iter().all(|path| is.contains(path)) && was.len() == is.len();
    if is_same && matched(before.decision) == matched(now.decision) {
        return Ok(None);
    }
    let old_grade = grade(case, &was, matched(before.decision));
    let new_grade = grade(case, &is, matched(now.decision));
    let effect = match new_grade.cmp(&old_grade) {
        _ if !asked.is_of_both => Effect::Moved,
        std::cmp::Ordering::Less => Effect::Lost,
        std::cmp::Ordering::Equal => Effect::Moved,
        std::cmp::Ordering::Greater => Effect::Found,
    };
    if matches!(asked.origin, Origin::Own(_) | Origin::OldOwn(_)) {
        let expected = case.expected.iter().flatten();
        let mut concerned = expected.chain(&was).chain(&is);
        let has_to_do = concerned.any(|path| differing.contains(path));
        // Which wrong skill gets what a skill says of itself tells its author nothing.
        if effect == Effect::Moved || !has_to_do {
            return Ok(None);
        }
    }
    let reasons = Reasons::new(new, case, &now)?;
    Ok(Some(Rerouted {
        request: case.text.clone(),
        origin: asked.origin.clone(),
        expected: case.expected.clone().unwrap_or_default(),
        old: was,
        new: is,
        effect,
        why: reasons.why()?,
    }))
}

impl EvalCase {
    /// Replaces the paths of skills.
    fn rename(&mut self, rename: impl Fn(&str) -> String) {
        for path in self.expected.iter_mut().flatten().chain(&mut self.not) {
            *path = rename(path);
        }
    }
}
