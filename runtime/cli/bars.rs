//! Bars that show shares: of a score, of a number of uses.

use super::display::columns;

/// How bars look.
#[derive(Clone, Copy)]
pub(crate) struct Bars {
    /// Columns of the longest.
    pub(crate) width: usize,
    /// Whether block characters can be shown, which have eighths.
    pub(crate) blocks: bool,
}

impl Bars {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

    /// A bar of this share of the longest, padded with spaces. A share above 0
    /// is always visible.
    pub(crate) fn padded(&self, share: f64) -> String {
        let parts = if self.blocks { 8 } else { 1 };
        let length = steps(share, self.width * parts);
        let mut bar = if self.blocks { "█" } else { "#" }.repeat(length / parts);
        if self.blocks {
            bar.push_str(Self::EIGHTHS[length % parts]);
        }
        let spaces = self.width - columns(&bar);
        bar + &" ".repeat(spaces)
    }
}

/// The share of `most` steps, at least one if the share is above 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a share of a few hundred, kept within them"
)]
fn steps(share: f64, most: usize) -> usize {
    if share > 0.0 {
        let steps = (share * most as f64).round() as usize;
        steps.max(1).min(most)
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share_and_what_counts_is_seen() {
        let cases = [
            (1.0, "####", "████"),
            (0.5, "##  ", "██  "),
            (0.53, "##  ", "██▏ "),
            (0.001, "#   ", "▏   "),
            (0.0, "    ", "    "),
            (-1.0, "    ", "    "),
            (7.0, "####", "████"),
            (f64::NAN, "    ", "    "),
        ];
        for (share, plain, blocks) in cases {
            let bar = |blocks| Bars { width: 4, blocks }.padded(share);
            assert_eq!((&*bar(false), &*bar(true)), (plain, blocks), "{share}");
        }
        assert_eq!(
            Bars {
                width: 0,
                blocks: true
            }
            .padded(1.0),
            ""
        );
    }
}
