//! The rules of the format that surprise, one by one.

use super::super::error::Fault;
use super::super::event::{Alloc, Heap, Info, ObjectId};
use super::super::fields::Cursor;
use super::super::location_event::Recent;
use super::super::locations::Locations;
use super::super::read::{ReadOptions, Reader};
use super::super::write::{Order, WriteOptions, Writer};
use super::{check, file, packets, read};

const ONE: &str = "loc\t11\t1\ta.ml\t1\t2\t3\tmain\nloc\t12\t2\ta.ml\t4\t5\t6\touter\tb.ml\t7\t8\t9\tinner\n";

#[test]
fn stacks_are_outermost_first_and_inlined_frames_too() {
    check(
        &format!("{ONE}a\t1000005\t0\t3\t1\t0\t0\t12\t11\nc\t1000006\t0\t0\n"),
        &["5 d0 +0 3w x1 Minor main>outer/inner", "6 d0 -0"],
    );
}

#[test]
fn numbers_may_be_negative_or_huge() {
    check(
        "loc\t7\t0\na\t1000000\t0\t-5\t8589934592\t2\t0\t7\na\t1000000\t0\t2147483648\t1\t1\t0\n",
        &["0 d0 +0 -5w x8589934592 External 7", "0 d0 +1 2147483648w x1 Major "],
    );
}

#[test]
fn codes_have_63_bits() {
    let code = -0x4000_0000_0000_0000i64;
    let expected = format!("0 d0 +0 1w x1 Minor {code}");
    check(&format!("loc\t{code}\t0\na\t1000000\t0\t1\t1\t0\t0\t{code}\n"), &[&expected]);
}

/// Different frames take 10 bytes each: of 600 no more than 409 have room, the innermost are lost. The
/// next stack has more in common with it than the reader knows, who is left with the one before.
#[test]
fn deep_stacks_are_cut_and_hide_the_next_one() {
    let codes: Vec<String> = (1..=600).map(|n| (n * 1000).to_string()).collect();
    let locations: String = codes.iter().map(|code| format!("loc\t{code}\t0\n")).collect();
    let deep = codes.iter().rev().map(|code| format!("\t{code}")).collect::<String>();
    let script =
        format!("{locations}a\t1000001\t0\t1\t1\t0\t0{deep}\na\t1000002\t0\t1\t1\t0\t0\t7000{deep}\n");
    let read = read(&file(Order::Direct, &script), ReadOptions::default());
    let stacks: Vec<_> = read.lines.iter().map(|line| line.rsplit(' ').next().unwrap()).collect();
    assert_eq!(stacks[0], codes[..409].join(">"));
    assert_eq!(stacks[1], stacks[0]);
}

/// A repeated frame is one code word for each 256.
#[test]
fn deep_recursion_is_whole() {
    let deep = "\t7".repeat(50_000);
    let bytes = file(Order::Direct, &format!("loc\t7\t0\na\t1000001\t0\t1\t1\t0\t0{deep}\n"));
    assert!(bytes.len() < 1200);
    let read = read(&bytes, ReadOptions::default());
    assert_eq!(read.lines[0].matches('7').count(), 50_000);
}

#[test]
fn an_event_after_30_seconds_begins_a_packet() {
    let begins = |time_us: i64| {
        let script = format!("a\t1000000\t0\t1\t1\t0\t0\na\t{time_us}\t0\t1\t1\t0\t0\n");
        packets(&file(Order::Direct, &script)).len()
    };
    assert_eq!((begins(31_000_000), begins(31_000_001)), (2, 3));
    check(
        "a\t1000000\t0\t1\t1\t0\t0\na\t900000000000\t0\t1\t1\t0\t0\n",
        &["0 d0 +0 1w x1 Minor ", "899999000000 d0 +1 1w x1 Minor "],
    );
}

