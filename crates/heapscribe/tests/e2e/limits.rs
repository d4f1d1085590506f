//! A program that uses nearly all of what it may have does so when it is recorded, too.

use crate::support::{Place, Report, Run};

/// The whole of the program's output, bare and recorded, in a shell that sets a limit.
fn check(script: &str) -> (Report, String) {
    let place = Place::new();
    let program = place.compile("near_limits.c");
    let script = script.replace("PROGRAM", program.to_str().unwrap());
    let run = Run::new(&place, "sh").args(["-c", &script]);
    let plain = run.plain();
    assert_eq!(plain.code, 0, "without us: {}", plain.stdout);
    let recorded = run.recorded();
    assert_eq!((recorded.code, &recorded.stdout), (0, &plain.stdout), "{}", recorded.stderr);
    (Report::of(&run.trace()), plain.stdout)
}

/// 172 MiB of 195: the files of the session had a tenth of the address space.
#[test]
fn address_space() {
    let (report, _) = check("ulimit -v 200000; exec PROGRAM space 172");
    assert!(report.dropped("live_table") > 0, "{:?}", report.reasons());
}

/// The table of live blocks grows with the heap, by mappings that would be the program's last.
#[test]
fn mappings() {
    let (report, output) = check("exec PROGRAM mappings");
    if output != "no limit\n" {
        assert!(report.dropped("live_table") > 0, "{:?}", report.reasons());
    }
}
