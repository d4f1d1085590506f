//! Files of both tools, what is wrong with a file, and files of chance.

use proptest::prelude::*;

use super::{is_dhat, is_massif, read_dhat, read_massif};
use crate::profile::{CallNumber, Frame, Profile};

/// Stacks, outermost first, with their bytes at the peak.
fn peak(profile: &Profile) -> Vec<(String, u64)> {
    let name = |frame: &Frame| match frame {
        Frame::Named(lines) => format!("{}@{}:{}", lines[0].function, lines[0].file, lines[0].line),
        Frame::Address { .. } => String::new(),
    };
    let stack = |mut call: CallNumber| {
        let mut names = Vec::new();
        while call != CallNumber::ROOT {
            let node = profile.calls[call.0 as usize];
            names.insert(0, name(&profile.frames[node.frame.0 as usize]));
            call = node.parent;
        }
        names.join(";")
    };
    profile.stacks.iter().map(|of| (stack(of.call), of.at_peak.bytes)).collect()
}

const MASSIF: &str = "desc: --massif-out-file=m\ncmd: ./p -x\ntime_unit: i\n#-----------\nsnapshot=0\n#-----------\n\
time=0\nmem_heap_B=90\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\n\
n0: 90 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n#-----------\nsnapshot=1\n#-----------\n\
time=9\nmem_heap_B=100\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=peak\n\
n2: 100 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n n2: 80 0x10: make(int) (p.c:5)\n  \
n0: 50 0x20: main (p.c:9)\n  n0: 20 0x30: ??? (in /lib/q.so)\n n0: 20 in 3 places, all below massif's threshold (1.00%)\n";

#[test]
fn massifs_tree_becomes_stacks_with_what_is_their_own() {
    let profile = read_massif(MASSIF.as_bytes()).unwrap();
    let expected = [
        ("main@p.c:9;make(int)@p.c:5", 50),
        ("0x30@/lib/q.so:0;make(int)@p.c:5", 20),
        ("make(int)@p.c:5", 10),
        ("[in 3 places, all below massif's threshold]@:0", 20),
    ];
    let mut found = peak(&profile);
    found.sort();
    let mut expected: Vec<_> = expected.map(|(stack, bytes)| (stack.to_owned(), bytes)).to_vec();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!((profile.about.whole.at_peak.bytes, profile.about.command.as_str()), (100, "./p -x"));
    assert!(!profile.about.known.at_peak.blocks && !profile.about.known.live.is_any());
}

#[test]
fn what_is_wrong_with_massifs_file_is_said_with_its_line() {
    let error = |text: &str| read_massif(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(error("desc: x\n"), "no moment of which it says who held the heap in line 1");
    assert_eq!(error("desc: x\nmem_heap_B=x\n"), "no number of bytes in line 2");
    let tree = |lines: &str| error(&format!("desc: x\nsnapshot=0\nmem_heap_B=5\nheap_tree=peak\n{lines}"));
    assert_eq!(
        tree("n1: 5 (x) y\n n0: 6 0x1: f (g)\n"),
        "a caller with more bytes than the call has in line 6"
    );
    assert_eq!(tree("n1: 5 (x) y\n   n0: 6 0x1: f (g)\n"), "no line of a tree in line 6");
    assert_eq!(
        tree("n2: 5 (x) y\n n0: 1 0x1: f (g)\n"),
        "it is cut before the end of the first tree, at byte 77"
    );
    assert_eq!(error("desc: x\nheap_tree=peak\n"), "a tree of a moment without a number of bytes in line 2");
}

/// But for the end of a moment, where massif may have ended, too, there is no place where a cut is not seen.
#[test]
fn a_cut_file_of_massif_is_told_from_a_whole_one() {
    let ends: Vec<usize> = [MASSIF.find("#-----------\nsnapshot=1").unwrap(), MASSIF.len()].into();
    let first_tree = ends[0];
    for at in "desc:".len()..=MASSIF.len() {
        let problems = match read_massif(&MASSIF.as_bytes()[..at]) {
            Ok(profile) => profile.about.problems,
            Err(_) if at < first_tree => continue,
            Err(error) => panic!("cut at {at}: {error}"),
        };
        // A line of dashes between two moments may be whole or missing.
        let is_between = at == ends[0] + "#-----------\n".len();
        let expected = format!("the file is cut at byte {at}, in line ");
        match problems.first() {
            None => assert!(ends.contains(&at) || is_between, "cut at {at} and not seen"),
            Some(problem) => assert!(problem.starts_with(&expected), "cut at {at}: {problem}"),
        }
    }
    let cut = read_massif(&MASSIF.as_bytes()[..MASSIF.find("n2: 80").unwrap()]).unwrap();
    assert_eq!((cut.about.whole.at_peak.bytes, cut.about.heap_max_bytes), (90, 100));
}

#[test]
fn massif_has_a_curve_and_may_count_pages() {
    let about = read_massif(MASSIF.as_bytes()).unwrap().about;
    assert_eq!((about.curve, about.curve_unit.as_str()), (vec![(0, 90), (9, 100)], "i"));
    assert!(!about.counts_pages);
    let pages = MASSIF.replace(
        "(heap allocation functions) malloc/new/new[]",
        "(page allocation syscalls) mmap/mremap/brk",
    );
    assert!(read_massif(pages.as_bytes()).unwrap().about.counts_pages);
}

const DHAT: &str = r#"{"dhatFileVersion":2,"mode":"heap","verb":"Allocated","cmd":"./p","te":9,
"pps":[{"tb":100,"tbk":5,"tl":1,"gb":60,"gbk":3,"eb":20,"ebk":1,"rb":0,"fs":[1,2]},
{"tb":7,"tbk":1,"tl":1,"gb":0,"gbk":0,"eb":0,"ebk":0,"rb":0,"fs":[1]}],
"ftbl":["[root]","0x10: malloc (in /v.so)","0x20: main (p.c:9)"]}"#;

