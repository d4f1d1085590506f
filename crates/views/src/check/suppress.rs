//! Suppressions: known leaks and calls that are accepted. The syntax is that of LeakSanitizer's files - a
//! `leak:PATTERN` a line, `#` begins a comment - so that one file serves both;
//! `alloc:PATTERN` is ours, for calls where there should be none.

use heapscribe_analyze::answer::Amount;

use super::pattern::Pattern;
use crate::runtime;
use heapscribe_symbols::NamedFrame;

/// What a line suppresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Blocks that were never freed.
    Leak,
    /// Calls of the heap where a rule forbids them.
    Alloc,
}

/// A line of the file, and what it was good for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suppression {
    /// What it suppresses.
    pub kind: Kind,
    /// What a function, source file or module of a suppressed stack matches.
    pub pattern: Pattern,
    /// Its line, from 1.
    pub line: usize,
    /// Stacks that it suppressed, each for each process.
    pub stacks: u64,
    /// Blocks never freed, or calls, and their bytes.
    pub amount: Amount,
}

impl Suppression {
    /// The line.
    pub fn text(&self) -> String {
        let kind = if self.kind == Kind::Leak { "leak" } else { "alloc" };
        format!("{kind}:{}", self.pattern.text())
    }
}

/// All lines of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Suppressions {
    /// The suppressions in the order of the file.
    pub all: Vec<Suppression>,
    /// What is known of runtime libraries, by purpose; empty when that counts as leaked, too. Their numbers
    /// follow those of the file.
    runtime: Vec<Use>,
}

/// What a suppression was good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Use {
    /// Stacks, each for each process.
    pub stacks: u64,
    /// Their blocks and bytes.
    pub amount: Amount,
}

impl Suppressions {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The number of a line, from 1, that is none, and why.
    pub fn parse(text: &str) -> Result<Suppressions, (usize, String)> {
        let mut all = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let (kind, pattern) = match text.split_once(':') {
                Some(("leak", pattern)) => (Kind::Leak, pattern),
                Some(("alloc", pattern)) => (Kind::Alloc, pattern),
                _ => return Err((line, format!("`{text}` is neither leak:PATTERN nor alloc:PATTERN"))),
            };
            if pattern.is_empty() {
                return Err((line, format!("`{text}` has no pattern")));
            }
            let pattern = Pattern::new(pattern);
            all.push(Suppression { kind, pattern, line, stacks: 0, amount: Amount::default() });
        }
        Ok(Suppressions { all, ..Suppressions::default() })
    }

    /// The same, and what runtime libraries keep until the end.
    #[must_use]
    pub fn with_runtime(self) -> Suppressions {
        Suppressions { runtime: vec![Use::default(); runtime::COUNT], ..self }
    }

    /// Whether there is one of this kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.all.iter().any(|one| one.kind == kind) || kind == Kind::Leak && !self.runtime.is_empty()
    }

    /// What runtime libraries kept, and what for.
    pub fn of_runtime(&self) -> (Use, Vec<&'static str>) {
        let used = || self.runtime.iter().enumerate().filter(|(_, one)| one.stacks > 0);
        let sum = used().fold(Use::default(), |mut sum, (_, one)| {
            sum.stacks += one.stacks;
            sum.amount.add(&one.amount);
            sum
        });
        (sum, used().map(|(purpose, _)| runtime::name(purpose)).collect())
    }

    /// Which suppresses a stack: the first of which a function, a source file or a module of any of the
    /// stack's frames is like the pattern.
    pub fn find(&self, kind: Kind, frames: &[NamedFrame]) -> Option<usize> {
        let is_in = |one: &Suppression, frame: &NamedFrame| {
            let names = [&frame.function, &frame.file, &frame.module];
            names.into_iter().flatten().any(|name| one.pattern.is_in(name))
        };
        let of_file =
            self.all.iter().position(|one| one.kind == kind && frames.iter().any(|frame| is_in(one, frame)));
        let of_runtime = || runtime::purpose(frames).map(|purpose| self.all.len() + purpose);
        of_file.or_else(|| of_runtime().filter(|_| kind == Kind::Leak && !self.runtime.is_empty()))
    }

    /// Counts a use.
    pub fn used(&mut self, number: usize, amount: Amount) {
        if let Some(purpose) = number.checked_sub(self.all.len()) {
            self.runtime[purpose].stacks += 1;
            return self.runtime[purpose].amount.add(&amount);
        }
        let one = &mut self.all[number];
        one.stacks += 1;
        one.amount.blocks = one.amount.blocks.saturating_add(amount.blocks);
        one.amount.bytes = one.amount.bytes.saturating_add(amount.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(function: &str, file: &str, module: &str) -> NamedFrame {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        NamedFrame {
            function: some(function),
            file: some(file),
            module: some(module),
            ..NamedFrame::default()
        }
    }

    /// The line that suppresses a leak of `main > load` in libgui's plugin.c.
    fn check(text: &str, expected: Option<usize>) {
        let stack = [
            frame("load_theme", "/src/gui/plugin.c", "/usr/lib/libgui.so.1"),
            frame("main", "", "/usr/bin/app"),
        ];
        let all = Suppressions::parse(text).unwrap();
        assert_eq!(all.find(Kind::Leak, &stack).map(|n| all.all[n].line), expected, "{text}");
    }

    #[test]
    fn functions_files_and_modules_are_looked_at() {
        check("leak:load_theme", Some(1));
        check("# known\n\n  leak:plugin.c  \n", Some(3));
        check("leak:^main$", Some(1));
        check("leak:libgui.so", Some(1));
        check("leak:nothing\nleak:libg*so\nleak:load", Some(2));
        check("leak:libc.so\nalloc:load_theme\n", None);
        check("", None);
    }

    proptest! {
        /// Whatever a file holds: suppressions that suppress something or nothing, or the number of a line.
        #[test]
        fn any_text_is_read(text in "((leak|alloc|race)?[:^$*#a \r]{0,6}\n?){0,8}") {
            match Suppressions::parse(&text) {
                Ok(all) => prop_assert!(all.find(Kind::Leak, &[frame("a", "", "^$")]) < Some(all.all.len()) || all.all.is_empty()),
                Err((line, _)) => prop_assert!((1..=text.lines().count()).contains(&line)),
            }
        }
    }

    #[test]
    fn lines_that_are_none_are_named() {
        for (text, line) in [("leak:a\nrace:b", 2), ("leak", 1), ("leak:", 1), ("\nleak a", 2)] {
            assert_eq!(Suppressions::parse(text).unwrap_err().0, line, "{text}");
        }
    }
}
