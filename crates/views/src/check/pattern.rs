//! Patterns of LeakSanitizer's suppressions. Those of threads and programs on the command line are others, see
//! [`heapscribe_wire::real_time_rules::fits`].

/// A pattern of a suppression: found anywhere in a name, `*` is any run of characters, `^` at its begin ties
/// it to the begin of the name and `$` at its end to the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    text: String,
}

impl Pattern {
    /// Of a line.
    pub fn new(text: &str) -> Pattern {
        Pattern { text: text.to_owned() }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a name is like it. LeakSanitizer looks only at the first place where the part before `$`
    /// stands, so that `foo$` is not found in `foofoo`; here it is.
    pub fn is_in(&self, name: &str) -> bool {
        if name.is_empty() {
            return false; // as in LeakSanitizer: what has no name is not like anything
        }
        let (from_begin, rest) = match self.text.strip_prefix('^') {
            Some(rest) => (true, rest),
            None => (false, self.text.as_str()),
        };
        // What stands after a `$` can match nothing.
        let (body, to_end) = match rest.split_once('$') {
            Some((body, _)) => (body, true),
            None => (rest, false),
        };
        if to_end && body.is_empty() {
            return false; // the end of a name is behind something; LeakSanitizer finds a lone `$` nowhere
        }
        let wild = |star: bool| if star { "" } else { "*" };
        is_like(name, &format!("{}{body}{}", wild(from_begin), wild(to_end)))
    }
}

/// Goes along both; at a mismatch back to the last `*`, which then takes one character more. No pattern takes
/// more steps than the product of both lengths.
fn is_like(name: &str, pattern: &str) -> bool {
    let (name, pattern): (Vec<char>, Vec<char>) = (name.chars().collect(), pattern.chars().collect());
    let (mut n, mut p, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == name[n] => {
                n += 1;
                p += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                (p, n) = (at + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(pattern: &str, inside: &[&str], outside: &[&str]) {
        let pattern = Pattern::new(pattern);
        inside.iter().for_each(|name| assert!(pattern.is_in(name), "{pattern:?} in {name}"));
        outside.iter().for_each(|name| assert!(!pattern.is_in(name), "{pattern:?} not in {name}"));
    }

    #[test]
    fn suppressions_as_leak_sanitizer_has_them() {
        check("foo", &["foo", "a_foo_b", "libfoo.so"], &["fo", "FOO", ""]);
        check("^foo", &["foo", "foobar"], &["afoo"]);
        check("foo$", &["foo", "afoo", "foofoo"], &["foob"]);
        check("^foo$", &["foo"], &["foo1", "1foo"]);
        check("foo*bar", &["foobar", "xfoo_bary", "foo/bar"], &["barfoo", "foo"]);
        check("^*bar$", &["bar", "foobar"], &["bars"]);
        check("libc*.so$", &["/lib/libcairo.so"], &["/lib/libcairo.so.2"]);
        check("*", &["x"], &[""]);
        check("$", &[], &["x", ""]);
        check("^$", &[], &["x", ""]);
        check("*$", &["x"], &[""]);
        check("operator new(unsigned long)", &["operator new(unsigned long)"], &["operator new"]);
        check("what?", &["so what?"], &["whats"]);
    }

    /// As LeakSanitizer looks: piece by piece, each at the first place where it stands.
    fn found_by_leak_sanitizer(pattern: &str, name: &str) -> bool {
        let (mut at_begin, mut pattern) = match pattern.strip_prefix('^') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let (mut name, mut after_star) = (name, false);
        if name.is_empty() {
            return false;
        }
        while let Some(first) = pattern.chars().next() {
            match first {
                '*' => {
                    (at_begin, after_star) = (false, true);
                    pattern = &pattern[1..];
                }
                '$' => return name.is_empty() || after_star,
                _ if name.is_empty() => return false,
                _ => {
                    let end = pattern.find(['*', '$']).unwrap_or(pattern.len());
                    let Some(at) = name.find(&pattern[..end]) else { return false };
                    if at_begin && at != 0 {
                        return false;
                    }
                    (name, pattern) = (&name[at + end..], &pattern[end..]);
                    (at_begin, after_star) = (false, false);
                }
            }
        }
        true
    }

    /// The same by trying everything.
    fn slow(name: &[char], pattern: &[char]) -> bool {
        match (pattern.first(), name.first()) {
            (None, None) => true,
            (Some('*'), _) => slow(name, &pattern[1..]) || (!name.is_empty() && slow(&name[1..], pattern)),
            (Some(p), Some(n)) => p == n && slow(&name[1..], &pattern[1..]),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn as_leak_sanitizer_but_for_an_end_that_stands_twice(name in "[ab]{0,8}", pattern in "\\^?[ab*]{0,6}\\$?") {
            prop_assume!(!pattern.is_empty());
            let (ours, theirs) = (Pattern::new(&pattern).is_in(&name), found_by_leak_sanitizer(&pattern, &name));
            prop_assert!(ours || !theirs, "{} in {}", pattern, name);
            prop_assert!(ours == theirs || pattern.ends_with('$'), "{} in {}", pattern, name);
        }

        #[test]
        fn as_trying_everything(name in "[ab]{0,9}", pattern in "[ab*]{0,7}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(is_like(&name, &pattern), slow(&chars(&name), &chars(&pattern)));
        }
    }
}
