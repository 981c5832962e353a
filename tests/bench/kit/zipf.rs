//! Ten thousand made-up skills whose words are as frequent as those of real
//! text (Zipf's law), and requests to them: how long an answer takes, and how
//! long the tables are.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skillbundle_format::{Bundle, Dialect, RootEntry, Scope, SkillEntry, SkillSet, write};

use crate::alone::Probed;
use crate::sample::Sample;

const SKILLS: usize = 10_000;
const REQUESTS: usize = 2_000;

/// How often each is asked: for some seconds, since neighbours come and go.
const ROUNDS: usize = 50;

/// Distinct words of all skills. English of this length has about so many.
const WORDS: f64 = 30_000.0;

/// How many of the most frequent words carry no subject.
const STOPPED: f64 = 150.0;

/// Words of a body.
const BODY: usize = 450;

/// The goals.
const MEDIAN: Duration = Duration::from_micros(12);
const P99: Duration = Duration::from_micros(50);

/// Which words the skills are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vocabulary {
    /// As many and as frequent as in text.
    Text,
    /// So few that nearly every skill holds every word.
    Few,
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1.
    fn fraction(&mut self) -> f64 {
        let bits = u32::try_from(self.next() >> 32).expect("the upper half");
        f64::from(bits) / f64::from(u32::MAX)
    }

    /// A word whose rank is distributed as in text: the density of rank r is
    /// 1/r. The first ranks are words like `the`, which are never terms.
    fn word(&mut self, vocabulary: Vocabulary) -> String {
        if vocabulary == Vocabulary::Few {
            return spelled(self.next() % 72);
        }
        let rank = STOPPED * (WORDS / STOPPED).powf(self.fraction());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and the number of words"
        )]
        let rank = rank as u64;
        spelled(rank)
    }

    fn words(&mut self, count: usize, vocabulary: Vocabulary) -> String {
        let words: Vec<String> = (0..count).map(|_| self.word(vocabulary)).collect();
        words.join(" ")
    }
}

/// A pronounceable word for a rank.
fn spelled(rank: u64) -> String {
    const CONSONANTS: &[u8] = b"bdfgklmnprtvz";
    const VOWELS: &[u8] = b"aiou";
    let mut word = String::new();
    let mut rest = rank + 60;
    while rest > 0 {
        word.push(char::from(CONSONANTS[(rest % 13) as usize]));
        rest /= 13;
        word.push(char::from(VOWELS[(rest % 4) as usize]));
        rest /= 4;
    }
    word
}

fn skill(number: usize, vocabulary: Vocabulary) -> SkillEntry {
    let mut random = Random(number as u64);
    let path = format!(
        "{}-{}-{number:05}",
        random.word(vocabulary),
        random.word(vocabulary)
    );
    let (description, body) = (random.words(30, vocabulary), random.words(BODY, vocabulary));
    SkillEntry {
        name: path.clone(),
        frontmatter_json: "{}".to_owned(),
        dialect: Dialect::Folder,
        root: 0,
        file_path: format!("{path}/SKILL.md"),
        path,
        description,
        priority: 0.0,
        inherit: false,
        parent: None,
        keywords: Vec::new(),
        mended: false,
        text_start: 0,
        body: 0..body.len(),
        source: Arc::from(body.into_bytes()),
        files: Vec::new(),
    }
}

/// Prints the figures; whether the goals are met.
pub(crate) fn measure() -> bool {
    let measured = [
        ("words of text", Vocabulary::Text),
        ("72 words", Vocabulary::Few),
    ]
    .map(|(what, vocabulary)| {
        println!("{SKILLS} made-up skills, {what}");
        (what, measure_one(vocabulary))
    });
    let probes = measured.iter().map(|(_, probed)| probed.fastest());
    let fastest = probes.min().expect("two of them");
    println!("requests of 4 to 15 words");
    let met = measured.map(|(what, probed)| judge(what, &probed, fastest));
    met == [true; 2]
}

fn measure_one(vocabulary: Vocabulary) -> Probed {
    let set = SkillSet {
        roots: vec![RootEntry {
            label: "made-up".to_owned(),
            scope: Scope::Project,
        }],
        skills: (0..SKILLS)
            .map(|number| skill(number, vocabulary))
            .collect(),
        ..SkillSet::default()
    };
    let started = Instant::now();
    let bytes = write(&set).expect("consistent");
    println!("  written in {:.1} s", started.elapsed().as_secs_f64());
    let bundle = Bundle::from_bytes(&bytes).expect("intact");
    for section in bundle.sections() {
        println!(
            "  {:10}{:>8} bytes a skill",
            section.name,
            section.len / SKILLS as u64
        );
    }
    let catalog = bundle.catalog().expect("intact");
    let mut random = Random(1 << 40);
    let requests: Vec<String> = (0..REQUESTS)
        .map(|_| {
            let length = 4 + usize::try_from(random.next() % 12).expect("small");
            random.words(length, vocabulary)
        })
        .collect();
    let mut probed = Probed::default();
    for request in requests.iter().cycle().take(REQUESTS * ROUNDS) {
        probed.run(|| catalog.best(request, 3).expect("intact"));
    }
    probed
}

/// Prints how long answers took; whether they met the goals, all of them taken.
/// What those with a core to themselves took tells what the machine adds.
fn judge(what: &str, probed: &Probed, fastest: Duration) -> bool {
    let all = probed.all();
    println!("  {what}: {}", shown(&all));
    match probed.alone(fastest) {
        Some((alone, share)) => println!(
            "    with a core to itself, {share} % of the time: {}",
            shown(&alone)
        ),
        None => println!("    the core was shared nearly all the time"),
    }
    is_met(&all)
}

fn is_met(sample: &Sample) -> bool {
    sample.median() <= MEDIAN && sample.percentile(99) <= P99
}

fn shown(sample: &Sample) -> String {
    let (median, p99) = (sample.median(), sample.percentile(99));
    let word = if is_met(sample) { "met" } else { "MISSED" };
    format!("median {median:.1?}, p99 {p99:.1?}, goals {MEDIAN:?} and {P99:?}: {word}")
}
