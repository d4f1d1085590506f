//! `top`, driven in a terminal of 80 columns and 24 lines.

use std::process::{Child, Command, Stdio};

use crate::support::{Place, has, heapscribe, skip, until};

/// A recorded program that holds blocks until its input ends.
struct Holds {
    record: Child,
    program: &'static str,
    session_dir: std::path::PathBuf,
    place: Place,
}

impl Holds {
    /// One with 100 blocks of 100,000 bytes and 500 of 100.
    fn start() -> Holds {
        Holds::start_program("holds")
    }

    fn start_program(program: &'static str) -> Holds {
        Holds::start_with(program, &[])
    }

    fn start_with(program: &'static str, options: &[&str]) -> Holds {
        let place = Place::new();
        let session_dir = place.path("sessions");
        std::fs::create_dir(&session_dir).unwrap();
        let mut record = heapscribe();
        record.args(["record", "-q", "-o"]).arg(place.path("run.hst")).arg("--session-dir").arg(&session_dir);
        record
            .args(options)
            .arg("--")
            .arg(place.compile(&format!("{program}.c")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut record = record.spawn().unwrap();
        let mut said = [0; 6];
        std::io::Read::read_exact(record.stdout.as_mut().unwrap(), &mut said).unwrap();
        assert_eq!(&said, b"holds\n");
        Holds { record, program, session_dir, place }
    }

    fn top(&self) -> Command {
        let mut top = heapscribe();
        top.args(["top", self.program, "--interval", "100ms", "--session-dir"]).arg(&self.session_dir);
        top
    }

    fn end(mut self) {
        drop(self.record.stdin.take());
        assert!(self.record.wait().unwrap().success());
    }
}

/// A line of the screen with the live bytes and the number of blocks of a row.
fn has_row(screen: &str, live: &str, blocks: &str, what: &str) -> bool {
    screen.lines().any(|line| {
        let mut words = line.split_whitespace();
        line.contains(what) && line.trim_start().starts_with(live) && words.any(|word| word == blocks)
    })
}

#[test]
fn one_screen_for_scripts() {
    let holds = Holds::start();
    let output = holds.top().args(["--once", "--pages"]).output().unwrap();
    let screen = String::from_utf8(output.stdout).unwrap();
    assert!(screen.starts_with("holds ("), "{screen}{}", String::from_utf8_lossy(&output.stderr));
    let memory = screen.lines().find(|line| line.starts_with("resident "));
    assert!(
        memory.is_some_and(|line| line.contains(" MiB: live ") && line.contains(", recorder ")),
        "{screen}"
    );
    assert!(screen.contains("\nfree in the heap: "), "{screen}");
    assert!(has_row(&screen, "9.54 MiB", "100", "hold_large holds.c:8 < main"), "{screen}");
    assert!(has_row(&screen, "48.8 KiB", "500", "hold_small holds.c:12 < main"), "{screen}");
    holds.end();
}

/// 100 blocks of 100,000 bytes and 500 of 100, of which samples hit every tenth or so: what was recorded is not what
/// is live.
#[test]
fn samples_are_not_taken_for_blocks() {
    let holds = Holds::start_with("holds", &["--sample", "1MiB", "--sample-seed", "3"]);
    let of = |args: &[&str]| {
        let mut command = heapscribe();
        let output = command.args(args).arg("--session-dir").arg(&holds.session_dir).output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        out + &err
    };
    let rows: serde_json::Value = serde_json::from_str(&of(&["ps", "--json"])).unwrap();
    let row = &rows.as_array().unwrap()[0];
    let [low, high] = ["bytes_low", "bytes_high"].map(|end| row["live_estimate"][end].as_u64().unwrap());
    assert!(row["live_bytes"].as_u64().unwrap() < low, "{row}");
    assert!((low..=high).contains(&10_050_000), "{row}");
    let table = of(&["ps"]);
    assert!(table.contains(" \u{2248}") && table.contains(" \u{2265}"), "{table}");
    let file = holds.place.path("now.hst");
    let said = of(&["snapshot", "holds", "-o", file.to_str().unwrap()]);
    assert!(said.contains("blocks \u{b1}") && said.contains("estimated from"), "{said}");
    let screen = String::from_utf8(holds.top().arg("--once").output().unwrap().stdout).unwrap();
    assert!(
        screen.contains("live \u{2248} ") && screen.contains("per second: \u{2248} 0 B allocated"),
        "{screen}"
    );
    holds.end();
}

#[test]
fn two_calls_in_one_function_are_two_rows_and_do_not_grow() {
    let holds = Holds::start_program("two_calls");
    let output = holds.top().arg("--once").output().unwrap();
    let screen = String::from_utf8(output.stdout).unwrap();
    let growth_of = |place: &str| {
        let row = screen.lines().find(|line| line.contains(place)).unwrap_or_else(|| panic!("{screen}"));
        let columns: Vec<_> = row.split_whitespace().collect();
        columns[5].to_owned() // 4.00 MiB 97.7 % 1 -
    };
    assert_eq!(["hold_both two_calls.c:8", "hold_both two_calls.c:9"].map(growth_of), ["-", "-"], "{screen}");
    holds.end();
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let holds = Holds::start();
    let output = holds.top().stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("standard output is not a terminal") && said.contains("--once"), "{said}");
    holds.end();
}

struct Tmux {
    socket: std::path::PathBuf,
}

impl Tmux {
    fn command(&self, args: &[&str]) -> String {
        let output = Command::new("tmux").arg("-S").arg(&self.socket).args(args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.command(&["capture-pane", "-p"])
    }

    fn shows(&self, what: &str, holds: impl Fn(&str) -> bool) {
        until(what, || holds(&self.screen()));
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.command(&["kill-server"]);
    }
}

#[test]
fn a_terminal_is_driven() {
    if !has("tmux") {
        skip("tmux is not there");
        return;
    }
    let holds = Holds::start();
    let tmux = Tmux { socket: holds.place.path("tmux") };
    let top = holds.top();
    let words: Vec<_> = std::iter::once(top.get_program()).chain(top.get_args()).collect();
    let line = words.iter().map(|word| format!("'{}'", word.to_str().unwrap())).collect::<Vec<_>>().join(" ");
    // Until the terminal is closed: `sleep` outlives that where SIGHUP is ignored, as under nohup.
    let shell = format!("{line}; echo ended with $?; read -r _");
    tmux.command(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", &shell]);
    tmux.shows("stacks", |s| has_row(s, "9.54 MiB", "100", "hold_large holds.c:8 < main"));
    tmux.command(&["send-keys", "n"]);
    tmux.shows("most blocks first", |s| {
        let rows: Vec<_> = s.lines().filter(|line| line.contains("< main")).collect();
        rows.first().is_some_and(|line| line.contains("hold_small")) && s.contains("BLOCKS*")
    });
    tmux.command(&["send-keys", "f"]);
    tmux.shows("functions", |s| {
        s.contains("FUNCTION AND ALL BELOW IT") && has_row(s, "48.8 KiB", "500", " hold_small")
    });
    tmux.command(&["send-keys", "s"]);
    tmux.command(&["send-keys", "/"]);
    tmux.command(&["send-keys", "-l", "hold_small"]);
    tmux.command(&["send-keys", "Enter"]);
    tmux.shows("a filter", |s| s.contains("[hold_small]") && !s.contains("hold_large"));
    tmux.command(&["send-keys", "Enter"]);
    tmux.shows("a stack", |s| s.contains("innermost call first") && s.contains("holds.c:"));
    tmux.command(&["send-keys", "q"]);
    tmux.shows("the shell again", |s| s.contains("ended with 0"));
    drop(tmux); // its socket goes with the place, and nobody could end it after that
    holds.end();
}
