//! Turns scores into a decision (spec 3 §5.2 and §5.3): the score of one skill, whether it reaches
//! the minimum, and whether the best one is clear.

/// Tolerance of score comparisons: scores that differ by less count as equal.
///
/// Scores are sums of short decimals and fractions, so 0.6 - 0.5 is a little under 0.1 and 0.55 -
/// 0.45 a little over. This tolerance is more than a million times the rounding error of a score,
/// and a hundredth of the smallest difference between two keyword lists of 3,000 words each.
const SAME: f64 = 1e-9;

/// The answer to a request, given its scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// No skill reaches the minimum score.
    NoMatch,
    /// The first skill is clearly the best.
    Match,
    /// The best skills, this many, score too close to each other for a clear choice.
    Ambiguous(usize),
}

/// The score of a skill: the share of its keywords that matched, plus a thousandth of its priority.
/// A priority that is not finite counts as 0.
pub fn score(matched: usize, total: u32, priority: f64) -> f64 {
    let priority = if priority.is_finite() { priority } else { 0.0 };
    // Match counts are far below 2⁵³, so the conversion is exact.
    #[expect(
        clippy::cast_precision_loss,
        reason = "positions are u32, which f64 holds exactly"
    )]
    let matched = matched as f64;
    matched / f64::from(total.max(1)) + priority * 0.001
}

/// Whether a score reaches the minimum.
///
/// Callers must pass scores of skills with a match: a priority alone is not enough.
pub fn passes(score: f64, min_score: f64) -> bool {
    score + SAME >= min_score
}

/// Decides from the scores that reach the minimum, best first.
///
/// A gap equal to the threshold is a clear match, and with a threshold of 0 nothing is ambiguous.
/// An ambiguous result has at least one candidate, even if `max_results` is 0.
pub fn decide(scores: &[f64], ambiguity_threshold: f64, max_results: u32) -> Decision {
    match scores {
        [] => Decision::NoMatch,
        [best, second, ..] if best - second + SAME < ambiguity_threshold => {
            let most = usize::try_from(max_results).unwrap_or(usize::MAX).max(1);
            Decision::Ambiguous(scores.len().min(most))
        }
        _ => Decision::Match,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_follow_the_gap_between_the_two_best() {
        use Decision::{Ambiguous, Match, NoMatch};
        let cases: &[(&[f64], f64, u32, Decision)] = &[
            (&[], 0.1, 3, NoMatch),
            (&[0.2], 0.1, 3, Match),
            (&[0.55, 0.5], 0.1, 3, Ambiguous(2)),
            (&[0.875, 0.5], 0.1, 3, Match),
            // A gap equal to the threshold is clear, regardless of rounding.
            (&[0.6, 0.5], 0.1, 3, Match),
            (&[0.55, 0.45], 0.1, 3, Match),
            (&[0.3, 0.2], 0.1, 3, Match),
            (&[1.0, 0.9], 0.1, 3, Match),
            (&[1.01, 0.91], 0.1, 3, Match),
            (&[2.0 / 3.0, 1.0 / 3.0], 1.0 / 3.0, 3, Match),
            // A gap that is really below the threshold is ambiguous.
            (&[0.6, 0.500_001], 0.1, 3, Ambiguous(2)),
            (&[0.599_999, 0.5], 0.1, 3, Ambiguous(2)),
            // Priorities decide if they are large enough.
            (&[0.5 + 0.001, 0.5], 0.1, 3, Ambiguous(2)),
            (&[0.5 + 0.1, 0.5], 0.1, 3, Match),
            // Ties, and the number of candidates.
            (&[0.5, 0.5, 0.5, 0.5], 0.1, 3, Ambiguous(3)),
            (&[0.5, 0.5, 0.5, 0.5], 0.1, 10, Ambiguous(4)),
            (&[0.5, 0.5], 0.1, 1, Ambiguous(1)),
            (&[0.5, 0.5], 0.1, 0, Ambiguous(1)),
            (&[0.5, 0.5], 0.0, 3, Match),
            (&[1.0, 0.0], 1.0, 3, Match),
        ];
        for (scores, threshold, most, expected) in cases {
            assert_eq!(
                decide(scores, *threshold, *most),
                *expected,
                "{scores:?} with {threshold}"
            );
        }
    }

    #[test]
    fn scores_are_shares_and_a_thousandth_of_the_priority() {
        let cases = [
            (2, 4, 0.0, 0.5),
            (1, 1, 10.0, 1.01),
            (7, 8, 0.0, 0.875),
            (1, 10, -50.0, 0.05),
            (1, 2, f64::NAN, 0.5),
            (1, 2, f64::INFINITY, 0.5),
        ];
        for (matched, total, priority, expected) in cases {
            let found = score(matched, total, priority);
            assert!(
                (found - expected).abs() < 1e-12,
                "{matched}/{total}, {priority}: {found}"
            );
        }
    }

    #[test]
    fn a_score_equal_to_the_least_one_passes_however_it_rounds() {
        for (matched, total, priority) in [
            (1, 5, 0.0),
            (1, 10, 100.0),
            (19, 100, 10.0),
            (3, 10, -100.0),
        ] {
            assert!(
                passes(score(matched, total, priority), 0.2),
                "{matched}/{total}, {priority}"
            );
        }
        assert!(!passes(score(1, 10, 99.999), 0.2));
        assert!(!passes(score(1, 6, 0.0), 0.2));
    }
}
