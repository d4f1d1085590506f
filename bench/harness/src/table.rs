//! Tables as text and as Markdown.

/// On which side of its column a cell stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A table: each row has as many cells as there are columns.
#[derive(Clone, Default, Debug)]
pub(crate) struct Table {
    columns: Vec<(String, Side)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Without rows. Columns whose name begins with `<` stand left.
    pub(crate) fn new<S: AsRef<str>>(columns: &[S]) -> Table {
        let column = |name: &str| match name.strip_prefix('<') {
            Some(name) => (name.to_owned(), Side::Left),
            None => (name.to_owned(), Side::Right),
        };
        Table { columns: columns.iter().map(|name| column(name.as_ref())).collect(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub(crate) fn row(&mut self, mut cells: Vec<String>) {
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        let width = |i: usize, name: &str| {
            let cells = self.rows.iter().map(|row| row[i].chars().count());
            cells.chain([name.chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> =
            self.columns.iter().enumerate().map(|(i, (name, _))| width(i, name)).collect();
        let names: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let line = |cells: &[String]| {
            let cells =
                cells.iter().zip(&widths).zip(&self.columns).map(|((cell, &n), (_, side))| match side {
                    Side::Left => format!("{cell:<n$}"),
                    Side::Right => format!("{cell:>n$}"),
                });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        std::iter::once(&names).chain(&self.rows).map(|cells| line(cells)).collect()
    }

    /// For a page.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            cells.fold("|".to_owned(), |line, cell| line + " " + &cell.replace('|', "\\|") + " |") + "\n"
        };
        let marks: String =
            self.columns.iter().map(|(_, side)| if *side == Side::Left { "---|" } else { "--:|" }).collect();
        let mut out = line(&mut self.columns.iter().map(|(name, _)| name.as_str()));
        out += &format!("|{marks}\n");
        for row in &self.rows {
            out += &line(&mut row.iter().map(String::as_str));
        }
        out
    }
}

/// A number with so many digits behind the point; nothing when there is none.
pub(crate) fn cell(value: Option<f64>, digits: usize) -> String {
    value.map(|value| format!("{value:.digits$}")).unwrap_or_default()
}

/// A whole number with its thousands apart.
pub(crate) fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&["<program", "<tool", "CPU s", "x"]);
        table.row(vec!["sqlite".into(), "bare".into(), cell(Some(1.234), 2), cell(None, 2)]);
        table.row(vec!["a|b".into(), "heapscribe".into(), cell(Some(12.0), 2), cell(Some(1.5), 2)]);
        table.row(vec!["short".into()]);
        table
    }

    #[test]
    fn as_text() {
        insta::assert_snapshot!(sample().text(), @"
        program  tool        CPU s     x
        sqlite   bare         1.23
        a|b      heapscribe  12.00  1.50
        short
        ");
    }

    #[test]
    fn as_markdown() {
        insta::assert_snapshot!(sample().markdown(), @r"
        | program | tool | CPU s | x |
        |---|---|--:|--:|
        | sqlite | bare | 1.23 |  |
        | a\|b | heapscribe | 12.00 | 1.50 |
        | short |  |  |  |
        ");
    }

    #[test]
    fn thousands_are_apart() {
        for (value, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(thousands(value), expected);
        }
    }
}
