//! The table of results: a line for each program and mode, in the order in which they were tried.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::list::Program;

/// What came of a program in a mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// As without us.
    Same,
    Differs,
    /// It differs, and the list says why that can not be otherwise.
    Explained,
    /// A package is not there.
    Absent,
    /// It does not run as its line in the list says, bare.
    Unusable,
}

const OUTCOMES: [(Outcome, &str); 5] = [
    (Outcome::Same, "same"),
    (Outcome::Differs, "differs"),
    (Outcome::Explained, "explained"),
    (Outcome::Absent, "absent"),
    (Outcome::Unusable, "unusable"),
];

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = OUTCOMES.iter().find(|(outcome, _)| outcome == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

/// A line of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Row {
    program: String,
    mode: String,
    outcome: Outcome,
    remark: String,
}

impl Row {
    pub(super) fn new(program: &Program, mode: &str, outcome: Outcome, remark: &str) -> Row {
        let is_plain = |c: char| if c.is_control() { ' ' } else { c };
        let remark = remark.chars().map(is_plain).collect();
        Row { program: program.name.clone(), mode: mode.to_owned(), outcome, remark }
    }

    pub(super) fn is_failure(&self) -> bool {
        matches!(self.outcome, Outcome::Differs | Outcome::Unusable)
    }

    fn parse(line: &str) -> Option<Row> {
        let [program, mode, outcome, remark] = line.splitn(4, '\t').collect::<Vec<_>>().try_into().ok()?;
        let outcome = OUTCOMES.iter().find(|(_, name)| *name == outcome)?.0;
        Some(Row { program: program.to_owned(), mode: mode.to_owned(), outcome, remark: remark.to_owned() })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\t{}\t{}\t{}", self.program, self.mode, self.outcome, self.remark)
    }
}

/// The table, and where it is kept.
pub(super) struct Table {
    path: Option<PathBuf>,
    rows: Vec<Row>,
}

impl Table {
    /// Reads what is there already; without a path the table is kept nowhere.
    pub(super) fn read(path: Option<&Path>) -> Result<Table, String> {
        let mut rows = Vec::new();
        if let Some(path) = path.filter(|path| path.exists()) {
            let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
            for (i, line) in text.lines().enumerate().skip(1) {
                let row = Row::parse(line).ok_or_else(|| format!("{}:{}: no row", path.display(), i + 1))?;
                rows.push(row);
            }
        }
        Ok(Table { path: path.map(Path::to_owned), rows })
    }

    /// Whether the program was tried already. What was absent or unusable then may run now.
    pub(super) fn has(&self, program: &Program) -> bool {
        let mut rows = self.rows.iter().filter(|row| row.program == program.name).peekable();
        rows.peek().is_some() && rows.all(|row| !matches!(row.outcome, Outcome::Absent | Outcome::Unusable))
    }

    /// Puts rows in the place of those that the program had.
    pub(super) fn put(&mut self, program: &Program, rows: Vec<Row>) {
        let at = self.rows.iter().position(|row| row.program == program.name);
        self.rows.retain(|row| row.program != program.name);
        let at = at.unwrap_or(self.rows.len());
        self.rows.splice(at..at, rows);
    }

    pub(super) fn write(&self) -> Result<(), String> {
        let Some(path) = &self.path else { return Ok(()) };
        let lines = self.rows.iter().map(|row| format!("{row}\n"));
        let text: String =
            std::iter::once("program\tmode\tresult\tremark\n".to_owned()).chain(lines).collect();
        fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// How many of each outcome.
    pub(super) fn summary(&self) -> String {
        let count = |outcome| self.rows.iter().filter(|row| row.outcome == outcome).count();
        let counts = OUTCOMES.iter().map(|(outcome, name)| (count(*outcome), name));
        let counts: Vec<_> = counts.filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}")).collect();
        format!("{} runs: {}", self.rows.len(), counts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let program = Program { name: "ls".to_owned(), ..Program::default() };
        let row = Row::new(&program, "ring", Outcome::Differs, "a\tb\nc");
        assert_eq!(row.to_string(), "ls\tring\tdiffers\ta b c");
        assert_eq!(Row::parse(&row.to_string()), Some(row));
        assert_eq!(Row::parse("ls\tring\tperhaps\t"), None);
    }

    #[test]
    fn a_program_keeps_its_place() {
        let [a, b] = ["a", "b"].map(|name| Program { name: name.to_owned(), ..Program::default() });
        let mut table = Table { path: None, rows: Vec::new() };
        table.put(&a, vec![Row::new(&a, "full", Outcome::Absent, "")]);
        table.put(&b, vec![Row::new(&b, "full", Outcome::Same, "")]);
        assert!(!table.has(&a) && table.has(&b));
        table.put(
            &a,
            vec![Row::new(&a, "full", Outcome::Same, ""), Row::new(&a, "ring", Outcome::Differs, "")],
        );
        let rows: Vec<_> = table.rows.iter().map(|row| (row.program.as_str(), row.mode.as_str())).collect();
        assert_eq!(rows, [("a", "full"), ("a", "ring"), ("b", "full")]);
        assert_eq!(table.summary(), "3 runs: 2 same, 1 differs");
    }
}
