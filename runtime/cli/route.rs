//! `skillbundle route`: which skill a request means, and why. The answer is
//! `Catalog::route`'s, which an agent host gets too; here it is drawn.

use anyhow::Result;
use skillbundle_format::{Candidate, Decision, Route, Settings, rounded};

use super::bars::Bars;
use super::display::{columns, cut, one_line};
use super::json::{self, Envelope};
use super::output::{Output, info, is_utf8};
use super::table::Table;
use crate::Exit;
use crate::sources::{Opened, Sources};

const EXAMPLES: &str = "\
Examples:
  skillbundle route \"fill in a PDF form\" skills
                                                which skill the request is routed to
  skillbundle route deploy skills --all         every skill that shares a word with it
  skillbundle route deploy skills --json        for a script

The first line is the decision, with what it required and what it had. Below are the
candidates, each with a bar for its score relative to the best of its ranker, and the parts
of the score. Tree pages with keywords are ranked by those (`keywords`), the other skills by
their words (`bm25f/1`); the two scores cannot be compared.

In a pipe each line is path, name, decision, score, ranker and reasons, separated by tabs; the
decision is `match`, `ambiguous`, `below` (scores below the threshold) or `other`.
Exit codes: 0 one skill matches, 1 several or none do, 2 could not run.";

/// Columns of the longest bar, at most a quarter of the terminal.
const BAR: usize = 20;
/// Columns of a score: four figures, the point and three decimals, or less.
const SCORE: usize = 8;
/// Columns that the names of reasons may take before what follows is no longer aligned.
const REASON: usize = 28;

// Arguments of `route`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The request, in the user's words; quote it
    request: String,
    /// Show this many candidates, and always those that the decision is about
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3)]
    limit: usize,
    /// Show every skill that has anything in common with the request
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the decision and the candidates, best first.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let opened = args.sources.open_for("route", &args.request)?;
    let catalog = opened.bundle.catalog()?;
    let limit = if args.all { catalog.len() } else { args.limit };
    let settings = catalog.settings()?;
    let mut route = catalog.route(&args.request, limit)?;
    let verdict = verdict(&route, &settings, &opened);
    route.candidates.append(&mut route.weak);
    route.candidates.truncate(limit.max(decided(&route)));
    let mut out = Output::new();
    if args.json {
        print_json(&mut out, &args.request, &route, &settings)?;
    } else if out.is_terminal() {
        draw(&mut out, &route, &verdict)?;
    } else {
        out.table(&table(&route)?)?;
        if route.decision != Decision::Match {
            info(&verdict);
        }
    }
    out.finish()?;
    Ok(match route.decision {
        Decision::Match => Exit::Success,
        Decision::Ambiguous(_) | Decision::NoMatch => Exit::ProblemsFound,
    })
}

/// How many of the first candidates the decision is about.
const fn decided(route: &Route<'_>) -> usize {
    match route.decision {
        Decision::NoMatch => 0,
        Decision::Match => 1,
        Decision::Ambiguous(count) => count,
    }
}

/// The decision as a word.
const fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::NoMatch => "no_match",
        Decision::Match => "match",
        Decision::Ambiguous(_) => "ambiguous",
    }
}

/// The decision in one line, escaped.
fn verdict(route: &Route<'_>, settings: &Settings, opened: &Opened) -> String {
    let decision = match (route.decision, route.candidates.as_slice()) {
        (Decision::Match, [best, ..]) => format!("match: {}", best.skill.path),
        (Decision::Ambiguous(count), _) => format!("ambiguous between {count}"),
        _ => format!("no match in {}", opened.origin),
    };
    let grounds = grounds(route, settings);
    let forbidden: Vec<&str> = route.forbidden.iter().map(|it| it.path).collect();
    let forbidden = if forbidden.is_empty() {
        String::new()
    } else {
        format!("; the request forbids {}", forbidden.join(", "))
    };
    one_line(&format!(
        "{decision}, by {}: {grounds}{forbidden}",
        route.ranker
    ))
}

