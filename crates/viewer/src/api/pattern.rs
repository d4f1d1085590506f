//! What is asked of names: a part of one, the whole of one, or a regular expression.

use regex::{Regex, RegexBuilder};

use crate::model::Function;

/// The longest text of one, bytes.
const TEXT_BYTES_MAX: usize = 1_000;
/// Memory of a regular expression, bytes: `\w{999}{999}` would take all there is.
const MEMORY_BYTES_MAX: usize = 1 << 20;

/// A pattern.
#[derive(Debug)]
pub(super) enum Pattern {
    /// A part of the name or the file, in letters of any case: here in small ones.
    Part(String),
    /// The whole name, behind `=`.
    Whole(String),
    /// A regular expression for the name or the file, between `/` and `/`, in letters of any case.
    Regex(Regex),
}

impl Pattern {
    /// Reads it; what is wrong with it, in words.
    pub(super) fn parse(text: &str) -> Result<Pattern, String> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(format!("a pattern has at most {TEXT_BYTES_MAX} bytes"));
        }
        if let Some(name) = text.strip_prefix('=') {
            return Ok(Pattern::Whole(name.to_owned()));
        }
        let Some(inner) = text.strip_prefix('/').and_then(|text| text.strip_suffix('/')) else {
            return Ok(Pattern::Part(text.to_lowercase()));
        };
        let built = RegexBuilder::new(inner)
            .case_insensitive(true)
            .size_limit(MEMORY_BYTES_MAX)
            .dfa_size_limit(MEMORY_BYTES_MAX)
            .build();
        match built {
            Ok(regex) => Ok(Pattern::Regex(regex)),
            Err(regex::Error::CompiledTooBig(_)) => Err("the regular expression is too large".to_owned()),
            Err(e) => Err(format!("`{inner}` is no regular expression: {}", last_line(&e.to_string()))),
        }
    }

    /// Whether a function has it.
    pub(super) fn is_of(&self, function: &Function) -> bool {
        let either =
            |has: &dyn Fn(&str) -> bool| has(&function.name) || function.file.as_deref().is_some_and(has);
        match self {
            Pattern::Part(part) => either(&|of| of.to_lowercase().contains(part)),
            Pattern::Whole(name) => function.name == *name,
            Pattern::Regex(regex) => either(&|of| regex.is_match(of)),
        }
    }
}

/// The sentence without the picture that stands before it.
fn last_line(error: &str) -> &str {
    error.lines().last().unwrap_or(error).trim_start_matches("error: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: &str, file: Option<&str>, expected: bool) {
        let function = Function { name: name.to_owned(), file: file.map(str::to_owned), module: None };
        assert_eq!(Pattern::parse(text).unwrap().is_of(&function), expected, "{text} {function:?}");
    }

    #[test]
    fn a_pattern_is_a_part_a_name_or_a_regular_expression() {
        check("Vec<", "std::vec<int>::push", None, true);
        check("new(unsigned", "operator new(unsigned long)", None, true);
        check("app.C", "main", Some("src/app.c"), true);
        check("=main", "main", None, true);
        check("=main", "domain", None, false);
        check("=app.c", "main", Some("app.c"), false);
        check("/^(main|start)$/", "Main", None, true);
        check("/^(main|start)$/", "domain", None, false);
        check("/\\.c$/", "main", Some("src/app.c"), true);
        check("/", "operator/", None, true);
    }

    #[test]
    fn what_would_take_all_memory_is_refused() {
        for (text, why) in [
            ("/(/".to_owned(), "`(` is no regular expression: unclosed group"),
            (r"/\w{999}{999}/".to_owned(), "the regular expression is too large"),
            ("x".repeat(TEXT_BYTES_MAX + 1), "a pattern has at most 1000 bytes"),
        ] {
            assert_eq!(Pattern::parse(&text).unwrap_err(), why, "{text}");
        }
    }
}
