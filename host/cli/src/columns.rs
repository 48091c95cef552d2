//! Aligned columns, as kubectl prints them.

use std::io::{self, Write};

/// Rows of cells under a header.
#[derive(Debug)]
pub(crate) struct Columns<const N: usize> {
    rows: Vec<[String; N]>,
}

// === impl Columns ===

impl<const N: usize> Columns<N> {
    /// Columns with these names, and no rows yet.
    pub(crate) fn new(header: [&str; N]) -> Self {
        Self { rows: vec![header.map(str::to_owned)] }
    }

    /// Adds a row; an empty cell is shown as `-`.
    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| if cell.is_empty() { "-".to_owned() } else { cell }));
    }

    /// Prints all: each column as wide as its widest cell, three spaces between, nothing after the last.
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = |at: usize| self.rows.iter().map(|row| row[at].chars().count()).max().unwrap_or_default();
        let widths: [usize; N] = std::array::from_fn(width);
        for row in &self.rows {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            writeln!(out, "{}", cells.collect::<Vec<_>>().join("   ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut columns = Columns::new(["NAME", "REASON"]);
        columns.row(["a".into(), String::new()]);
        columns.row(["größer".into(), "two words".into()]);
        let mut out = Vec::new();
        columns.print(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "NAME     REASON\na        -\ngrößer   two words\n");
    }
}
