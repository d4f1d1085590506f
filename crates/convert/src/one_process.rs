//! The process that a format has room for: one image, of a trace that may have many. A pid may have been several, by exec.

use heapscribe_diagnostics::Problem;
use heapscribe_formats::{Process, Source, Trace};
use heapscribe_wire::real_time_rules::fits;

/// Images left out that are named one by one.
const NAMED_MAX: usize = 3;

/// What somebody asks for; nothing is any.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneProcess<'a> {
    /// Its pid.
    pub pid: Option<u32>,
    /// The file name of its program, with `*` and `?`.
    pub program: Option<&'a str>,
}

/// The image that fits, of several the one with most events, and in words which were left out for it.
///
/// # Errors
/// When none fits.
pub fn choose<'t, S: Source>(
    trace: &'t Trace<S>,
    asked: OneProcess<'_>,
) -> Result<(&'t Process, Option<String>), Problem> {
    let fitting = trace.processes().iter().filter(|process| is_meant(process, asked));
    let mut fitting: Vec<_> = fitting.map(|process| (process, events(trace, process))).collect();
    fitting.sort_by_key(|(process, events)| (std::cmp::Reverse(*events), std::cmp::Reverse(process.index)));
    let Some(((process, events), others)) = fitting.split_first() else {
        let hint = "list the processes with `heapscribe report TRACE --full`";
        return Err(Problem::new("there is no such process in the trace", hint));
    };
    if others.is_empty() {
        return Ok((process, None));
    }
    let mut left: Vec<_> = others.iter().take(NAMED_MAX).map(|(other, n)| describe(other, *n)).collect();
    if others.len() > NAMED_MAX {
        left.push(format!("{} more", others.len() - NAMED_MAX));
    }
    let of = describe(process, *events);
    Ok((process, Some(format!("converted {of}; left out: {}; --pid and --process choose", left.join(", ")))))
}

fn is_meant(process: &Process, asked: OneProcess<'_>) -> bool {
    let pid = process.info.as_ref().map(|info| info.pid);
    let is_named = |name: &str| fits(name.as_bytes(), program(process));
    asked.pid.is_none_or(|asked| pid == Some(asked)) && asked.program.is_none_or(is_named)
}

fn program(process: &Process) -> &[u8] {
    let exe = process.info.as_ref().map_or(&[][..], |info| &info.exe);
    exe.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

fn events<S: Source>(trace: &Trace<S>, process: &Process) -> u64 {
    let chunks = trace.chunks().iter().filter(|chunk| chunk.process == process.index);
    chunks.map(|chunk| u64::from(chunk.sums.events)).sum()
}

fn describe(process: &Process, events: u64) -> String {
    let pid = process.info.as_ref().map_or(0, |info| info.pid);
    let events = heapscribe_units::counted(events, "event");
    format!("{pid} {} ({events})", String::from_utf8_lossy(program(process)))
}

#[cfg(test)]
mod tests {
    use heapscribe_formats::{ChunkInfo, ProcessInfo, SessionInfo, Writer};
    use heapscribe_wire::ids::StackId;
    use heapscribe_wire::limits::EVENT_BYTES_MAX;
    use heapscribe_wire::record::{Call, Event};

    use super::*;

    /// A shell that execs python, under one pid, and a process of another.
    fn images() -> Vec<u8> {
        let (mut writer, mut trace) = (Writer::new(), Vec::new());
        writer.start(&SessionInfo::default(), &mut trace);
        for (pid, exe, events) in [(5, "/bin/sh", 1), (5, "/usr/bin/python3", 3), (6, "/bin/ls", 2)] {
            let info = ProcessInfo { pid, exe: exe.into(), ..ProcessInfo::default() };
            let process = writer.process(&info, &mut trace);
            let event =
                Event::Alloc { call: Call::Malloc, size_bytes: 8, stack: StackId::UNKNOWN, align_log2: 0 };
            let mut at = [0; EVENT_BYTES_MAX];
            let n = event.encode(1, &mut at);
            let chunk = ChunkInfo { thread: 1, begin_ticks: 100, ..ChunkInfo::default() };
            writer.events(process, &chunk, &at[..n].repeat(events), &mut trace);
        }
        writer.finish(&mut trace);
        trace
    }

    fn check(asked: OneProcess<'_>, expected: Result<(&str, Option<&str>), ()>) {
        let trace = Trace::open(images()).unwrap();
        let found = choose(&trace, asked).map_err(|_| ());
        let found = found
            .map(|(process, left_out)| (String::from_utf8_lossy(program(process)).into_owned(), left_out));
        assert_eq!(
            found,
            expected.map(|(name, left)| (name.to_owned(), left.map(str::to_owned))),
            "{asked:?}"
        );
    }

    #[test]
    fn of_two_images_of_a_pid_one_is_chosen_and_the_other_named() {
        let one = |pid, program| OneProcess { pid, program };
        let left = "converted 5 python3 (3 events); left out: 5 sh (1 event); --pid and --process choose";
        check(one(Some(5), None), Ok(("python3", Some(left))));
        check(one(Some(5), Some("s?")), Ok(("sh", None)));
        check(one(None, Some("ls")), Ok(("ls", None)));
        let left = "converted 5 python3 (3 events); left out: 6 ls (2 events), 5 sh (1 event); --pid and --process choose";
        check(OneProcess::default(), Ok(("python3", Some(left))));
        check(one(Some(7), None), Err(()));
    }
}
