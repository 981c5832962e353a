//! Made-up skills whose words are as frequent as those of real text (Zipf's
//! law), and requests to them: how long an answer takes, and how long the
//! tables are.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skillbundle_format::{Bundle, Dialect, RootEntry, Scope, SkillEntry, SkillSet, write};

use crate::sample::Sample;

const REQUESTS: usize = 2_000;

/// How often each request is answered: for a second, so that what else runs on
/// the machine evens out.
const ROUNDS: usize = 20;

/// Distinct words of all skills: about as many as English of this length has.
const WORDS: f64 = 30_000.0;

/// The most frequent words, which are function words, are left out.
const STOPPED: f64 = 150.0;

/// Words of a body.
const BODY: usize = 450;

/// A bundle that is measured, and how fast it must answer.
struct Goal {
    skills: usize,
    vocabulary: (&'static str, Vocabulary),
    median: Duration,
    p99: Option<Duration>,
}

const GOALS: [Goal; 3] = [
    Goal {
        skills: 10_000,
        vocabulary: ("words of text", Vocabulary::Text),
        median: Duration::from_micros(40),
        p99: Some(Duration::from_micros(150)),
    },
    Goal {
        skills: 10_000,
        vocabulary: ("72 words", Vocabulary::Few),
        median: Duration::from_micros(40),
        p99: Some(Duration::from_micros(150)),
    },
    Goal {
        skills: 100_000,
        vocabulary: ("words of text", Vocabulary::Text),
        median: Duration::from_micros(400),
        p99: None,
    },
];

/// Which words the skills are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vocabulary {
    /// As many words, and as frequent, as in text.
    Text,
    /// So few words that nearly every skill holds every one.
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
        prefix: 0,
        shadowed: false,
        audience: skillbundle_format::Audience::Everyone,
        keywords: Vec::new(),
        recovered: false,
        text_start: 0,
        body: 0..body.len(),
        source: Arc::from(body.into_bytes()),
        files: Vec::new(),
        contract: None,
    }
}

/// Prints the figures; returns whether the goals are met.
pub(crate) fn measure() -> bool {
    let measured = GOALS.iter().map(|goal| {
        let (what, vocabulary) = goal.vocabulary;
        println!("{} made-up skills, {what}", goal.skills);
        let sample = measure_one(goal.skills, vocabulary);
        goal.judge(&sample)
    });
    // Every one is measured, whatever the others gave.
    measured.fold(true, |met, it| met & it)
}

fn measure_one(skills: usize, vocabulary: Vocabulary) -> Sample {
    let set = SkillSet {
        roots: vec![RootEntry {
            label: "made-up".to_owned(),
            scope: Scope::Project,
            commit: None,
        }],
        skills: (0..skills)
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
            section.len / skills as u64
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
    let mut sample = Sample::default();
    for request in requests.iter().cycle().take(REQUESTS * ROUNDS) {
        let started = Instant::now();
        black_box(catalog.best(request, 3).expect("intact"));
        sample.add(started.elapsed());
    }
    sample
}

impl Goal {
    fn judge(&self, sample: &Sample) -> bool {
        let (median, p99) = (sample.median(), sample.percentile(99));
        let met = median <= self.median && self.p99.is_none_or(|goal| p99 <= goal);
        let word = if met { "met" } else { "MISSED" };
        let goal = self
            .p99
            .map_or(String::new(), |goal| format!(" and {goal:?}"));
        println!(
            "  requests of 4 to 15 words: median {median:.1?}, p99 {p99:.1?}; goal {:?}{goal}: {word}",
            self.median
        );
        met
    }
}
