//! What is written is read back, whatever it is.

use proptest::prelude::*;

use super::super::read::ReadOptions;
use super::super::write::Order;
use super::{file, read};

/// Locations with these many names in their files; many more codes than a domain's table of names has
/// places, few enough that stacks repeat.
const CODES: i64 = 90;

/// A call of the writer.
#[derive(Clone, Debug)]
enum Call {
    Alloc { dt_us: i64, domain: u16, words: i64, samples: i64, heap: usize, drop: usize, push: Vec<i64> },
    End { dt_us: i64, object: prop::sample::Index, is_promotion: bool },
    Flush(u16),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let dt_us = prop_oneof![4 => 0i64..3, 2 => 0i64..100_000, 1 => Just(40_000_000i64)];
    let domain = prop_oneof![Just(0u16), Just(5), Just(3184)];
    let number = prop_oneof![3 => 1i64..20, 1 => -300i64..70_000, 1 => -(1i64 << 40)..1i64 << 40];
    let push = prop::collection::vec(1..=CODES, 0..8);
    let alloc = (dt_us.clone(), domain.clone(), number.clone(), number, 0usize..3, 0usize..6, push).prop_map(
        |(dt_us, domain, words, samples, heap, drop, push)| Call::Alloc {
            dt_us,
            domain,
            words,
            samples,
            heap,
            drop,
            push,
        },
    );
    let end = (dt_us, any::<prop::sample::Index>(), any::<bool>())
        .prop_map(|(dt_us, object, is_promotion)| Call::End { dt_us, object, is_promotion });
    let call = prop_oneof![12 => alloc, 6 => end, 1 => domain.prop_map(Call::Flush)];
    prop::collection::vec(call, 0..300)
}

fn locations() -> String {
    let one = |code: i64| {
        let frames = code % 3;
        let names: String = (0..frames)
            .map(|n| {
                format!(
                    "\tfile{}.ml\t{}\t{}\t{}\tf{code}.{n}",
                    (code * 7 + n) % 40,
                    code - 5,
                    code * 4,
                    code * 20
                )
            })
            .collect();
        format!("loc\t{code}\t{frames}{names}\n")
    };
    (1..=CODES).map(one).collect()
}

fn frame(code: i64) -> String {
    match code % 3 {
        0 => code.to_string(),
        frames => (0..frames).map(|n| format!("f{code}.{n}")).collect::<Vec<_>>().join("/"),
    }
}

/// The script of these calls, and the lines that each domain's events are to be read as.
#[derive(Default)]
struct Expected {
    script: String,
    lines: Vec<(u16, String)>,
    /// Domain and number of each object.
    objects: Vec<(u16, i64)>,
    time_us: i64,
    stack: Vec<i64>,
}

impl Expected {
    fn call(&mut self, call: &Call, order: Order, ids: &mut Ids) {
        match call {
            Call::Alloc { dt_us, domain, words, samples, heap, drop, push } => {
                self.time_us += dt_us;
                self.stack.truncate(self.stack.len().saturating_sub(*drop));
                self.stack.extend(push);
                let codes: String = self.stack.iter().rev().map(|code| format!("\t{code}")).collect();
                let time_us = 1_000_000 + self.time_us;
                self.script += &format!("a\t{time_us}\t{domain}\t{words}\t{samples}\t{heap}\t0{codes}\n");
                let id = ids.take(*domain);
                self.objects.push((*domain, id));
                let heap = ["Minor", "Major", "External"][*heap];
                let stack = self.stack.iter().map(|code| frame(*code)).collect::<Vec<_>>().join(">");
                let line = format!("{} d{domain} +{id} {words}w x{samples} {heap} {stack}", self.time_us);
                self.lines.push((*domain, line));
            }
            Call::End { dt_us, object, is_promotion } if !self.objects.is_empty() => {
                self.time_us += dt_us;
                let n = object.index(self.objects.len());
                let (domain, id) = self.objects[n];
                let (word, sign) = if *is_promotion { ("p", '^') } else { ("c", '-') };
                self.script += &format!("{word}\t{}\t{domain}\t{n}\n", 1_000_000 + self.time_us);
                self.lines.push((domain, format!("{} d{domain} {sign}{id}", self.time_us)));
            }
            Call::Flush(domain) if order == Order::Direct => self.script += &format!("f\t{domain}\n"),
            Call::End { .. } | Call::Flush(_) => {}
        }
    }
}

/// Numbers as one chunk for each domain gives them.
#[derive(Default)]
struct Ids {
    next: Vec<(u16, i64)>,
}

impl Ids {
    fn take(&mut self, domain: u16) -> i64 {
        if self.next.is_empty() {
            self.next.push((0, 0));
        }
        let at = self.next.iter().position(|(d, _)| *d == domain).unwrap_or_else(|| {
            self.next.push((domain, self.next.len() as i64 * 10_000));
            self.next.len() - 1
        });
        self.next[at].1 += 1;
        self.next[at].1 - 1
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn written_events_are_read_back(calls in calls(), is_direct in any::<bool>()) {
        let order = if is_direct { Order::Direct } else { Order::Multiplexed };
        let (mut expected, mut ids) = (Expected { script: locations(), ..Expected::default() }, Ids::default());
        calls.iter().for_each(|call| expected.call(call, order, &mut ids));
        let bytes = file(order, &expected.script);
        let read = read(&bytes, ReadOptions::default());
        prop_assert_eq!((read.error, read.skipped), (None, Vec::new()));
        for domain in [0, 5, 3184] {
            let mine = |line: &&String| line.split(' ').nth(1) == Some(&format!("d{domain}"));
            let is: Vec<_> = read.lines.iter().filter(mine).collect();
            let should: Vec<_> = expected.lines.iter().filter(|(d, _)| *d == domain).map(|(_, l)| l).collect();
            prop_assert_eq!(is, should);
        }
    }
}

/// Found by fuzzing a copy: a code in a stack before the file says what it is.
#[test]
fn a_code_that_is_defined_late_has_one_meaning() {
    let calls: String = ["a\t1000000\t0\t1\t1\t0\t0\t9\n", "f\t0\n", "loc\t9\t1\ta.ml\t1\t2\t3\tlate\n"]
        .into_iter()
        .chain(["a\t1000001\t5\t1\t1\t0\t0\t9\n"])
        .collect();
    let read = read(&file(Order::Direct, &calls), ReadOptions::default());
    assert_eq!(read.error, None);
    assert_eq!(read.lines, ["0 d0 +0 1w x1 Minor ?", "1 d5 +10000 1w x1 Minor late"]);
}
