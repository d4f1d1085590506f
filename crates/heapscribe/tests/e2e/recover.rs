//! `recover` where it cannot write what it has to: all of it stays in the sessions, for the next one.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::disk::Tmpfs;
use crate::kill::{printed, recovered, without_record};
use crate::support::{Place, may_mount_or_skip, until};

fn copied(from: &Path, to: &Path) {
    let mut cp = Command::new("cp");
    assert!(cp.arg("-a").args([from, to]).status().unwrap().success());
}

/// Of 700,407 events 691,959 were lost: "DIR is removed: what it held is in full/rest.hst".
#[test]
fn a_full_disk_takes_nothing_out_of_sessions() {
    if !may_mount_or_skip("mount") {
        return;
    }
    let (place, sessions) = (Place::new(), Place::new());
    let (worker, left) = without_record(&place, &sessions, 3, &[]);
    // Where `record` had nearly kept up, the rest of 18,998 calls took 44 kB.
    let before = worker.counted().calls.all();
    until("a rest larger than the disk", || worker.counted().calls.all() > before + 20_000);
    worker.kill();
    let counted = worker.counted().calls.all();
    let disk = Tmpfs::new(&place, "16k");
    let (trace, there) = (worker.run.trace(), disk.at.join("all.hst"));
    for words in [&["recover", "-o"][..], &["recover", "--rest-only", "-o"]] {
        let refused = printed(words, &[&there, &left], 1);
        assert!(refused.contains("No space left on device"), "{refused}");
        assert!(
            refused.contains(&format!("all is still in {}; write it where", left.display())),
            "{refused}"
        );
        assert!(!refused.contains("is removed") && !refused.contains("keeps running"), "{refused}");
        assert_eq!(fs::read_dir(&disk.at).unwrap().count(), 0, "a part of a trace is left");
    }
    let copy = place.path("copy");
    copied(&left, &copy);
    let (whole, said) = recovered(&place, &left, &trace, 3);
    assert!((counted - 10..counted + 100).contains(&whole.calls().all()), "{counted} {said}");
    // As if it had been killed when the trace was joined and the sessions were still there: nothing is joined twice.
    copied(&copy, &left);
    let (joined_twice, said) = recovered(&place, &left, &trace, 3);
    let figures = ["calls", "allocations", "frees", "bytes_allocated", "peak", "leaked", "dropped"];
    for figure in figures {
        assert_eq!(joined_twice.json[figure], whole.json[figure], "{figure}: {said}");
    }
    for (place, words) in [(&*left, " is not there"), (Path::new("/dev/null/x"), " is not there")] {
        let refused = printed(&["recover", "-o"], &[&there, place], 1);
        assert!(
            refused.contains(words) && refused.contains("it may have been recovered already"),
            "{refused}"
        );
    }
}
