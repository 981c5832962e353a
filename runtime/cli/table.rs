//! Tables. On a terminal columns are aligned and cut until the lines fit its
//! width; in a pipe each row is one line of tab-separated fields, without a
//! heading and uncut. Every cell is escaped here. A last column can be bars.

use super::bars::Bars;
use super::display::{columns, cut, one_line};
use super::output::{Style, is_utf8};

/// Space between columns.
const GAP: usize = 2;
/// Least width of a last column that is cut, and of any other. If that does not
/// fit either, the lines are longer than the terminal.
const MIN_LAST: usize = 16;
const MIN_WIDTH: usize = 8;
/// Columns of the longest bar: longer ones tell no more. If there is no room for the least, there
/// are no bars.
const LONGEST_BAR: usize = 20;
const SHORTEST_BAR: usize = 5;

/// A table under construction.
pub(crate) struct Table {
    headings: Vec<Heading>,
    rows: Vec<Vec<String>>,
    /// A number for each row, shown as a bar beside it.
    bars: Vec<u64>,
}

struct Heading {
    title: &'static str,
    right: bool,
    /// Left out on a terminal, present in a pipe.
    hidden: bool,
}

impl Table {
    /// A table with these columns; a title that starts with `>` aligns right.
    pub(crate) fn new(titles: &[&'static str]) -> Self {
        let heading = |title: &&'static str| Heading {
            title: title.trim_start_matches('>'),
            right: title.starts_with('>'),
            hidden: false,
        };
        Self {
            headings: titles.iter().map(heading).collect(),
            rows: Vec::new(),
            bars: Vec::new(),
        }
    }

    /// Leaves a column out on a terminal, because it adds nothing there.
    pub(crate) fn hide(&mut self, title: &str) {
        for heading in &mut self.headings {
            heading.hidden |= heading.title == title;
        }
    }

