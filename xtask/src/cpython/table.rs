//! The table of a Python: a line for each module.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use super::recorded::Trace;

/// What came of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Each test came to the same.
    Same,
    /// A test differs, and the list says why that cannot be otherwise.
    Explained,
    Differs,
    /// It does not end in time plain.
    Unusable,
}

const VERDICTS: [(Verdict, &str); 4] = [
    (Verdict::Same, "same"),
    (Verdict::Explained, "explained"),
    (Verdict::Differs, "differs"),
    (Verdict::Unusable, "unusable"),
];

/// A line of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub(super) module: String,
    pub(super) verdict: Verdict,
    /// How many tests it has, skipped ones among them.
    pub(super) tests: usize,
    /// What the recorder says of itself.
    pub(super) trace: Trace,
    pub(super) remark: String,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict =
            VERDICTS.iter().find(|(verdict, _)| *verdict == self.verdict).map_or("", |(_, name)| name);
        let Trace { allocations, native, frames } = &self.trace;
        let remark: String = self.remark.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        write!(f, "{}\t{verdict}\t{}\t{allocations}\t{native}\t{frames}\t{remark}", self.module, self.tests)
    }
}

impl Row {
    fn parse(line: &str) -> Option<Row> {
        let parts: [&str; 7] = line.splitn(7, '\t').collect::<Vec<_>>().try_into().ok()?;
        let [module, verdict, tests, allocations, native, frames, remark] = parts;
        let verdict = VERDICTS.iter().find(|(_, name)| *name == verdict)?.0;
        let trace = Trace {
            allocations: allocations.parse().ok()?,
            native: native.parse().ok()?,
            frames: frames.to_owned(),
        };
        let (module, remark) = (module.to_owned(), remark.to_owned());
        Some(Row { module, verdict, tests: tests.parse().ok()?, trace, remark })
    }
}

/// The table, and where it is kept.
pub(super) struct Table {
    path: Option<PathBuf>,
    rows: Vec<Row>,
}

const HEAD: &str = "module\tresult\ttests\tallocations\tnative stacks\tframes read\tremark\n";

impl Table {
    /// Reads what is there already; without a path the table is kept nowhere.
    pub(super) fn read(path: Option<PathBuf>) -> Result<Table, String> {
        let mut rows = Vec::new();
        if let Some(path) = path.as_ref().filter(|path| path.exists()) {
            let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
            for (i, line) in text.lines().enumerate().skip(1) {
                let row = Row::parse(line).ok_or_else(|| format!("{}:{}: no row", path.display(), i + 1))?;
                rows.push(row);
            }
        }
        Ok(Table { path, rows })
    }

    /// Whether the module was tried already.
    pub(super) fn has(&self, module: &str) -> bool {
        self.rows.iter().any(|row| row.module == module && row.verdict != Verdict::Unusable)
    }

    /// Puts the row in the place of the one that the module had.
    pub(super) fn put(&mut self, row: Row) {
        self.rows.retain(|other| other.module != row.module);
        self.rows.push(row);
        self.rows.sort_by(|a, b| a.module.cmp(&b.module));
    }

    pub(super) fn write(&self) -> Result<(), String> {
        let Some(path) = &self.path else { return Ok(()) };
        let lines = self.rows.iter().map(|row| format!("{row}\n"));
        let text: String = std::iter::once(HEAD.to_owned()).chain(lines).collect();
        let directory = path.parent().unwrap_or(path);
        fs::create_dir_all(directory)
            .and_then(|()| fs::write(path, text))
            .map_err(|e| format!("{}: {e}", path.display()))
    }

    /// How many rows differ without a reason.
    pub(super) fn differing(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict == Verdict::Differs).count()
    }

    /// The sums.
    pub(super) fn summary(&self) -> String {
        let count = |verdict| self.rows.iter().filter(|row| row.verdict == verdict).count();
        let counts = VERDICTS.iter().map(|(verdict, name)| (count(*verdict), name));
        let counts: Vec<_> = counts.filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}")).collect();
        let tests: usize = self.rows.iter().map(|row| row.tests).sum();
        let allocations: u64 = self.rows.iter().map(|row| row.trace.allocations).sum();
        let native: u64 = self.rows.iter().map(|row| row.trace.native).sum();
        format!(
            "{} modules with {tests} tests: {}; {allocations} allocations, {native} of them without frames",
            self.rows.len(),
            counts.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(module: &str, verdict: Verdict) -> Row {
        let trace = Trace { allocations: 40, native: 2, frames: "yes".to_owned() };
        Row { module: module.to_owned(), verdict, tests: 3, trace, remark: "a\tb".to_owned() }
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let written = row("test_a", Verdict::Differs).to_string();
        assert_eq!(written, "test_a\tdiffers\t3\t40\t2\tyes\ta b");
        assert_eq!(Row::parse(&written).unwrap().to_string(), written);
        assert_eq!(Row::parse("test_a\tperhaps\t3\t40\t2\tyes\t"), None);
    }

    #[test]
    fn a_module_has_one_row() {
        let mut table = Table { path: None, rows: Vec::new() };
        for (module, verdict) in
            [("test_b", Verdict::Differs), ("test_a", Verdict::Unusable), ("test_b", Verdict::Same)]
        {
            table.put(row(module, verdict));
        }
        table.put(row("test_c", Verdict::Differs));
        assert_eq!(table.differing(), 1);
        assert!(table.has("test_b") && !table.has("test_a"));
        assert_eq!(
            table.summary(),
            "3 modules with 9 tests: 1 same, 1 differs, 1 unusable; 120 allocations, 6 of them without frames"
        );
    }
}