/// What the decision says about a candidate, in one word.
fn standing(route: &Route<'_>, place: usize) -> &'static str {
    if place < decided(route) {
        word(route.decision)
    } else if route.candidates[place].below_threshold {
        "below"
    } else {
        "other"
    }
}

/// What the decision required, and what it had.
fn grounds(route: &Route<'_>, settings: &Settings) -> String {
    let by_keywords = route.ranker == "keywords";
    let mut ranked = route
        .candidates
        .iter()
        .filter(|it| (it.ranker == "keywords") == by_keywords);
    let (best, second) = (ranked.next(), ranked.next());
    let sure = match best {
        None if by_keywords => {
            let least = settings.min_score;
            return format!("no skill's keywords reach the minimum score of {least}");
        }
        None if route.terms.is_empty() => return "the request has no words that count".to_owned(),
        None => return "no skill contains a word of the request".to_owned(),
        Some(best) if by_keywords => {
            format!("score {:.3}, needs {}", best.score, settings.min_score)
        }
        Some(best) if best.why.named => "named in the request".to_owned(),
        Some(_) => format!(
            "confidence {:.2}, needs {:.2}",
            route.confidence, route.min_confidence
        ),
    };
    let both_mean_one = route.ranker.contains('+') && route.decision != Decision::NoMatch;
    let lead = match (best, second) {
        _ if both_mean_one => format!(
            "neither ranker's best is ahead by {:.0}%",
            route.min_margin * 100.0
        ),
        (Some(best), Some(second)) if by_keywords => format!(
            "lead {:.3}, needs {}",
            best.score - second.score,
            settings.ambiguity_threshold
        ),
        (_, Some(_)) => format!(
            "lead {:.0}%, needs {:.0}%",
            route.margin * 100.0,
            route.min_margin * 100.0
        ),
        _ => "no other candidate".to_owned(),
    };
    format!("{sure}; {lead}")
}

/// A part of a score.
struct Reason {
    /// What the request and the skill have in common.
    what: String,
    /// What that added, in units of the score.
    added: f64,
    /// Where it was found, or what it is.
    place: String,
}

impl Reason {
    fn new(what: impl Into<String>, added: f64, place: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            added,
            place: place.into(),
        }
    }
}

/// The parts of a candidate's score; they add up to it.
fn reasons<'a>(route: &Route<'a>, candidate: &Candidate<'a>) -> Result<Vec<Reason>> {
    if candidate.ranker == "keywords" {
        return by_keywords(route, candidate);
    }
    let why = &candidate.why;
    let terms = why
        .terms
        .iter()
        .map(|it| Reason::new(&it.term, it.score, it.fields.join(", ")));
    let pairs = why
        .pairs
        .iter()
        .map(|it| Reason::new(it.terms.join(" "), it.score, "adjacent"));
    let mut reasons: Vec<Reason> = terms.chain(pairs).collect();
    if why.name_score > 0.0 {
        let share = format!("{:.0}% of it", why.name_share * 100.0);
        reasons.push(Reason::new("the name", why.name_score, share));
    }
    if why.named {
        let others: f64 = reasons.iter().map(|it| it.added).sum();
        let added = candidate.score - others;
        reasons.push(Reason::new("named in the request", added, ""));
    }
    Ok(reasons)
}

fn by_keywords<'a>(route: &Route<'a>, candidate: &Candidate<'a>) -> Result<Vec<Reason>> {
    let matched = route.matched_keywords(candidate)?;
    let what = format!(
        "{} of {} keywords",
        matched.len(),
        candidate.skill.keywords()?.len()
    );
    let priority = candidate.skill.priority;
    let by_priority = priority * 0.001;
    let counts = by_priority.is_finite() && by_priority != 0.0;
    let by_priority = if counts { by_priority } else { 0.0 };
    let mut reasons = vec![Reason::new(
        what,
        candidate.score - by_priority,
        matched.join(", "),
    )];
    if counts {
        reasons.push(Reason::new(format!("priority {priority}"), by_priority, ""));
    }
    Ok(reasons)
}

/// A score with as many digits as its ranker needs: priorities are thousandths.
fn figure(score: f64, ranker: &str) -> String {
    if ranker == "keywords" {
        format!("{score:.3}")
    } else {
        format!("{score:.2}")
    }
}

/// The page for a terminal.
fn draw(out: &mut Output, route: &Route<'_>, verdict: &str) -> Result<()> {
    let style = out.style();
    let width = style.width.unwrap_or(usize::MAX);
    out.line(&style.bold(verdict))?;
    let bars = Bars {
        width: BAR.min(width / 4),
        blocks: is_utf8(),
    };
    for (place, candidate) in route.candidates.iter().enumerate() {
        out.line("")?;
        let share = candidate.score / best_score(route, candidate.ranker);
        let ranker = if route.ranker == candidate.ranker {
            String::new()
        } else {
            format!(" ({})", candidate.ranker)
        };
        let score = figure(candidate.score, candidate.ranker);
        let below = if candidate.below_threshold {
            " (below the threshold)"
        } else {
            ""
        };
        let line = format!(
            "{}{score:>SCORE$}  {}{ranker}{below}",
            bars.padded(share),
            one_line(candidate.skill.path)
        );
        let line = cut(&line, width);
        out.line(&if place < decided(route) {
            style.bold(&line)
        } else {
            line.into_owned()
        })?;
        draw_reasons(
            out,
            &reasons(route, candidate)?,
            candidate.ranker,
            bars.width,
        )?;
    }
    Ok(())
}

