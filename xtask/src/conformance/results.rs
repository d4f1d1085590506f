//! What memtrace's reader says of damaged files, as `RESULTS.txt` has it.
//!
//! ```text
//!   == NAME.ctf (BYTES bytes)
//!      dump    rc=3 events=2834 stderr:  # EXN malformed trace: Monotone alloc IDs
//!      dump -n rc=0 events=8591          the same without stacks
//! ```
//! or, in place of the two lines, the whole dump.

/// What is said of a file.
#[derive(Default)]
pub(super) struct Result {
    pub(super) name: String,
    pub(super) runs: Vec<Run>,
    /// The whole dump, when it is there.
    pub(super) text: String,
}

/// What came of a run of the reader.
pub(super) struct Run {
    pub(super) with_stacks: bool,
    pub(super) events: usize,
    /// Why it stopped, in its words.
    pub(super) exception: Option<String>,
    /// Whether it passed over a packet that the file ends within.
    pub(super) skipped_truncated: bool,
}

pub(super) fn parse(text: &str) -> Vec<Result> {
    let mut results: Vec<Result> = Vec::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("== ") {
            let name = head.split(' ').next().unwrap_or_default().to_owned();
            results.push(Result { name, ..Result::default() });
        } else if let Some(result) = results.last_mut() {
            match run(line) {
                Some(run) => result.runs.push(run),
                None => result.text += &format!("{line}\n"),
            }
        }
    }
    results
}

fn run(line: &str) -> Option<Run> {
    let rest = line.trim_start().strip_prefix("dump ")?.trim_start();
    let with_stacks = !rest.starts_with("-n ");
    let events = rest.split("events=").nth(1)?.split(' ').next()?.parse().ok()?;
    Some(Run {
        with_stacks,
        events,
        exception: rest.split("# EXN ").nth(1).map(str::to_owned),
        skipped_truncated: rest.contains("skipping truncated packet"),
    })
}

/// In our words what memtrace's reader says in its own; several where ours looks closer.
const WORDS: &[(&str, &[&str])] = &[
    ("Monotone alloc IDs", &["object numbers go back"]),
    ("alloc id sync", &["the packet ends at object", "bad packet size"]),
    ("invalid location code", &["invalid location code"]),
    ("cache verification", &["cache of locations is not as"]),
    ("monotone timestamps", &["the domain's time goes back"]),
    ("time in packet bounds", &["event time out of its packet's bounds"]),
    ("Not a CTF packet", &["not a CTF packet", "bad packet size"]),
    ("Assertion failed", &["empty place of the table of names"]),
    ("Bad packet size", &["bad packet size"]),
    ("Buffer underflow", &["the file ends within the header"]),
    ("trace format v004", &["trace format v004"]),
    ("trace info packet size", &["the first packet is cut"]),
    ("Unknown event code 50", &["unknown event code 50"]),
];

/// Whether our message is about what memtrace's exception is about, and says where.
pub(super) fn is_same_refusal(exception: &str, message: &str) -> bool {
    let known = WORDS.iter().find(|(theirs, _)| exception.contains(theirs));
    message.contains(" byte ") && known.is_some_and(|(_, ours)| ours.iter().any(|our| message.contains(our)))
}
