//! Which levels of isolation a system other than Linux offers: the weakest.

use super::view::Identity;
use crate::{Availability, Isolation};

/// Tries levels, the strongest first.
pub(super) fn probe(at_most: Isolation, _: bool) -> Vec<Availability> {
    let missing = |isolation| match isolation {
        Isolation::Weak if Identity::of_programs().is_other => {
            Some("scripts are not run as root; run the server as an ordinary user".to_owned())
        }
        Isolation::Weak => None,
        _ => Some("only Linux has it".to_owned()),
    };
    let levels = Isolation::ALL.into_iter().filter(|it| *it <= at_most);
    let found = levels.map(|isolation| Availability {
        isolation,
        missing: missing(isolation),
    });
    found.collect()
}
