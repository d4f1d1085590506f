//! Rules and programs that were not recorded: of these nothing is known, so each rule that is about them is undecided.

use heapscribe_formats::{Unrecorded, UnrecordedProgram};
use heapscribe_symbols::lossy;
use heapscribe_wire::real_time_rules::fits;

use super::judge;
use super::rule::Rule;
use super::unit::Unit;
use super::verdict::{Finding, Whose};
use crate::unrecorded::{lines, why};

/// A program that was not recorded, or all starts of one for the same reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnrecordedSubject {
    /// Its index among those that findings name.
    process: Option<usize>,
    why: String,
}

/// The programs that fit the pattern, each of which gets a name among `processes`.
pub fn subjects(
    unrecorded: &Unrecorded,
    wanted: Option<&str>,
    processes: &mut Vec<Whose>,
) -> Vec<UnrecordedSubject> {
    let chosen = fitting(unrecorded, wanted);
    let mut groups: Vec<(&UnrecordedProgram, u64)> = Vec::new();
    for program in &chosen.programs {
        let same = |first: &UnrecordedProgram| {
            (first.file_name(), first.reason) == (program.file_name(), program.reason)
        };
        match groups.iter_mut().find(|(first, _)| same(first)) {
            Some((_, count)) => *count += 1,
            None => groups.push((program, 1)),
        }
    }
    let mut subject = |(program, count): (&UnrecordedProgram, u64)| {
        let name = lossy(program.file_name());
        let name = if name.is_empty() { "program".to_owned() } else { name };
        let nth = processes.iter().filter(|other| other.program == name).count() + 1;
        processes.push(Whose { pid: program.pid, program: name, nth, begin_mono_ns: 0 });
        let times = if count == 1 { String::new() } else { format!(", {count} times") };
        let why = format!("it was not recorded{times}, because {}", why(program.reason, true));
        UnrecordedSubject { process: Some(processes.len() - 1), why }
    };
    let mut subjects: Vec<UnrecordedSubject> = groups.into_iter().map(&mut subject).collect();
    let others = Unrecorded { programs: Vec::new(), others: chosen.others };
    let of_others = |line| UnrecordedSubject { process: None, why: format!("not recorded: {line}") };
    subjects.extend(lines(&others, None).into_iter().map(of_others));
    subjects
}

/// The outcome of a rule for them.
pub fn findings(rule: &Rule, subjects: &[UnrecordedSubject]) -> Vec<Finding> {
    let unit = match rule {
        Rule::Max(limited, _) => limited.unit(),
        Rule::NoCalls(..) => Unit::Calls,
        Rule::NoFindings(_) => Unit::Findings,
        Rule::Grew(..) => return Vec::new(),
    };
    subjects.iter().map(|subject| judge::undecided(rule, subject.process, unit, &subject.why)).collect()
}

/// What is missing from a comparison, in words.
pub fn gaps(unrecorded: &Unrecorded, wanted: Option<&str>) -> Vec<String> {
    let lines = lines(&fitting(unrecorded, wanted), None);
    lines.into_iter().map(|line| format!("not recorded: {line}")).collect()
}

/// Those whose names fit. Of one without a name it is not known.
fn fitting(unrecorded: &Unrecorded, wanted: Option<&str>) -> Unrecorded {
    let mut chosen = unrecorded.clone();
    let Some(wanted) = wanted else { return chosen };
    let is_wanted =
        |program: &UnrecordedProgram| program.name.is_empty() || fits(wanted.as_bytes(), program.file_name());
    chosen.programs.retain(is_wanted);
    chosen
}

#[cfg(test)]
mod tests {
    use heapscribe_formats::UnrecordedReason;

    use super::*;

    /// Who is undecided - pid, program, which of these - and why.
    type Undecided<'a> = (Option<(u32, &'a str, usize)>, &'a str);

    fn check(wanted: Option<&str>, expected: &[Undecided<'_>]) {
        let program =
            |pid, name: &str, reason| UnrecordedProgram { pid, mono_ns: 0, reason, name: name.into() };
        let unrecorded = Unrecorded {
            programs: vec![
                program(7, "./app", UnrecordedReason::Environment),
                program(8, "/bin/app", UnrecordedReason::Environment),
                program(9, "app", UnrecordedReason::User),
                program(10, "/bin/tool", UnrecordedReason::Static),
            ],
            others: vec![(UnrecordedReason::Room, 2)],
        };
        let mut processes = vec![Whose { pid: 1, program: "app".to_owned(), nth: 1, begin_mono_ns: 5 }];
        let subjects = subjects(&unrecorded, wanted, &mut processes);
        let whose = |n: usize| (processes[n].pid, processes[n].program.as_str(), processes[n].nth);
        let found: Vec<_> = subjects.iter().map(|s| (s.process.map(whose), s.why.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn starts_of_one_program_for_one_reason_are_one_subject() {
        let app = (Some((7, "app", 2)), "it was not recorded, 2 times, because its environment was cleared");
        let others = (None, "not recorded: 2 programs, because there was no room for their sessions");
        let tool = (Some((10, "tool", 1)), "it was not recorded, because it is statically linked");
        let user = (Some((9, "app", 3)), "it was not recorded, because it runs as another user");
        check(None, &[app, user, tool, others]);
        check(Some("to*"), &[tool, others]);
    }
}
