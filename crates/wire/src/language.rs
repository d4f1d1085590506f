//! What the code of an interpreted frame is written in.

/// A language, by its number in definitions. A reader shows those that it does not know by their number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Language(pub u8);

impl Language {
    /// Python.
    pub const PYTHON: Language = Language(1);

    const NAMES: [&'static str; 5] = ["python", "javascript", "java", "ruby", "php"];

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
        for number in 1..=5 {
            let language = Language(number);
            assert_eq!(Language::from_name(language.name().unwrap()), Some(language));
        }
        assert_eq!((Language(0).name(), Language(6).name()), (None, None));
        assert_eq!(Language::PYTHON.name(), Some("python"));
    }
}
