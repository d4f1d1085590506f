//! What a program inherits is what it inherits without us: signals, descriptors, limits, the environment in its
//! order, process group, session, terminal, timers. A C program sets something unusual, starts itself bare and
//! under each command, and writes down what it found.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Ended, Place, Started, heapscribe};

/// The commands under which a program must find what it finds without them.
const UNDER: [&[&str]; 4] = [
    &["record", "-q", "--force", "-o", "TRACE", "--"],
    &["record", "-q", "--force", "--sample", "64KiB", "-o", "TRACE", "--"],
    &["record", "-q", "--force", "--heap", "tlsf", "-o", "TRACE", "--"],
    &["run", "--heap", "tlsf", "--"],
];

struct Inheritance {
    place: Place,
    program: PathBuf,
}

impl Inheritance {
    fn new() -> Inheritance {
        let place = Place::new();
        let program = place.compile("inheritance.c");
        Inheritance { place, program }
    }

    fn cases(&self) -> Vec<String> {
        let listed = Command::new(&self.program).output().unwrap();
        String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// What the program finds in a case, below these words.
    fn found(&self, case: &str, under: &[OsString]) -> String {
        let shown = self.place.path("shown");
        let _ = fs::remove_file(&shown);
        let mut command = Command::new(&self.program);
        command.arg("set").arg(case).args(under).arg(&self.program).arg("show").arg(&shown).arg("GROUPS");
        let ended = Started::new(command, &self.place, "shows").wait();
        assert_eq!(ended.code, 0, "{case} under {under:?}: {ended:?}");
        fs::read_to_string(&shown).unwrap()
    }

    /// The words of a command.
    fn command(&self, words: &[&str]) -> Vec<OsString> {
        let trace = self.place.path("run.hst");
        let words =
            words.iter().map(|&word| if word == "TRACE" { trace.as_os_str() } else { OsStr::new(word) });
        [heapscribe().get_program()].into_iter().chain(words).map(OsStr::to_owned).collect()
    }
}

#[test]
fn a_program_inherits_what_it_inherits_without_us() {
    let all = Inheritance::new();
    let cases = all.cases();
    assert!(cases.len() > 20, "{cases:?}");
    let nothing = all.found("nothing", &[]);
    for case in &cases {
        let bare = all.found(case, &[]);
        assert_eq!(bare == nothing, case == "nothing", "{case} sets nothing");
        for under in UNDER {
            similar(case, under, &bare, &all.found(case, &all.command(under)));
        }
    }
}

/// Fails with the lines that differ.
#[track_caller]
fn similar(case: &str, under: &[&str], bare: &str, found: &str) {
    let only = |these: &str, those: &str| -> Vec<String> {
        these.lines().filter(|line| !those.lines().any(|other| other == *line)).map(str::to_owned).collect()
    };
    assert!(
        bare == found,
        "{case} under {under:?}: bare {:?}, else {:?}",
        only(bare, found),
        only(found, bare)
    );
}

/// A program and its exit code without us and under each command.
fn ends_alike(place: &Place, command: &[&Path], expected: i32) {
    let run = |under: &[OsString]| -> Ended {
        let words: Vec<&OsStr> = under
            .iter()
            .map(OsString::as_os_str)
            .chain(command.iter().map(|word| word.as_os_str()))
            .collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        Started::new(command, place, "ends").wait()
    };
    let bare = run(&["env".into()]);
    assert_eq!(bare.code, expected, "{bare:?}");
    for under in UNDER {
        let trace = place.path("run.hst").into_os_string();
        let words = under.iter().map(|&word| if word == "TRACE" { trace.clone() } else { word.into() });
        let words: Vec<_> = [heapscribe().get_program().to_owned()].into_iter().chain(words).collect();
        let ended = run(&words);
        assert_eq!((ended.code, &ended.stdout), (bare.code, &bare.stdout), "{under:?}: {ended:?}");
    }
}

/// As `execvp` does it, and so every shell.
#[test]
fn a_script_without_an_interpreter_line_is_the_shells() {
    let place = Place::new();
    let write = |name: &str, bytes: &[u8], mode| {
        let path = place.path(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let word = Path::new("a word");
    ends_alike(&place, &[&write("script", b"echo \"$1\"; exit 7\n", 0o755), word], 7);
    ends_alike(&place, &[&write("empty", b"", 0o755)], 0);
    ends_alike(&place, &[&write("unset", b"echo 1\n", 0o644)], 126);
    ends_alike(&place, &[&write("bad", b"#!/no/such/interpreter\n", 0o755)], 127);
    ends_alike(&place, &[&place.path("missing")], 127);
}