#[test]
fn the_129th_new_location_ends_the_packet_after_its_event() {
    let packets_of = |n: i64| {
        let script: String = (1..=n)
            .map(|code| format!("loc\t{code}\t0\na\t1000000\t0\t1\t1\t0\t0\t{code}\n"))
            .chain(["a\t1000000\t0\t1\t1\t0\t0\n".to_owned()])
            .collect();
        packets(&file(Order::Direct, &script)).len()
    };
    // Trace info, locations, events; and another one of events.
    assert_eq!((packets_of(128), packets_of(129)), (3, 4));
}

#[test]
fn a_packet_ends_when_the_largest_event_has_no_room() {
    let allocs: String = (0..9000).map(|n| format!("a\t{}\t0\t1\t1\t1\t0\n", 1_000_000 + n)).collect();
    let bytes = file(Order::Direct, &allocs);
    let sizes: Vec<_> = packets(&bytes).iter().map(|(_, header)| header.packet_bytes).collect();
    // The first size of a header and events of 10 bytes each that is over 28572.
    assert_eq!(sizes[1], 28_578);
    assert!(sizes.iter().all(|size| *size <= 32_768));
}

#[test]
fn a_domain_takes_object_numbers_in_chunks() {
    let script = "chunk\t2\nINFO".to_owned();
    let lines: String = [0, 0, 5, 0, 5, 5]
        .iter()
        .enumerate()
        .map(|(n, d)| format!("a\t{}\t{d}\t1\t1\t0\t0\n", 1_000_001 + n))
        .collect();
    let script = script.replace("INFO", super::INFO) + &lines;
    let bytes = super::script::run(&script, Order::Multiplexed).unwrap();
    let read = read(&bytes, ReadOptions::default());
    let objects: Vec<_> = read.lines.iter().map(|l| l.split(' ').nth(2).unwrap()).collect();
    assert_eq!(objects, ["+0", "+1", "+4", "+2", "+5", "+6"]);
}

#[test]
fn packets_of_another_pid_are_skipped() {
    let mut bytes = file(Order::Direct, &format!("{ONE}a\t1000005\t0\t3\t1\t0\t0\t11\n"));
    let child = packets(&bytes)[2].0;
    let mut copy = bytes[child..].to_vec();
    copy[30] = 43;
    bytes.splice(child..child, copy);
    let read = read(&bytes, ReadOptions::default());
    assert_eq!((read.lines.len(), read.error), (1, None));
    let skipped = format!(
        "skipping packet of another process (pid 43, but tracing 42): bytes {child} to {}",
        child + 84
    );
    assert_eq!(read.skipped, [skipped]);
}

#[test]
fn a_changed_cache_is_noticed_with_stacks_only() {
    let script = format!("{ONE}a\t1000000\t0\t1\t1\t0\t0\t11\nf\t0\na\t1000000\t0\t1\t1\t0\t0\t11\n");
    let mut bytes = file(Order::Direct, &script);
    let (last, header) = packets(&bytes)[3];
    assert_eq!(header.verifier.unwrap().index, 0x1092);
    bytes[last + 44] ^= 1;
    let error = format!("the cache of locations is not as the packet's header says at byte {}", last + 68);
    assert_eq!(read(&bytes, ReadOptions::default()).error, Some(error));
    let without = ReadOptions { stacks: false, salvage: false };
    assert_eq!(read(&bytes, without).error, None);
}

#[test]
fn an_object_of_an_ended_domain_can_be_collected_but_not_promoted() {
    let lines = "a\t1000000\t0\t1\t1\t0\t0\na\t1000001\t1\t1\t1\t0\t0\n";
    let bytes = file(Order::Multiplexed, &format!("{lines}c\t1000002\t0\t1\np\t1000003\t0\t1\n"));
    let read = read(&bytes, ReadOptions::default());
    assert_eq!(read.lines, ["0 d0 +0 1w x1 Minor ", "1 d1 +10000 1w x1 Minor ", "2 d0 -10000"]);
}

