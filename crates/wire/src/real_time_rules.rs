//! Rules of real time: where a program must not call the heap, and how the plan has it for a recorded process.
//!
//! ```text
//!   a rule    kind u8   length u8   that many bytes        one behind the other, up to RULES_BYTES_MAX
//!   kind      1 section: inside a section of this name
//!             2 mark: everything after the first mark of this name in the process
//!             3 thread: only threads whose name this pattern fits hold to the others; several: any of them
//! ```
//! A call breaks the rules when its thread is one that they are for and it comes inside such a section or
//! after such a mark. Rules of threads alone forbid those threads every call.

/// Bytes of all rules of a plan.
pub const RULES_BYTES_MAX: usize = 4096;
/// Bytes of one name.
pub const RULE_NAME_BYTES_MAX: usize = 255;

/// What a rule is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RuleKind {
    /// Sections of a name.
    Section = 1,
    /// What comes after a mark.
    Mark = 2,
    /// Threads whose names fit a pattern.
    Thread = 3,
}

impl RuleKind {
    const fn from_number(n: u8) -> Option<RuleKind> {
        match n {
            1 => Some(RuleKind::Section),
            2 => Some(RuleKind::Mark),
            3 => Some(RuleKind::Thread),
            _ => None,
        }
    }
}

/// One rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule<'a> {
    /// What it is about.
    pub kind: RuleKind,
    /// Of this name, or fitting this pattern.
    pub name: &'a [u8],
}

impl Rule<'_> {
    /// Bytes of the rule.
    pub const fn bytes(&self) -> usize {
        2 + self.name.len()
    }

    /// Writes the rule at the start of `at`; how many bytes it took. `None` when it has no room or its name
    /// is too long.
    pub fn put(&self, at: &mut [u8]) -> Option<usize> {
        let length = u8::try_from(self.name.len()).ok()?;
        let place = at.get_mut(..self.bytes())?;
        place[0] = self.kind as u8;
        place[1] = length;
        place[2..].copy_from_slice(self.name);
        Some(place.len())
    }
}

/// The rules of a plan, in their order, up to the first that is none.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a>(&'a [u8]);

impl<'a> Rules<'a> {
    /// Over the bytes that stand behind a plan.
    pub const fn new(bytes: &'a [u8]) -> Rules<'a> {
        Rules(bytes)
    }
}

impl<'a> Iterator for Rules<'a> {
    type Item = Rule<'a>;

    fn next(&mut self) -> Option<Rule<'a>> {
        let [kind, length, rest @ ..] = self.0 else { return None };
        let (kind, (name, rest)) =
            (RuleKind::from_number(*kind)?, rest.split_at_checked(usize::from(*length))?);
        self.0 = rest;
        Some(Rule { kind, name })
    }
}

/// Whether a name fits a pattern, in which `*` stands for any bytes and `?` for one.
pub fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where the last star stood, and the name's byte up to which it has been taken to reach.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[n] => (p, n) = (p + 1, n + 1),
            _ => {
                let Some((at, reach)) = star else { return false };
                star = Some((at, reach + 1));
                (p, n) = (at + 1, reach + 1);
            }
        }
    }
    pattern.iter().skip(p).all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_round_trip_and_end_at_what_is_none() {
        let rules = [
            Rule { kind: RuleKind::Section, name: b"control loop" },
            Rule { kind: RuleKind::Mark, name: b"initialized" },
            Rule { kind: RuleKind::Thread, name: b"" },
        ];
        let (mut bytes, mut len) = ([0; 64], 0);
        for rule in rules {
            len += rule.put(&mut bytes[len..]).unwrap();
        }
        assert!(Rules::new(&bytes[..len]).eq(rules));
        assert!(Rules::new(&bytes).eq(rules), "zeros are no rule");
        assert_eq!(Rules::new(&bytes[..13]).count(), 0, "a rule that is cut is none");
        assert_eq!(rules[0].put(&mut [0; 13]), None);
        assert_eq!(Rule { kind: RuleKind::Mark, name: &[b'x'; 256] }.put(&mut [0; 300]), None);
    }

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("", "a", false),
            ("rt", "rt", true),
            ("rt", "rt2", false),
            ("rt*", "rt", true),
            ("rt*", "rt_control", true),
            ("*_rt", "control_rt", true),
            ("*_rt", "control_rtx", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("??", "ab", true),
            ("??", "a", false),
            ("*?", "", false),
            ("**", "x", true),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
