//! Programs that were started and not recorded, in words: what is not in a trace must not pass for nothing.

use heapscribe_formats::{Unrecorded, UnrecordedProgram, UnrecordedReason};
use heapscribe_symbols::lossy;
use heapscribe_units::{count, counted};

/// Programs of one reason that are named.
const NAMES_SHOWN: usize = 3;

/// Why a program, or several, were not recorded: `its environment was cleared`.
pub fn why(reason: UnrecordedReason, is_one: bool) -> &'static str {
    let [one, several] = match reason {
        UnrecordedReason::Environment => ["its environment was cleared", "their environment was cleared"],
        UnrecordedReason::Preload => [
            "LD_PRELOAD of its environment lacks the recorder",
            "LD_PRELOAD of their environment lacks the recorder",
        ],
        UnrecordedReason::User => ["it runs as another user", "they run as another user"],
        UnrecordedReason::Hidden => [
            "a sandbox or chroot hides the recording from it, or makes it read-only",
            "a sandbox or chroot hides the recording from them, or makes it read-only",
        ],
        UnrecordedReason::Removed => ["the session directory was removed"; 2],
        UnrecordedReason::Descriptors => {
            ["it had no free file descriptor", "they had no free file descriptor"]
        }
        UnrecordedReason::Architecture => {
            ["it is not a 64-bit x86 program", "they are not 64-bit x86 programs"]
        }
        UnrecordedReason::Static => ["it is statically linked", "they are statically linked"],
        UnrecordedReason::Privileged => [
            "it has more rights than its caller (setuid)",
            "they have more rights than their callers (setuid)",
        ],
        UnrecordedReason::Room => {
            ["there was no room for its session", "there was no room for their sessions"]
        }
        UnrecordedReason::OwnHeap => ["it contains its own heap", "they contain their own heaps"],
        UnrecordedReason::Sanitizer => ["it is built with a sanitizer", "they are built with a sanitizer"],
        UnrecordedReason::Other => ["its session could not be made", "their sessions could not be made"],
    };
    if is_one { one } else { several }
}

/// `1 program, because its environment was cleared: 32544 ./app`: a line for each reason. With `of`, how many were
/// recorded besides: `1 of 2 programs`.
pub fn lines(unrecorded: &Unrecorded, of: Option<u64>) -> Vec<String> {
    let line = |reason: UnrecordedReason| {
        let programs: Vec<_> = unrecorded.programs.iter().filter(|p| p.reason == reason).collect();
        let others = unrecorded.others.iter().filter(|(of, _)| *of == reason).map(|(_, count)| *count);
        let n = others.fold(0, u64::saturating_add).saturating_add(programs.len() as u64);
        let which = match of {
            Some(recorded) => {
                format!("{} of {}", count(n), counted(recorded + unrecorded.count(), "program"))
            }
            None => counted(n, "program"),
        };
        format!("{which}, because {}{}", why(reason, n == 1), names(&programs, n))
    };
    reasons(unrecorded).into_iter().map(line).collect()
}

/// The reasons that there are, in the order of the programs.
fn reasons(unrecorded: &Unrecorded) -> Vec<UnrecordedReason> {
    let of_programs = unrecorded.programs.iter().map(|program| program.reason);
    let mut reasons = Vec::new();
    for reason in of_programs.chain(unrecorded.others.iter().map(|(reason, _)| *reason)) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}

/// `: 32544 ./app, /bin/tool (300 times) and 7 more`.
fn names(programs: &[&UnrecordedProgram], all: u64) -> String {
    let mut starts: Vec<(&UnrecordedProgram, u64)> = Vec::new();
    for program in programs {
        match starts.iter_mut().find(|(first, _)| first.name == program.name && !first.name.is_empty()) {
            Some((_, count)) => *count += 1,
            None => starts.push((program, 1)),
        }
    }
    starts.truncate(NAMES_SHOWN);
    let shown: Vec<String> = starts.iter().map(|(program, count)| name(program, *count)).collect();
    match all.saturating_sub(starts.iter().map(|(_, count)| count).sum()) {
        _ if shown.is_empty() => String::new(),
        0 => format!(": {}", shown.join(", ")),
        more => format!(": {} and {} more", shown.join(", "), count(more)),
    }
}

/// `32544 ./app`, or `./app (3 times)`.
fn name(program: &UnrecordedProgram, times: u64) -> String {
    let name = lossy(&program.name);
    match times {
        1 => format!("{} {name}", program.pid).trim_end().to_owned(),
        _ => format!("{name} ({} times)", count(times)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(pid: u32, reason: UnrecordedReason, name: &str) -> UnrecordedProgram {
        UnrecordedProgram { pid, mono_ns: 0, reason, name: name.into() }
    }

    #[test]
    fn each_reason_has_a_line() {
        let mut some = Unrecorded {
            programs: vec![
                program(7, UnrecordedReason::Environment, "./app"),
                program(8, UnrecordedReason::User, "/bin/a"),
                program(9, UnrecordedReason::User, ""),
            ],
            others: Vec::new(),
        };
        some.add_others(UnrecordedReason::Static, 2);
        let expected = [
            "1 of 8 programs, because its environment was cleared: 7 ./app",
            "2 of 8 programs, because they run as another user: 8 /bin/a, 9",
            "2 of 8 programs, because they are statically linked",
        ];
        assert_eq!(lines(&some, Some(3)), expected);
        some.programs.extend((10..1010).map(|pid| program(pid, UnrecordedReason::Other, "/bin/true")));
        some.programs.push(program(2000, UnrecordedReason::Other, "/bin/date"));
        let many = "their sessions could not be made: /bin/true (1,000 times), 2000 /bin/date";
        assert_eq!(lines(&some, None)[2], format!("1,001 programs, because {many}"));
        some.add_others(UnrecordedReason::Environment, 4);
        let first = "5 programs, because their environment was cleared: 7 ./app and 4 more";
        assert_eq!(lines(&some, None)[0], first);
    }
}