    /// Adds a row of as many cells as there are columns.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        debug_assert_eq!(N, self.headings.len());
        self.rows
            .push(cells.iter().map(|cell| one_line(cell)).collect());
    }

    /// The same with a bar, whose length says how the number compares to those of the other rows.
    #[cfg(feature = "sqlite")]
    pub(crate) fn row_with_bar<const N: usize>(&mut self, cells: [&str; N], number: u64) {
        self.row(cells);
        self.bars.push(number);
    }

    /// Whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The text, each line with its line break.
    pub(crate) fn render(&self, style: Style) -> String {
        match style.width {
            Some(width) => self.aligned(width, style),
            None => self.rows.iter().map(|row| row.join("\t") + "\n").collect(),
        }
    }

    fn aligned(&self, width: usize, style: Style) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let shown: Vec<usize> = (0..self.headings.len())
            .filter(|&at| !self.headings[at].hidden)
            .collect();
        let titles: Vec<String> = self
            .headings
            .iter()
            .map(|heading| heading.title.to_owned())
            .collect();
        let mut widths: Vec<usize> = (0..titles.len())
            .map(|at| {
                self.rows
                    .iter()
                    .chain([&titles])
                    .map(|row| columns(&row[at]))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        self.shrink(&mut widths, &shown, width);
        let heading = style.bold(&self.line(&titles, &shown, &widths));
        let used: usize = shown.iter().map(|&at| widths[at] + GAP).sum();
        let room = width.saturating_sub(used).min(LONGEST_BAR);
        let rows = self.rows.iter().enumerate().map(|(at, row)| {
            let line = self.line(row, &shown, &widths);
            let bar = self.bar(at, room);
            let padding = used.saturating_sub(columns(&line));
            let line = line + &" ".repeat(padding) + &bar;
            line.trim_end().to_owned()
        });
        [heading]
            .into_iter()
            .chain(rows)
            .map(|line| line + "\n")
            .collect()
    }

    /// The bar of a row; empty if there is none, or no room for it.
    #[expect(clippy::cast_precision_loss, reason = "a bar has a few steps")]
    fn bar(&self, row: usize, room: usize) -> String {
        let most = self.bars.iter().max().copied().unwrap_or_default();
        let number = self.bars.get(row).copied().unwrap_or_default();
        if most == 0 || room < SHORTEST_BAR {
            return String::new();
        }
        let bars = Bars {
            width: room,
            blocks: is_utf8(),
        };
        bars.padded(number as f64 / most as f64)
    }

    /// Narrows the columns until a line fits: the last one first, since it holds
    /// prose, then the widest of the others. Numbers are never cut.
    fn shrink(&self, widths: &mut [usize], shown: &[usize], width: usize) {
        let Some((&last, others)) = shown.split_last() else {
            return;
        };
        let total = |widths: &[usize]| {
            let all: usize = shown.iter().map(|&at| widths[at]).sum();
            all + GAP * others.len()
        };
        let excess = total(widths).saturating_sub(width);
        if !self.headings[last].right {
            let floor = MIN_LAST.min(widths[last]);
            widths[last] = widths[last].saturating_sub(excess).max(floor);
        }
        while total(widths) > width {
            let can_shrink = |at: &&usize| !self.headings[**at].right && widths[**at] > MIN_WIDTH;
            let column = others
                .iter()
                .filter(can_shrink)
                .max_by_key(|at| widths[**at]);
            let Some(&at) = column else { return };
            widths[at] -= 1;
        }
    }

    fn line(&self, row: &[String], shown: &[usize], widths: &[usize]) -> String {
        let mut line = String::new();
        for &at in shown {
            let cell = cut(&row[at], widths[at]);
            let padding = " ".repeat(widths[at] - columns(&cell));
            let (before, after) = if self.headings[at].right {
                (&*padding, "")
            } else {
                ("", &*padding)
            };
            line.extend([before, &cell, after, "  "]);
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&["PATH", "ROOT", ">BYTES", "DESCRIPTION"]);
        table.row(["git", "project", "12", "Commit and push with care"]);
        table.row([
            "日本/メモ",
            "project",
            "1,234",
            "tabs\there\nand \u{1b}[31mcolour",
        ]);
        table
    }

    #[test]
    fn a_terminal_gets_columns_cut_to_its_width() {
        let mut table = sample();
        table.hide("ROOT");
        let expected = "\
PATH       BYTES  DESCRIPTION
git           12  Commit and push with…
日本/メモ  1,234  tabs here and \\u{1b}[…
";
        assert_eq!(
            table.render(Style {
                width: Some(40),
                color: false
            }),
            expected
        );
    }

    #[test]
    fn a_narrow_terminal_still_shows_the_start_of_the_last_column() {
        let shown = sample().render(Style {
            width: Some(10),
            color: false,
        });
        assert!(shown.contains("Commit and push…"), "{shown}");
    }

    #[test]
    fn a_wide_first_column_is_cut_too_and_numbers_never() {
        let mut table = Table::new(&["PATH", ">BYTES", "DESCRIPTION"]);
        table.row([&"deep/".repeat(12), "12,345,678", &"long ".repeat(20)]);
        for width in [60, 44] {
            let shown = table.render(Style {
                width: Some(width),
                color: false,
            });
            for line in shown.lines() {
                assert!(columns(line) <= width, "{width}: {line}");
            }
            assert!(shown.contains("12,345,678"), "{shown}");
        }
    }

    #[test]
    fn a_pipe_gets_uncut_tab_separated_fields() {
        let expected = "git\tproject\t12\tCommit and push with care\n日本/メモ\tproject\t1,234\ttabs here and \\u{1b}[31mcolour\n";
        assert_eq!(
            sample().render(Style {
                width: None,
                color: false
            }),
            expected
        );
    }

    #[test]
    fn a_heading_is_bold_only_with_colour() {
        let shown = sample().render(Style {
            width: Some(80),
            color: true,
        });
        assert!(shown.starts_with("\u{1b}[1mPATH"), "{shown:?}");
    }
}
