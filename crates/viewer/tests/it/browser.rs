//! The page in a real browser, where there is one: chromium and node.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use heapscribe_views::messages::correlation::{EachMessage, HeapActivity, HeavyMessage};

use crate::client::{serve, serve_compared, serve_marked, serve_messages};

/// The first of these programs that is there.
fn installed(names: &[&str]) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let is_there = |name: &&&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    names.iter().find(is_there).map(|name| (*name).to_owned())
}

#[test]
fn each_view_works_in_a_browser() {
    serve(|place| in_browser("each_view_works_in_a_browser", "page.mjs", &place.address()));
}

#[test]
fn a_comparison_is_undone_and_brought_back() {
    serve_compared(|place| {
        in_browser("a_comparison_is_undone_and_brought_back", "compared.mjs", &place.address());
    });
}

#[test]
fn generations_are_between_marks() {
    serve_marked(|place| in_browser("generations_are_between_marks", "marks.mjs", &place.address()));
}

#[test]
fn messages_are_ticks_in_lanes_of_their_channels() {
    let message = |channel_index, queue_index, ms: u64, allocated_bytes| {
        let did = HeapActivity { allocations: 1, allocated_bytes, ..HeapActivity::default() };
        (HeavyMessage { channel_index, queue_index, time_ns: ms * 1_000_000, did }, 96)
    };
    // Three of one step; one alone, of a channel that is not named in the log; and nine more channels.
    let mut messages: Vec<_> = (0..3).map(|n| message(0, n, 2, 1_000)).collect();
    messages.extend([message(1, 41, 5, 64), message(1, 42, 8, 0)]);
    messages.extend((2..11).map(|channel| message(channel, 0, 9, 0)));
    let channels = vec![("/<b>camera</b>".to_owned(), "frc971.Image".to_owned())];
    let each = EachMessage { messages, channels, clocks_apart_ns: None, clocks_agree: true };
    serve_messages(&each, |place| {
        in_browser("messages_are_ticks_in_lanes_of_their_channels", "messages.mjs", &place.address());
    });
}

/// Has a script of `tests/browser` look at an address.
pub(crate) fn in_browser(test: &str, script: &str, address: &str) {
    let (Some(chromium), Some(node)) = (installed(&["chromium", "chromium-browser"]), installed(&["node"]))
    else {
        skipped(test, "chromium and node are not installed");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser").join(script);
    let profile = tempfile::tempdir().unwrap();
    let run =
        Command::new(&node).arg(&script).arg(&chromium).arg(profile.path()).arg(address).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// Says that a test did nothing, where it is listed.
fn skipped(test: &str, why: &str) {
    eprintln!("skipped: {why}");
    if let Some(log) = std::env::var_os("HEAPSCRIBE_SKIPPED_LOG") {
        let mut log = File::options().append(true).create(true).open(log).unwrap();
        writeln!(log, "{test}: {why}").unwrap();
    }
}