#[test]
fn a_clock_that_steps_back_is_held() {
    let info = Info {
        sample_rate: 1.0,
        word_bits: 64,
        executable: Vec::new(),
        host: Vec::new(),
        runtime_params: Vec::new(),
        pid: 1,
        context: Vec::new(),
        start_us: 1000,
        domain: 0,
    };
    let locations = Locations::default();
    let mut writer = Writer::create(Vec::new(), &info, WriteOptions::default()).unwrap();
    let alloc = Alloc {
        id: ObjectId(0),
        length_words: 1,
        samples: 1,
        heap: Heap::Minor,
        common: 0,
        reused_frames: 0,
        stack: &[],
    };
    for time_us in [900, 2000, 1500, -7, 2001] {
        writer.alloc(0, time_us, &alloc, &locations).unwrap();
    }
    assert_eq!(writer.steps_back(), 3);
    let bytes = writer.finish(&locations).unwrap();
    let read = read(&bytes, ReadOptions::default());
    let times: Vec<_> = read.lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!((times, read.error), (vec!["0", "1000", "1000", "1000", "1001"], None));
}

#[test]
fn a_forked_child_writes_nothing() {
    let reader = Reader::open(&*file(Order::Direct, ""), ReadOptions::default()).unwrap().info().clone();
    let options = WriteOptions { pid: Some(|| 43), ..WriteOptions::default() };
    let locations = Locations::default();
    let mut out = Vec::new();
    let mut writer = Writer::create(&mut out, &reader, options).unwrap();
    writer.collect(0, 0, ObjectId(0), &locations).unwrap();
    assert!(writer.finish(&locations).is_err());
    assert_eq!(packets(&out).len(), 1);
}

#[test]
fn locations_that_are_too_long_become_unknown() {
    let long = "x".repeat(4096);
    for (frames, expected) in [(1, "??"), (256, "??")] {
        let name = if frames == 1 { &long } else { "f" };
        let one = format!("\t{name}.ml\t1\t2\t3\tf");
        let script = format!("loc\t9\t{frames}{}\na\t1000000\t0\t1\t1\t0\t0\t9\n", one.repeat(frames));
        check(&script, &[&format!("0 d0 +0 1w x1 Minor {expected}")]);
    }
}

/// Writers of version 1 gave a new file the functions of the file that it pushed off the table.
#[test]
fn names_of_version_1_are_found_in_the_table_of_another_file() {
    let (mut recent, mut locations) = (Recent::default(), Locations::default());
    let frame = |file: u64, function: u64, texts: &str| {
        let mut bytes = vec![7, 0, 0, 0, 0, 0, 0, 0, 1];
        bytes.extend_from_slice(&(file << 38 | function << 43).to_le_bytes()[..6]);
        bytes.extend_from_slice(texts.as_bytes());
        bytes
    };
    let mut take = |code: u8, bytes: Vec<u8>| {
        let mut bytes = bytes;
        bytes[0] = code;
        recent.read(&mut Cursor::new(&bytes), &mut locations)?;
        let location = locations.get(crate::memtrace::LocationCode(i64::from(code))).unwrap()[0];
        let text = |name| String::from_utf8_lossy(locations.text(name)).into_owned();
        Ok((text(location.file), text(location.function)))
    };
    for n in 0..31 {
        let texts = format!("file{n}\0function{n}\0");
        assert_eq!(take(n, frame(31, 31, &texts)).unwrap(), (format!("file{n}"), format!("function{n}")));
    }
    // file0 is at the end of the table and is dropped.
    assert_eq!(take(40, frame(31, 0, "new\0")).unwrap(), ("new".to_owned(), "function0".to_owned()));
    assert_eq!(take(41, frame(1, 0, "")).unwrap(), ("file30".to_owned(), "function30".to_owned()));
    assert_eq!(take(42, frame(1, 7, "")), Err(Fault::EmptyName));
}
