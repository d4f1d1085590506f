//! D names: the qualified name out of a mangled one, as `std.array.Appender!(...).put`.
//!
//! Follows the grammar of the D language's ABI page for names: `_D`, then names with their lengths,
//! template instances `__T name arguments Z` and back references `Q`. Types are skipped: the file and line
//! beside a name tell overloads apart.

/// The dotted name, or nothing when the text does not follow the grammar.
pub(super) fn demangle(mangled: &str) -> Option<String> {
    if mangled == "_Dmain" {
        return Some("D main".to_owned());
    }
    let mut reader = Reader { text: mangled, at: 2, depth: 0 };
    let mut parts = Vec::new();
    while let Some(part) = reader.name() {
        parts.push(part);
        reader.skip_signature_of_outer_function();
    }
    (!parts.is_empty()).then(|| parts.join("."))
}

/// Templates within names of templates; a hostile file could nest them without end.
const DEPTH_MAX: u32 = 32;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// A reader of a name within this one.
    fn within(&self, text: &'a str, at: usize) -> Option<Reader<'a>> {
        (self.depth < DEPTH_MAX).then_some(Reader { text, at, depth: self.depth + 1 })
    }

    /// A name with its length, or a reference back to one.
    fn name(&mut self) -> Option<String> {
        if self.rest().starts_with('Q') {
            let target = self.back_reference()?;
            return self.within(self.text, target)?.plain_name();
        }
        if self.rest().starts_with("__T") || self.rest().starts_with("__U") {
            return self.template();
        }
        self.plain_name()
    }

    fn plain_name(&mut self) -> Option<String> {
        let digits = self.rest().find(|c: char| !c.is_ascii_digit())?;
        let length: usize = self.rest().get(..digits)?.parse().ok()?;
        let start = self.at + digits;
        let name = self.text.get(start..start.checked_add(length)?)?;
        self.at = start + length;
        if name.starts_with("__T") || name.starts_with("__U") {
            return self.within(name, 0)?.template();
        }
        Some(if name.is_empty() { "(anonymous)".to_owned() } else { name.to_owned() })
    }

    /// The name of a template; its arguments end at a `Z` that is followed by a name or a type.
    fn template(&mut self) -> Option<String> {
        let mut inner = self.within(self.text, self.at + 3)?;
        let name = inner.name()?;
        self.at = inner.at;
        let end = self.rest().find('Z')?;
        self.at += end + 1;
        Some(format!("{name}!(...)"))
    }

    /// Between the parts of a nested function's name stands the type of the outer function.
    fn skip_signature_of_outer_function(&mut self) {
        let rest = self.rest();
        if !rest.starts_with(['F', 'M']) {
            return;
        }
        let Some(end) = rest.find('Z') else { return };
        let after = rest[end + 1..].trim_start_matches(|c: char| c.is_ascii_lowercase());
        if after.starts_with(|c: char| c.is_ascii_digit()) {
            self.at = self.text.len() - after.len();
        }
    }

    /// `Q` and a base 26 number: upper case digits, the last one in lower case.
    fn back_reference(&mut self) -> Option<usize> {
        let from = self.at;
        let mut distance = 0usize;
        for (i, c) in self.rest().bytes().enumerate().skip(1) {
            let (digit, last) = match c {
                b'A'..=b'Z' => (c - b'A', false),
                b'a'..=b'z' => (c - b'a', true),
                _ => return None,
            };
            distance = distance.checked_mul(26)?.checked_add(usize::from(digit))?;
            if last {
                self.at = from + i + 1;
                return from.checked_sub(distance).filter(|target| *target < from);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn names_templates_and_back_references() {
        for (mangled, name) in [
            ("_Dmain", Some("D main")),
            ("_D4core6memory2GC6mallocFNbmkxC8TypeInfoZPv", Some("core.memory.GC.malloc")),
            ("_D3std5array__T8AppenderTAyaZQo3putMFAyaZv", Some("std.array.Appender!(...).Appender.put")),
            ("_D3app4mainFZ5innerMFZv", Some("app.main.inner")),
            ("_D", None),
            ("_D99999999999999999999x", None),
            ("_DQQQQQQQQQQQQQQQQQQQQQQQQa", None),
        ] {
            assert_eq!(demangle(mangled).as_deref(), name, "{mangled}");
        }
    }
}
