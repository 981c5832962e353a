//! Damaged bundles: no flipped bit, cut or appended byte is ever served. Each
//! question must be refused or answered as the undamaged bundle answers it.

use skillbundle_format::{Bundle, SkillSet, write};

use super::answers::{Answer, Questions};
use crate::project::{Project, say};

/// Opens damaged bytes and asks everything. True if the damage was noticed at
/// open, false if it was noticed later; anything else panics.
fn refused(bytes: &[u8], questions: &Questions, good: &[Answer], what: &str) -> bool {
    let Ok(bundle) = Bundle::from_bytes(bytes) else {
        return true;
    };
    assert!(
        bundle.verify().is_err(),
        "{what}: full verification accepts it"
    );
    let answers = questions.ask(&bundle);
    let served = answers.iter().filter_map(|a| a.as_ref().ok());
    // An error may end a run of questions early, so answers are compared in order
    // with every question that the good bundle was asked.
    let mut rest = good.iter().filter_map(|a| a.as_ref().ok());
    for answer in served {
        assert!(
            rest.any(|g| g == answer),
            "{what}: a wrong answer was served: {}",
            answer.escape_ascii()
        );
    }
    false
}

/// Both dialects, inheritance, a file of each kind: and no more, since every bit
/// of it is flipped.
fn small_set() -> SkillSet {
    let project = Project::new();
    project
        .file("_root.md", ROOT)
        .file("_root/house.css", "a { color: red }\n")
        .file("ui/sign_in.md", SIGN_IN)
        .file("ui/sign_in/run.sh", "echo run\n")
        .file("review/SKILL.md", REVIEW)
        .file("review/references/a.md", "# A\n")
        .file("review/data.bin", (0..=255_u8).collect::<Vec<_>>());
    project.compile(&["."]).set
}

const ROOT: &str = "---\ndescription: Rules for all\nkeywords: [rules]\n\
    assets:\n  - file: house.css\n---\nKeep it short.\n";

const SIGN_IN: &str = "---\ndescription: Signs in\nkeywords: [sign in, login]\npriority: 2\n\
    scripts:\n  - file: run.sh\n    args:\n      - name: user\n---\nAsk for the user.\n";

const REVIEW: &str = "---\nname: review\ndescription: Reads a change and says what is wrong\n---\n\
    # Review\n\nRead the tests first.\n";

/// Large enough for a section of each kind, among them a file that compresses.
fn large_set() -> SkillSet {
    let project = Project::from_fixture("tree");
    for n in 0..60 {
        let folder = format!("team-{}/skill-{n}", n % 7);
        project.file(
            &format!("{folder}/SKILL.md"),
            format!(
                "---\nname: skill-{n}\ndescription: Number {n} of many\n---\n{}",
                format!("Line of skill {n}.\n").repeat(40),
            ),
        );
        project.file(
            &format!("{folder}/notes.txt"),
            format!("notes {n}\n").repeat(300),
        );
    }
    project.file(
        "team-0/skill-0/big.txt",
        "all the same line\n".repeat(12_000),
    );
    project.compile(&["."]).set
}

#[test]
fn every_single_bit_flip_is_refused() {
    let set = small_set();
    let bytes = write(&set).expect("writes");
    let questions = Questions::of(&set);
    let good = questions.ask(&Bundle::from_bytes(&bytes).expect("opens"));
    let (at_open, later) = in_two_halves(bytes.len() * 8, |bits| {
        let mut damaged = bytes.clone();
        let mut at_open = 0;
        for bit in bits.clone() {
            damaged[bit / 8] ^= 1 << (bit % 8);
            let what = format!("byte {} of {}, bit {}", bit / 8, bytes.len(), bit % 8);
            at_open += usize::from(refused(&damaged, &questions, &good, &what));
            damaged[bit / 8] ^= 1 << (bit % 8);
        }
        (at_open, bits.len() - at_open)
    });
    assert!(
        (6_000..=16_000).contains(&bytes.len()),
        "{} bytes are not a small bundle",
        bytes.len()
    );
    say(&format!(
        "{} bytes, {} flips: {at_open} refused at open, {later} when read, 0 served",
        bytes.len(),
        bytes.len() * 8
    ));
}

