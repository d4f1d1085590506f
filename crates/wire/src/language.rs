//! What the code of an interpreted frame is written in.

/// A language, by its number in definitions. A reader shows those that it does not know by their number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Language(pub u8);

impl Language {
    /// Python.
    pub const PYTHON: Language = Language(1);
    /// JavaScript.
    pub const JAVASCRIPT: Language = Language(2);
    /// Java, and what else a JVM runs.
    pub const JAVA: Language = Language(3);
    /// Ruby.
    pub const RUBY: Language = Language(4);
    /// PHP.
    pub const PHP: Language = Language(5);
    /// Perl.
    pub const PERL: Language = Language(6);
    /// Lua.
    pub const LUA: Language = Language(7);

    const NAMES: [&'static str; 7] = ["python", "javascript", "java", "ruby", "php", "perl", "lua"];

    /// Its name in JSON; `None` for one that has none yet.
    pub fn name(self) -> Option<&'static str> {
        Self::NAMES.get(usize::from(self.0).checked_sub(1)?).copied()
    }

    /// The language of this name.
    pub fn from_name(name: &str) -> Option<Language> {
        let index = Self::NAMES.iter().position(|known| *known == name)?;
        Some(Language(index as u8 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_belong_together() {
        for number in 1..=7 {
            let language = Language(number);
            assert_eq!(Language::from_name(language.name().unwrap()), Some(language));
        }
        assert_eq!((Language(0).name(), Language(8).name()), (None, None));
        assert_eq!(Language::PYTHON.name(), Some("python"));
    }
}
