//! Names that stay with a trace when its programs are not there any more.

use crate::support::{Place, Report, Run, heapscribe};

#[test]
fn embedded_names_are_those_of_the_files() {
    let place = Place::new();
    let program = place.compile("lines.c");
    let run = Run::new(&place, &program).options(["--embed-symbols"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let before = Report::of(&run.trace());
    before.assert_whole(&[]);
    let bundle = place.path("bundle");
    let made = heapscribe().arg("symbols").arg(run.trace()).arg("-o").arg(&bundle).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    std::fs::remove_file(program).unwrap();
    assert_eq!(Report::of(&run.trace()).json, before.json);
    // Those of a part are those of the whole; of other names there are none.
    let (part, other) = (place.path("part.hst"), place.path("other.hst"));
    for (command, to) in [("subsample", &part), ("redact", &other)] {
        let made = heapscribe().arg(command).arg(run.trace()).arg("-o").arg(to).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }
    let has_main = |report: &Report| report.json["stacks"].to_string().contains("\"main\"");
    let reports = [Report::of(&run.trace()), Report::of(&part), Report::of(&other)];
    assert_eq!(reports.each_ref().map(has_main), [true, true, false]);
}
