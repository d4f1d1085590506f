//! Profiles as Go and others write them, what is wrong with a file, and files of chance.

use proptest::prelude::*;

use super::{is_begin, read};
use crate::profile::{Frame, Line, Mapped, Profile, Rate};

/// A message, field by field.
#[derive(Clone, Default)]
struct Out(Vec<u8>);

impl Out {
    fn varint(mut self, mut value: u64) -> Out {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    fn number(self, field: u64, value: u64) -> Out {
        self.varint(field << 3).varint(value)
    }

    fn bytes(self, field: u64, bytes: &[u8]) -> Out {
        let mut out = self.varint(field << 3 | 2).varint(bytes.len() as u64);
        out.0.extend_from_slice(bytes);
        out
    }

    fn message(self, field: u64, of: Out) -> Out {
        self.bytes(field, &of.0)
    }

    /// A message of numbers, from field 1 on; without those that are 0.
    fn numbers(values: &[u64]) -> Out {
        let fields = (1..).zip(values).filter(|(_, value)| **value != 0);
        fields.fold(Out::default(), |out, (field, value)| out.number(field, *value))
    }
}

const TEXTS: [&str; 9] =
    ["", "inuse_objects", "count", "inuse_space", "bytes", "main.f", "f.go", "/bin/prog", "0a1b"];

/// Two kinds, a function in a location, an address in another.
fn head() -> Out {
    let out = Out::default().message(1, Out::numbers(&[1, 2])).message(1, Out::numbers(&[3, 4]));
    let out = out.message(3, Out::numbers(&[1, 0x7f00_0000_1000, 0x7f00_0000_9000, 0x1000, 7, 8]));
    let line = Out::numbers(&[9, 33]);
    let out = out.message(4, Out::numbers(&[1, 1, 0x7f00_0000_1234]).message(4, line));
    let out = out.message(4, Out::numbers(&[2, 1, 0x7f00_0000_2222]));
    let out = out.message(5, Out::numbers(&[9, 5, 5, 6]));
    TEXTS.iter().fold(out, |out, text| out.bytes(6, text.as_bytes()))
}

fn sample(locations: &[u64], values: &[u64]) -> Out {
    let packed = |of: &[u64]| of.iter().fold(Out::default(), |out, value| out.varint(*value));
    Out::default().message(1, packed(locations)).message(2, packed(values))
}

fn profile(out: Out) -> Profile {
    read(&out.0).unwrap()
}

#[test]
fn samples_of_equal_stacks_are_one() {
    let out = head().message(2, sample(&[2, 1], &[3, 96])).message(2, sample(&[1], &[1, 8]));
    // As older writers have it, not packed, and with a label, which is passed over.
    let label = Out::numbers(&[5, 6]);
    let unpacked = Out::numbers(&[2, 1]).number(1, 1).number(2, 4).message(3, label);
    let profile = profile(out.message(2, unpacked).number(9, 1_700_000_000).number(10, 5));
    let live: Vec<_> = profile.stacks.iter().map(|stack| (stack.live.blocks, stack.live.bytes)).collect();
    assert_eq!(live, [(1, 8), (4, 100)]);
    assert_eq!((profile.about.real_ns, profile.about.duration_ns), (1_700_000_000, 5));
    assert!(profile.about.known.live.bytes && !profile.about.known.allocated.is_any());
    let line = Line { function: "main.f".to_owned(), file: "f.go".to_owned(), line: 33 };
    let module = Mapped { path: "/bin/prog".to_owned(), build_id: vec![0x0a, 0x1b] };
    let address = Frame::Address { module: Some(module), address: 0x2222, is_return_address: false };
    assert_eq!(profile.frames, [Frame::Named(vec![line]), address]);
}

#[test]
fn a_period_of_bytes_says_whether_blocks_were_sampled() {
    let check = |period, expected| {
        let out = head().message(11, Out::numbers(&[3, 4])).number(12, period);
        assert_eq!(profile(out).about.rate, expected);
    };
    check(1, Rate::Exact);
    check(524_288, Rate::Sampled { mean_bytes: 524_288 });
    assert_eq!(profile(head()).about.rate, Rate::Unknown);
}

#[test]
fn what_is_wrong_is_said_with_its_byte() {
    let check = |out: Out, expected: &str| {
        let error = read(&out.0).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    let end = head().0.len();
    let at = |what: &str| format!("{what} at byte {}", end + 2);
    check(head().message(2, sample(&[1], &[1])), &at("a sample of 1 values instead of 2"));
    check(head().message(2, sample(&[7], &[1, 1])), &at("a sample names location 7, which is not there,"));
    check(
        head().message(2, sample(&[1], &[u64::MAX, 1])),
        &at("a negative figure, -1, as differences of profiles have,"),
    );
    check(head().message(2, sample(&[1], &[1, 1 << 62 | 1])), &at("the sum of all bytes is beyond 2^62"));
    check(head().varint(6 << 3 | 2).varint(1 << 40), "a field of 1099511627776 bytes, where 0 are left,");
    check(head().varint(6 << 3 | 3), &format!("a field of the unknown kind 3 at byte {end}"));
    let cpu = Out::default().message(1, Out::numbers(&[1, 2])).bytes(6, b"").bytes(6, b"cpu");
    check(cpu, "no figures of a heap (what it counts: cpu) at byte 0");
}

#[test]
fn each_cut_of_a_file_is_read_or_refused() {
    let whole = head().message(2, sample(&[2, 1], &[3, 96])).0;
    assert!(is_begin(&whole));
    let read = (0..whole.len()).filter(|n| read(&whole[..*n]).is_ok()).count();
    assert!(read < 20, "{read}");
}

proptest! {
    #[test]
    fn sums_are_those_that_were_written(
        samples in prop::collection::vec((prop::collection::vec(1_u64..3, 0..6), 0_u64..1 << 40, 0_u64..1 << 50), 0..30),
    ) {
        let out = samples.iter().fold(head(), |out, (locations, blocks, bytes)| {
            out.message(2, sample(locations, &[*blocks, *bytes]))
        });
        let profile = profile(out);
        prop_assert_eq!(profile.about.whole.live.bytes, samples.iter().map(|of| of.2).sum::<u64>());
        prop_assert_eq!(profile.stacks.iter().map(|of| of.live.blocks).sum::<u64>(), samples.iter().map(|of| of.1).sum::<u64>());
        let mut distinct: Vec<_> = samples.iter().map(|of| &of.0).collect();
        distinct.sort();
        distinct.dedup();
        prop_assert_eq!(profile.stacks.len(), distinct.len());
    }

    #[test]
    fn changed_bytes_end(at in any::<prop::sample::Index>(), with in any::<u8>(), rest in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut file = head().message(2, sample(&[2, 1], &[3, 96])).0;
        let at = at.index(file.len());
        file[at] = with;
        file.extend_from_slice(&rest);
        if let Ok(profile) = read(&file) {
            prop_assert!(profile.calls.iter().skip(1).enumerate().all(|(n, call)| call.parent.0 as usize <= n));
        }
    }
}
