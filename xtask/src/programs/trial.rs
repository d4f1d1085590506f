//! A program bare and in every mode: what came of it.

use std::time::Duration;

use super::answer::{Answer, End};
use super::list::Program;
use super::packages;
use super::scratch::{Before, Scratch};
use super::table::{Outcome, Row};

/// A mode: its name, and what `heapscribe` is told before `-- COMMAND`.
struct Mode {
    name: &'static str,
    arguments: &'static [&'static str],
}

const MODES: [Mode; 5] = [
    Mode { name: "full", arguments: &["record", "-q", "-o", "{trace}"] },
    Mode {
        name: "sample",
        arguments: &["record", "-q", "--sample", "16KiB", "--sample-seed", "1", "-o", "{trace}"],
    },
    Mode { name: "ring", arguments: &["record", "-q", "--ring", "4MiB", "-o", "{trace}"] },
    Mode { name: "latency", arguments: &["record", "-q", "--latency", "-o", "{trace}"] },
    Mode { name: "tlsf", arguments: &["run", "--heap", "tlsf"] },
];

/// How often the bare program runs before anything is compared, and how often at most: what was the same
/// twice by chance is found so.
const BARE_RUNS: (usize, usize) = (2, 5);
/// How often a mode runs that differs.
const RUNS: usize = 3;
/// How long a program may take when it is bare, if its list does not say.
const SECONDS: u64 = 60;
/// Slower than this is worth a word: so many times, and so much more.
const SLOW: (u32, Duration) = (10, Duration::from_secs(3));
/// What begins a line that `heapscribe` wrote.
const OWN_WORDS: [&str; 4] = ["heapscribe: ", "hint: ", "warning: ", "error: "];

/// Runs it in all modes.
pub(super) fn run(scratch: &Scratch, program: &Program) -> Vec<Row> {
    let rows = |outcome: Outcome, remark: &str| {
        let row = |mode: &Mode| Row::new(program, mode.name, outcome, remark);
        MODES.iter().map(row).collect()
    };
    if let Some(missing) = packages::missing(program) {
        return rows(Outcome::Absent, &missing);
    }
    let bares = match scratch.prepare(program).and_then(|()| bare(scratch, program)) {
        Ok(bares) => bares,
        Err(why) => return rows(Outcome::Unusable, &why),
    };
    let mut trial = Trial { scratch, program, bares };
    MODES.iter().map(|mode| trial.compare(mode)).collect()
}

/// The answers of the bare program.
fn bare(scratch: &Scratch, program: &Program) -> Result<Vec<Answer>, String> {
    let mut bares = Vec::new();
    for _ in 0..BARE_RUNS.0 {
        bares.push(run_bare(scratch, program)?);
    }
    let first = &bares[0];
    if first.end != End::Code(program.code) {
        let said = String::from_utf8_lossy(&first.stderr);
        let said = said.lines().last().or(Some("no word")).unwrap_or_default();
        return Err(format!("bare it ends with {:?}: {said}", first.end));
    }
    Ok(bares)
}

fn run_bare(scratch: &Scratch, program: &Program) -> Result<Answer, String> {
    let limit = Duration::from_secs(program.seconds.unwrap_or(SECONDS));
    scratch.run(program, &Before::Nothing, limit).map_err(|e| format!("it can not be run: {e}"))
}

struct Trial<'a> {
    scratch: &'a Scratch,
    program: &'a Program,
    bares: Vec<Answer>,
}

impl Trial<'_> {
    fn compare(&mut self, mode: &Mode) -> Row {
        let (mut runs, mut differed) = (0, Vec::new());
        loop {
            let mut answer = match self.run(mode) {
                Ok(answer) => answer,
                Err(why) => return Row::new(self.program, mode.name, Outcome::Unusable, &why),
            };
            answer.stderr = self.without_own_words(&answer.stderr);
            runs += 1;
            let mut comparison = answer.compare(&self.bares);
            while !comparison.differences.is_empty() && self.bares.len() < BARE_RUNS.1 {
                let Ok(bare) = run_bare(self.scratch, self.program) else { break };
                self.bares.push(bare);
                comparison = answer.compare(&self.bares);
            }
            let is_late = answer.end == End::TimedOut;
            if comparison.differences.is_empty() && differed.is_empty() {
                return self.same(mode, &answer, &comparison.forms);
            }
            if !comparison.differences.is_empty() {
                differed.push(comparison.differences.join("; "));
            }
            if runs == RUNS || is_late {
                return self.differs(mode, &differed, runs);
            }
        }
    }

    fn run(&self, mode: &Mode) -> Result<Answer, String> {
        let bare = self.bares.iter().map(|bare| bare.took).max().unwrap_or_default();
        let limit = Duration::from_secs(self.program.seconds.unwrap_or(SECONDS)) + 20 * bare;
        self.scratch
            .run(self.program, &Before::Heapscribe(mode.arguments), limit)
            .map_err(|e| format!("it can not be run: {e}"))
    }

    /// What the program wrote; `heapscribe` has its own words for what it could not record.
    fn without_own_words(&self, stderr: &[u8]) -> Vec<u8> {
        let lines = stderr.split_inclusive(|&byte| byte == b'\n');
        let is_own = |line: &[u8]| {
            OWN_WORDS.iter().any(|word| line.starts_with(word.as_bytes()))
                && !self.bares.iter().any(|bare| bare.stderr.windows(line.len()).any(|part| part == line))
        };
        lines.filter(|line| !is_own(line)).flatten().copied().collect()
    }

    fn same(&self, mode: &Mode, answer: &Answer, forms: &[String]) -> Row {
        let bare = self.bares.iter().map(|bare| bare.took).max().unwrap_or_default();
        let mut remarks = forms.to_vec();
        if answer.took > SLOW.0 * bare + SLOW.1 {
            let seconds = |took: Duration| format!("{:.1} s", took.as_secs_f64());
            remarks.push(format!("slow: {}, bare {}", seconds(answer.took), seconds(bare)));
        }
        Row::new(self.program, mode.name, Outcome::Same, &remarks.join("; "))
    }

    fn differs(&self, mode: &Mode, differed: &[String], runs: usize) -> Row {
        let often = if differed.len() < runs {
            format!("{} of {runs} runs: ", differed.len())
        } else {
            String::new()
        };
        let what = format!("{often}{}", differed[0]);
        match self.program.reason(mode.name) {
            Some(reason) => {
                Row::new(self.program, mode.name, Outcome::Explained, &format!("{what}. Why: {reason}"))
            }
            None => Row::new(self.program, mode.name, Outcome::Differs, &what),
        }
    }
}
