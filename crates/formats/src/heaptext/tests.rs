//! The text of each writer, what is wrong with a file, and files of chance.

use proptest::prelude::*;

use super::{is_begin, read};
use crate::profile::{Frame, Origin, Profile, Rate, Sum};

fn text(lines: &str) -> Profile {
    read(lines.as_bytes()).unwrap()
}

fn sums(profile: &Profile) -> Vec<(u64, u64, u64, u64)> {
    let of = |live: Sum, all: Sum| (live.blocks, live.bytes, all.blocks, all.bytes);
    profile.stacks.iter().map(|stack| of(stack.live, stack.allocated)).collect()
}

const TCMALLOC: &str = "heap profile:     43:    52288 [   143:    57288] @ heapprofile
    40:    40000 [    40:    40000] @ 0x55c17798a152 0x55c17798a18a
     3:    12288 [     3:    12288] @ 0x55c17798a152 0x55c17798a1d6
     0:        0 [   100:     5000] @ 0x55c17798a152 0x55c17798a207

MAPPED_LIBRARIES:
55c177989000-55c17798a000 r--p 00000000 00:00 10912242    /tmp/a program
55c17798a000-55c17798b000 r-xp 00001000 00:00 10912242    /tmp/a program
7ffd10000000-7ffd10021000 rw-p 00000000 00:00 0    [stack]
";

#[test]
fn gperftools_counts_each_block() {
    let profile = text(TCMALLOC);
    assert_eq!(sums(&profile), [(40, 40000, 40, 40000), (3, 12288, 3, 12288), (0, 0, 100, 5000)]);
    assert_eq!(profile.about.rate, Rate::Exact);
    assert_eq!(profile.about.problems, Vec::<String>::new());
    let Frame::Address { module: Some(module), address, is_return_address } = &profile.frames[1] else {
        panic!("the frame lies in the program")
    };
    assert_eq!((module.path.as_str(), *address, *is_return_address), ("/tmp/a program", 0x1152, true));
}

#[test]
fn jemalloc_counts_by_stack_and_thread() {
    let profile = text(
        "heap_v2/1\n  t*: 3: 96 [0: 0]\n  t0: 3: 96 [0: 0]\n@ 0x10 0x20\n  t*: 2: 64 [0: 0]\n  t0: 2: 64 [0: 0]\n\
         @ 0x20\n  t*: 1: 32 [0: 0]\n\nMAPPED_LIBRARIES:\n",
    );
    assert_eq!(sums(&profile), [(1, 32, 0, 0), (2, 64, 0, 0)]);
    assert!(profile.about.known.live.is_any() && !profile.about.known.allocated.is_any());
    assert_eq!((profile.about.rate, profile.about.problems.len()), (Rate::Exact, 0));
}

#[test]
fn samples_stand_for_more() {
    let profile =
        text("heap_v2/4096\n  t*: 10: 40960 [0: 0]\n@ 0x10\n  t*: 10: 40960 [0: 0]\nMAPPED_LIBRARIES:\n");
    assert_eq!(sums(&profile), [(16, 64_798, 0, 0)]);
    assert_eq!(profile.about.rate, Rate::Sampled { mean_bytes: 4096 });
    // The first version names twice the mean.
    let profile = text("heap profile: 2: 64 [2: 64] @ heap/640\n 2: 64 [2: 64] @ 0x10\nMAPPED_LIBRARIES:\n");
    assert_eq!(sums(&profile), [(20, 640, 20, 640)]);
    let profile =
        text("heap profile: 2: 64 [2: 64] @ heap/2\n2: 64 [2: 64] @ 0x10\n#\t0xf\tmain.f+0x1\tf.go:1\n");
    assert_eq!((profile.about.rate, sums(&profile)), (Rate::Exact, vec![(2, 64, 2, 64)]));
}

#[test]
fn a_program_that_was_linked_to_its_addresses_keeps_them() {
    let profile = text(
        "heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x401136 0x500000\nMAPPED_LIBRARIES:\n\
         00400000-00401000 r--p 00000000 00:00 7 /bin/p\n00401000-00402000 r-xp 00001000 00:00 7 /bin/p\n",
    );
    let place = |frame: &Frame| match frame {
        Frame::Address { module, address, .. } => (module.is_some(), *address),
        Frame::Named(_) => (false, 0),
    };
    let places: Vec<_> = profile.frames.iter().map(place).collect();
    assert_eq!(places, [(false, 0x50_0000), (true, 0x40_1136)]);
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let error = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(error("heap_v2/x\n"), "no rate of samples in line 1");
    assert_eq!(error("heap profile: 1 [2: 3]\n"), "no sums of the whole profile in line 1");
    assert_eq!(error("heap_v2/1\n@ 0xzz\n"), "\"0xzz\", which is no address, in line 2");
    assert_eq!(
        error("heap_v2/1\n t*: 1: 1 [0: 0]\nhello\n"),
        "\"hello\", which is no line of a heap profile, in line 3"
    );
    assert_eq!(error("heap_v2/1\n"), "no sums of the whole profile behind the head in line 1");
    let huge = "heap_v2/1\n t*: 1: 1 [0: 0]\n@ 0x1\nt*: 1: 18446744073709551615 [0: 0]\n";
    assert_eq!(error(huge), "the sum of all bytes is beyond 2^62 in line 4");
}

