//! Rows of text for people or for pipes. A terminal gets aligned columns cut
//! to its width; a pipe gets one row a line, fields parted by a tab, no
//! heading, nothing cut. Cells are made safe here, whatever they hold.

use super::output::Look;
use super::text::{columns, cut, one_line};

/// Space between columns.
const GAP: usize = 2;
/// A last column narrower than this tells nothing; the line is then longer
/// than the terminal instead.
const NARROWEST: usize = 16;

/// A table under construction.
pub(crate) struct Table {
    headings: Vec<Heading>,
    rows: Vec<Vec<String>>,
}

struct Heading {
    title: &'static str,
    right: bool,
    /// Left out on a terminal; a pipe has it all the same.
    hidden: bool,
}

impl Table {
    /// A table with these columns; a title that starts with `>` is set flush right.
    pub(crate) fn new(titles: &[&'static str]) -> Self {
        let heading = |title: &&'static str| Heading {
            title: title.trim_start_matches('>'),
            right: title.starts_with('>'),
            hidden: false,
        };
        Self {
            headings: titles.iter().map(heading).collect(),
            rows: Vec::new(),
        }
    }

    /// Leaves a column out on a terminal, where it would tell nothing.
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

    /// Whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The text, each line with its line break.
    pub(crate) fn render(&self, look: Look) -> String {
        match look.width {
            Some(width) => self.aligned(width, look),
            None => self.rows.iter().map(|row| row.join("\t") + "\n").collect(),
        }
    }

    fn aligned(&self, width: usize, look: Look) -> String {
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
        if let Some((&last, others)) = shown.split_last() {
            let taken: usize = others.iter().map(|&at| widths[at] + GAP).sum();
            widths[last] = widths[last].min(width.saturating_sub(taken).max(NARROWEST));
        }
        let heading = look.bold(&self.line(&titles, &shown, &widths));
        let rows = self.rows.iter().map(|row| self.line(row, &shown, &widths));
        [heading]
            .into_iter()
            .chain(rows)
            .map(|line| line + "\n")
            .collect()
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
            table.render(Look {
                width: Some(40),
                color: false
            }),
            expected
        );
    }

    #[test]
    fn a_narrow_terminal_still_shows_the_start_of_the_last_column() {
        let shown = sample().render(Look {
            width: Some(10),
            color: false,
        });
        assert!(shown.contains("Commit and push…"), "{shown}");
    }

    #[test]
    fn a_pipe_gets_whole_fields_parted_by_tabs() {
        let expected = "git\tproject\t12\tCommit and push with care\n日本/メモ\tproject\t1,234\ttabs here and \\u{1b}[31mcolour\n";
        assert_eq!(
            sample().render(Look {
                width: None,
                color: false
            }),
            expected
        );
    }

    #[test]
    fn a_heading_is_bold_only_with_colour() {
        let shown = sample().render(Look {
            width: Some(80),
            color: true,
        });
        assert!(shown.starts_with("\u{1b}[1mPATH"), "{shown:?}");
    }
}