#[test]
fn dhats_points_are_stacks() {
    let profile = read_dhat(DHAT.as_bytes()).unwrap();
    let whole = profile.about.whole;
    assert_eq!((whole.allocated.blocks, whole.allocated.bytes), (6, 107));
    assert_eq!((whole.at_peak.bytes, whole.live.bytes, whole.live.blocks), (60, 20, 1));
    let mut found = peak(&profile);
    found.sort();
    assert_eq!(found, [("main@p.c:9;malloc@/v.so:0".to_owned(), 60), ("malloc@/v.so:0".to_owned(), 0)]);
}

#[test]
fn what_is_wrong_with_dhats_file_is_said_with_its_line() {
    let error = |text: &str| read_dhat(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(error(&DHAT.replace("[1,2]", "[1,9]")), "no frame 9 (point 1) in line 1");
    assert_eq!(
        error(&DHAT.replace("Version\":2", "Version\":3")),
        "a file of DHAT's version 3, where 2 is known, in line 1"
    );
    assert_eq!(
        error(&DHAT.replace("\"heap\"", "\"copy\"")),
        "a profile of mode \"copy\", not of a heap, in line 1"
    );
    assert_eq!(error(&DHAT[..200]), "EOF while parsing an object in line 3");
    let huge = DHAT.replace("\"tb\":100", "\"tb\":18446744073709551615");
    assert_eq!(error(&huge), "the sum of all bytes is beyond 2^62 (point 1) in line 1");
}

proptest! {
    #[test]
    fn changed_bytes_end(at in any::<prop::sample::Index>(), with in any::<u8>(), is_massif_file in any::<bool>()) {
        let mut file = if is_massif_file { MASSIF } else { DHAT }.as_bytes().to_vec();
        prop_assert!(is_massif(&file) == is_massif_file && is_dhat(&file) != is_massif_file);
        let at = at.index(file.len());
        file[at] = with;
        let read = if is_massif_file { read_massif(&file) } else { read_dhat(&file) };
        if let Ok(profile) = read {
            prop_assert!(profile.calls.iter().skip(1).enumerate().all(|(n, call)| call.parent.0 as usize <= n));
        }
    }

    #[test]
    fn any_tree_ends(lines in prop::collection::vec((0_usize..4, 0_u64..3, 0_u64..9), 0..12)) {
        let mut file = "desc: x\nsnapshot=0\nmem_heap_B=9\nheap_tree=peak\n".to_owned();
        for (depth, callers, bytes) in lines {
            file += &format!("{:depth$}n{callers}: {bytes} 0x1: f (g.c:1)\n", "");
        }
        if let Ok(profile) = read_massif(file.as_bytes()) {
            prop_assert_eq!(profile.stacks.iter().map(|of| of.at_peak.bytes).sum::<u64>(), profile.about.whole.at_peak.bytes);
        }
    }
}
