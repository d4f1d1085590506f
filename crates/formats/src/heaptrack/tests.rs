//! What is written is read as the same, and any bytes are read to their end.

use proptest::prelude::*;

use super::{Instruction, Reader, Record, Writer};

fn records(bytes: &[u8]) -> (Vec<Record>, Option<String>) {
    let mut reader = Reader::new(bytes);
    let mut all = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        all.push(record);
    }
    (all, reader.problem())
}

#[test]
fn a_raw_file_and_an_old_one() {
    let raw = b"v 10400 3\nx d /usr/bin/true\nX true --x\nI 1000 5e\nm 1 -\nm 1 x 1000 0 10 20 30\nt 1004 0\n+ 18 1 ff00\n- ff00\nc 5\n";
    let expected = [
        Record::Version(3),
        Record::Program("/usr/bin/true".to_owned()),
        Record::Command("true --x".to_owned()),
        Record::Unmapped,
        Record::Module("x".to_owned(), 0x1000, vec![(0, 0x10), (0x20, 0x30)]),
        Record::Stack(0x1004, 0),
        Record::AllocatedRaw(0x18, 1, 0xff00),
        Record::Freed(0xff00),
        Record::Time(5),
    ];
    assert_eq!(records(raw), (expected.to_vec(), None));
    let old = b"v 10100 2\ns a text with spaces\ni 40 1 1 2 c\nbad\nt\n";
    let (all, problem) = records(old);
    assert_eq!(all[1], Record::Text("a text with spaces".to_owned()));
    assert_eq!(all[2], Record::Instruction(0x40, 1, vec![(1, 2, 0xc)]));
    assert_eq!(problem.unwrap(), "2 lines make no sense and cannot be read, the first is line 4");
}

#[test]
fn a_line_without_end_is_skipped() {
    let mut bytes = b"v 10400 2\ns ".to_vec();
    bytes.resize(3 << 20, b'x');
    bytes.extend_from_slice(b"\nc 7\n");
    let (all, problem) = records(&bytes);
    assert_eq!(all, [Record::Version(2), Record::Time(7)]);
    assert!(problem.unwrap().contains("the first is line 2"));
}

/// Blocks as they are written: allocated or freed, size, stack of one of two instructions.
fn steps() -> impl Strategy<Value = Vec<(bool, u64, u64, u64)>> {
    proptest::collection::vec((any::<bool>(), 0..4u64, 1..3u64, 0..5u64), 0..50)
}

proptest! {
    #[test]
    fn what_is_written_is_read(steps in steps(), name in "[^\u{0}\n]{0,20}") {
        let mut writer = Writer::new(Vec::new(), "app").unwrap();
        for number in 1..3u32 {
            let frames = vec![(name.clone(), "a.c".to_owned(), number)];
            let made = Instruction { address: 0x1000, module: "/bin/app".to_owned(), frames };
            let instruction = writer.instruction(&made).unwrap();
            prop_assert_eq!(writer.stack(instruction, instruction - 1).unwrap(), u64::from(number));
        }
        let (mut ms, mut kinds, mut expected) = (0, Vec::new(), Vec::new());
        for (is_free, size_bytes, stack, later) in steps {
            ms += later;
            writer.time(ms).unwrap();
            let kind = kinds.iter().position(|kind| *kind == (size_bytes, stack));
            if is_free {
                writer.freed(size_bytes, stack).unwrap();
                expected.extend(kind.map(|kind| Record::Freed(kind as u64)));
            } else {
                writer.allocated(size_bytes, stack).unwrap();
                let kind = kind.unwrap_or_else(|| { kinds.push((size_bytes, stack)); kinds.len() - 1 });
                expected.push(Record::Allocated(kind as u64));
            }
        }
        let (read, problem) = records(&writer.finish().unwrap());
        prop_assert_eq!(problem, None);
        let blocks = read.iter().filter(|record| matches!(record, Record::Allocated(_) | Record::Freed(_)));
        prop_assert_eq!(blocks.cloned().collect::<Vec<_>>(), expected);
        let of_kinds = read.iter().filter_map(|record| match record {
            Record::Kind(size, stack) => Some((*size, *stack)),
            _ => None,
        });
        prop_assert_eq!(of_kinds.collect::<Vec<_>>(), kinds);
        prop_assert!(name.is_empty() || read.contains(&Record::Text(name)));
        let last = read.iter().rev().find_map(|record| match record {
            Record::Time(ms) => Some(*ms),
            _ => None,
        });
        prop_assert_eq!(last.unwrap_or(0), ms);
    }

    #[test]
    fn any_lines_are_read_to_their_end(bytes in "([vXxsmitac+R-] ?[0-9a-f -]{0,12}\n?){0,40}") {
        records(bytes.as_bytes());
    }
}