#[test]
fn a_cut_file_is_told_from_a_whole_one() {
    let cut = &TCMALLOC[..TCMALLOC.find("     3:").unwrap()];
    let expected = "the file is cut at byte 132 before the list of mapped files, so that no function has a name; \
                    its stacks have 40 live blocks of 40000 bytes, and its first lines say 43 of 52288";
    assert_eq!(text(cut).about.problems, [expected]);
    let problems = text(&TCMALLOC[..TCMALLOC.len() - 3]).about.problems;
    assert!(
        problems[0]
            .starts_with(&format!("the file is cut at byte {}; its stacks have 43 ", TCMALLOC.len() - 3)),
        "{problems:?}"
    );
    // Of samples the first lines count otherwise, which is said where the file is cut alone.
    let sampled = "heap_v2/4096\n  t*: 10: 40960 [0: 0]\n@ 0x10\n  t*: 7: 28672 [0: 0]\n";
    let problems = text(sampled).about.problems;
    assert!(problems[0].ends_with("7 live blocks of 28672 bytes, and its first lines say 10 of 40960"));
    assert_eq!(text(&format!("{sampled}MAPPED_LIBRARIES:\n")).about.problems, Vec::<String>::new());
}

const GO: &str = "heap profile: 3: 192 [6: 384] @ heap/256
2: 128 [4: 256] @ 0x20 0x30 0x90
#\t0x1f\tmain.keep+0x1\t\t/src/a.go:5
#\t0x2f\tmain.main+0x2\t/src/a.go:9

1: 64 [2: 128] @ 0x80 0x30 0x90
#\t0x2f\tmain.main+0x2\t/src/a.go:9


# runtime.MemStats
# Alloc = 5
";

#[test]
fn go_names_its_functions_and_estimates_as_its_own_reader() {
    let profile = text(GO);
    let functions = profile.frames.iter().map(|frame| match frame {
        Frame::Named(lines) => format!("{}:{}", lines[0].function, lines[0].line),
        Frame::Address { address, .. } => format!("{address:#x}"),
    });
    assert_eq!(functions.collect::<Vec<_>>(), ["main.main:9", "main.keep:5"]);
    // 1 / (1 - exp(-0.5)) = 2.5414941
    assert_eq!(sums(&profile), [(2, 162, 5, 325), (5, 325, 10, 650)]);
    assert_eq!((profile.about.origin, profile.about.problems.len()), (Origin::GoText, 0));
    assert_eq!(profile.about.rate, Rate::Sampled { mean_bytes: 128 });
    let cut = text(&GO[..GO.find("1: 64").unwrap()]).about.problems;
    assert_eq!(cut.len(), 1, "{cut:?}");
    assert!(cut[0].starts_with("the file is cut at byte 142; its stacks have 2 live blocks"), "{cut:?}");
}

proptest! {
    #[test]
    fn sums_are_those_that_were_written(
        stacks in prop::collection::vec((prop::collection::vec(1_u64..9, 0..5), 0_u64..1 << 40, 0_u64..1 << 40), 0..20),
    ) {
        let mut file = "heap profile: 0: 0 [0: 0] @ heapprofile\n".to_owned();
        for (pcs, live, more) in &stacks {
            let pcs: Vec<_> = pcs.iter().map(|pc| format!("{pc:#x}")).collect();
            file += &format!("{live}: {live} [{}: {}] @ {}\n", live + more, live + more, pcs.join(" "));
        }
        let profile = text(&file);
        let live: u64 = stacks.iter().map(|(_, live, _)| live).sum();
        let all: u64 = stacks.iter().map(|(_, live, more)| live + more).sum();
        prop_assert_eq!(profile.about.whole.live.bytes, live);
        prop_assert_eq!(profile.about.whole.allocated.blocks, all);
        prop_assert_eq!(profile.stacks.iter().map(|stack| stack.live.bytes).sum::<u64>(), live);
        let mut distinct: Vec<_> = stacks.iter().map(|(pcs, ..)| pcs).collect();
        distinct.sort();
        distinct.dedup();
        prop_assert_eq!(profile.stacks.len(), distinct.len());
    }

    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..400), head in any::<bool>()) {
        let head: &[u8] = if head { b"heap_v2/512\n t*: 1: 1 [0: 0]\n" } else { b"heap profile: 1: 2 [3: 4] @ heap/5\n" };
        let file = [head, &bytes].concat();
        prop_assert!(is_begin(&file));
        if let Ok(profile) = read(&file) {
            prop_assert!(profile.calls.iter().skip(1).enumerate().all(|(n, call)| call.parent.0 as usize <= n));
        }
    }
}
