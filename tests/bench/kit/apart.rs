//! How well confidence tells requests to a small tree from those to others. In
//! a small tree every word is rare, so that this is hardest there.

use crate::figures::{Goal, print_goal};
use crate::labelled::Tree;
use crate::systems::OURS;

/// Trees with fewer skills are small.
const SMALL: usize = 10;

/// Of a small tree: how often one of its own requests gets more confidence than
/// one that another tree's skills are right for (AUC; a tie is half). Prints it
/// for each; whether the goals are met.
pub(crate) fn measure(trees: &[Tree]) -> bool {
    let mut met = true;
    for tree in trees.iter().filter(|it| it.skills.skills.len() < SMALL) {
        let (own, others): (Vec<_>, Vec<_>) = OURS.with(&tree.skills, |ask| {
            let requests = trees
                .iter()
                .flat_map(|of| of.requests.iter().map(move |it| (of, it)));
            requests
                .filter(|(_, request)| request.label == "pos")
                .map(|(of, request)| (of.name == tree.name, ask(&request.text).confidence))
                .partition(|(is_own, _)| *is_own)
        });
        let confidences = |all: Vec<(bool, f64)>| all.into_iter().map(|it| it.1).collect();
        if let Some(found) = area(confidences(own), confidences(others)) {
            let name = format!("AUC of {}", tree.name);
            met &= print_goal(&name, found, &Goal::AtLeast(0.98));
        }
    }
    met
}

/// The share of pairs of both in which the one is greater.
fn area(ones: Vec<f64>, mut others: Vec<f64>) -> Option<f64> {
    others.sort_by(f64::total_cmp);
    let (mut halves, pairs) = (0, ones.len() * others.len());
    for one in ones {
        halves += others.partition_point(|other| *other < one);
        halves += others.partition_point(|other| *other <= one);
    }
    #[expect(clippy::cast_precision_loss, reason = "some thousand requests")]
    (pairs > 0).then(|| halves as f64 / (2 * pairs) as f64)
}