/// The reasons below a candidate, their scores below its score.
fn draw_reasons(out: &mut Output, reasons: &[Reason], ranker: &str, indent: usize) -> Result<()> {
    let width = out.style().width.unwrap_or(usize::MAX);
    let names: Vec<String> = reasons.iter().map(|it| one_line(&it.what)).collect();
    let widest = names.iter().map(|it| columns(it)).max().unwrap_or(0);
    for (reason, name) in reasons.iter().zip(&names) {
        let padding = " ".repeat(widest.min(REASON).saturating_sub(columns(name)));
        let added = figure(reason.added, ranker);
        let place = one_line(&reason.place);
        let line = format!("{:indent$}{added:>SCORE$}  {name}{padding}  {place}", "");
        out.line(&cut(line.trim_end(), width))?;
    }
    Ok(())
}

/// The greatest score that a ranker gave; never 0.
fn best_score(route: &Route<'_>, ranker: &str) -> f64 {
    let scores = route.candidates.iter().filter(|it| it.ranker == ranker);
    scores.map(|it| it.score).fold(f64::MIN_POSITIVE, f64::max)
}

/// The lines for a pipe.
fn table(route: &Route<'_>) -> Result<Table> {
    let mut table = Table::new(&["PATH", "NAME", "DECISION", "SCORE", "RANKER", "REASONS"]);
    for (place, candidate) in route.candidates.iter().enumerate() {
        let part = |it: &Reason| {
            let added = figure(it.added, candidate.ranker);
            format!("{} {added} {}", it.what, it.place)
                .trim_end()
                .to_owned()
        };
        let parts: Vec<String> = reasons(route, candidate)?.iter().map(part).collect();
        table.row([
            candidate.skill.path,
            candidate.skill.name,
            standing(route, place),
            &figure(candidate.score, candidate.ranker),
            candidate.ranker,
            &parts.join("; "),
        ]);
    }
    Ok(table)
}

fn print_json(
    out: &mut Output,
    request: &str,
    route: &Route<'_>,
    settings: &Settings,
) -> Result<()> {
    let skills = route.candidates.iter().map(|it| json_candidate(route, it));
    let body = json::Route {
        request,
        decision: word(route.decision),
        decided: decided(route),
        ranker: route.ranker,
        forbidden: route.forbidden.iter().map(|it| it.path).collect(),
        routing: json::Routing {
            terms: &route.terms,
            near: &route.near,
            confidence: rounded(route.confidence),
            min_confidence: rounded(route.min_confidence),
            margin: rounded(route.margin),
            min_margin: rounded(route.min_margin),
            min_score: settings.min_score,
            ambiguity_threshold: settings.ambiguity_threshold,
        },
        skills: skills.collect::<Result<_>>()?,
    };
    Ok(out.json(&Envelope::new("route", body))?)
}

fn json_candidate<'r, 'a>(
    route: &Route<'a>,
    candidate: &'r Candidate<'a>,
) -> Result<json::Candidate<'r>> {
    let why = &candidate.why;
    let matches = why.terms.iter().map(|it| json::TermScore {
        term: &it.term,
        score: rounded(it.score),
        fields: &it.fields,
    });
    let pairs = why.pairs.iter().map(|it| json::PairScore {
        terms: &it.terms,
        score: rounded(it.score),
    });
    let keywords = route.matched_keywords(candidate)?.into_iter();
    Ok(json::Candidate {
        skill: (&candidate.skill).into(),
        score: rounded(candidate.score),
        below_threshold: candidate.below_threshold,
        ranker: candidate.ranker,
        matched_keywords: keywords.map(str::to_owned).collect(),
        why: json::CandidateExplanation {
            matches: matches.collect(),
            pairs: pairs.collect(),
            name_share: rounded(why.name_share),
            name_score: rounded(why.name_score),
            named: why.named,
        },
    })
}