#[test]
fn random_flips_of_a_larger_bundle_are_refused() {
    const FLIPS: usize = 20_000;
    let set = large_set();
    let bytes = write(&set).expect("writes");
    let questions = Questions::of(&set);
    let good = questions.ask(&Bundle::from_bytes(&bytes).expect("opens"));
    let mut random = Random(0x5eed);
    let bits: Vec<usize> = (0..FLIPS).map(|_| random.below(bytes.len() * 8)).collect();
    let (at_open, later) = in_two_halves(FLIPS, |range| {
        let mut damaged = bytes.clone();
        let mut at_open = 0;
        for &bit in &bits[range.clone()] {
            damaged[bit / 8] ^= 1 << (bit % 8);
            let what = format!("byte {} of {}, bit {}", bit / 8, bytes.len(), bit % 8);
            let early = match Bundle::from_bytes(&damaged) {
                Err(_) => true,
                Ok(bundle) => {
                    assert!(
                        bundle.verify().is_err(),
                        "{what}: full verification accepts it"
                    );
                    false
                }
            };
            // Asking everything of so large a bundle is slow: one flip in a hundred.
            if !early && bit % 100 == 0 {
                refused(&damaged, &questions, &good, &what);
            }
            at_open += usize::from(early);
            damaged[bit / 8] ^= 1 << (bit % 8);
        }
        (at_open, range.len() - at_open)
    });
    say(&format!(
        "{} bytes, {FLIPS} random flips: {at_open} refused at open, {later} when read, 0 served",
        bytes.len()
    ));
}

#[test]
fn every_truncation_is_refused_at_open() {
    let bytes = write(&small_set()).expect("writes");
    for length in 0..bytes.len() {
        assert!(
            Bundle::from_bytes(&bytes[..length]).is_err(),
            "cut to {length} bytes, it opens"
        );
    }
}

#[test]
fn every_appended_tail_is_refused_at_open() {
    let bytes = write(&small_set()).expect("writes");
    for length in (1..=64).chain([4096, 65_536]) {
        for fill in [0, b'\n', 0xff] {
            let mut longer = bytes.clone();
            longer.resize(bytes.len() + length, fill);
            assert!(
                Bundle::from_bytes(&longer).is_err(),
                "with {length} bytes of {fill} it opens"
            );
        }
    }
    let twice = [&bytes[..], &bytes[..]].concat();
    assert!(
        Bundle::from_bytes(&twice).is_err(),
        "two bundles in one file open"
    );
}

#[test]
fn swapped_pages_and_zeroed_runs_are_refused() {
    let set = large_set();
    let bytes = write(&set).expect("writes");
    let questions = Questions::of(&set);
    let good = questions.ask(&Bundle::from_bytes(&bytes).expect("opens"));
    let mut random = Random(7);
    for round in 0..400 {
        let mut damaged = bytes.clone();
        let length = 1 + random.below(4096);
        let (from, to) = (
            random.below(bytes.len() - length),
            random.below(bytes.len() - length),
        );
        if round % 2 == 0 {
            damaged[to..to + length].fill(0);
        } else {
            damaged.copy_within(from..from + length, to);
        }
        if damaged != bytes {
            let what = format!("{length} bytes at {to} overwritten");
            if round < 40 {
                refused(&damaged, &questions, &good, &what);
            } else if let Ok(bundle) = Bundle::from_bytes(&damaged) {
                assert!(
                    bundle.verify().is_err(),
                    "{what}: full verification accepts it"
                );
            }
        }
    }
}

#[test]
fn noise_is_never_a_bundle() {
    let mut random = Random(99);
    for length in [0, 1, 7, 8, 15, 16, 63, 64, 65, 128, 256, 4096] {
        for _ in 0..200 {
            let bytes: Vec<u8> = (0..length)
                .map(|_| random.next().to_le_bytes()[3])
                .collect();
            assert!(
                Bundle::from_bytes(&bytes).is_err(),
                "noise opens: {bytes:?}"
            );
        }
    }
}

/// Works on both halves of `0..count` at the same time and adds up the counts.
fn in_two_halves(
    count: usize,
    work: impl Fn(std::ops::Range<usize>) -> (usize, usize) + Sync,
) -> (usize, usize) {
    std::thread::scope(|scope| {
        let first = scope.spawn(|| work(0..count / 2));
        let second = work(count / 2..count);
        let first = first.join().expect("the first half found no fault");
        (first.0 + second.0, first.1 + second.1)
    })
}

/// A small generator (`splitmix64`), so that a failure repeats.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("below a usize")
    }
}
