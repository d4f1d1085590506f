//! Paths in the tokens of a macro's call or of its rules: nothing parses them, but `crate::x::Y` looks the
//! same there as elsewhere.

use proc_macro2::{TokenStream, TokenTree};

/// A path as its parts: `crate`, `x`, `Y`.
pub(crate) type PathParts = Vec<String>;

/// All paths in the tokens, also those of one part. A part that follows a dot is a method or a field and
/// begins none.
pub(crate) fn paths(tokens: &TokenStream) -> Vec<PathParts> {
    let mut found = Vec::new();
    let mut reader = Reader::default();
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(ident) => reader.name(ident.to_string(), &mut found),
            TokenTree::Punct(punct) => reader.sign(punct.as_char(), &mut found),
            TokenTree::Group(group) => {
                reader.end(&mut found);
                found.extend(paths(&group.stream()));
            }
            TokenTree::Literal(_) => reader.end(&mut found),
        }
    }
    reader.end(&mut found);
    found
}

/// The path that is being read, and the signs since its last part.
#[derive(Default)]
struct Reader {
    parts: PathParts,
    colons: usize,
    follows_dot: bool,
}

impl Reader {
    fn name(&mut self, name: String, found: &mut Vec<PathParts>) {
        if self.follows_dot {
            self.follows_dot = false;
            return;
        }
        if self.colons != 2 {
            self.end(found);
        }
        self.colons = 0;
        self.parts.push(name);
    }

    fn sign(&mut self, sign: char, found: &mut Vec<PathParts>) {
        if sign == ':' && !self.parts.is_empty() {
            self.colons += 1;
        } else {
            self.end(found);
        }
        self.follows_dot = sign == '.';
    }

    fn end(&mut self, found: &mut Vec<PathParts>) {
        self.colons = 0;
        self.follows_dot = false;
        if !self.parts.is_empty() {
            found.push(std::mem::take(&mut self.parts));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &[&str]) {
        let tokens: TokenStream = source.parse().expect("tokens");
        let found: Vec<_> = paths(&tokens).iter().map(|path| path.join("::")).collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn paths_in_tokens() {
        check("\"{}\", crate::x::Y, z", &["crate::x::Y", "z"]);
        check("$crate::x::y(a.b::<C>(), super::d)", &["crate::x::y", "a", "C", "super::d"]);
        check("name: Type", &["name", "Type"]);
        check("vec![x::Y; 3].len()", &["vec", "x::Y"]);
    }
}
