//! The functions of a file and how long they are.

use super::code::only as code_only;
use super::tree::File;

/// The functions of a file that have a body: their names, and their lines from the name to the last brace.
pub(crate) fn functions(file: &File) -> Vec<(String, usize)> {
    let code = code_only(file.text());
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = code[from..].find("fn ").map(|n| from + n) {
        from = at + 3;
        let in_word = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let name: String = code[from..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if let Some(end) = body_end(&code[from..]).filter(|_| !in_word && !name.is_empty()) {
            let lines = code[at..from + end].matches('\n').count() + 1;
            found.push((name, lines));
        }
    }
    found
}

/// Where the body that follows a function's name ends; none when it has no body.
fn body_end(code: &str) -> Option<usize> {
    let (mut round, mut curly) = (0i32, 0i32);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => round += 1,
            ')' | ']' => round -= 1,
            ';' if round == 0 && curly == 0 => return None,
            '{' => curly += 1,
            '}' if curly == 1 => return Some(at + 1),
            '}' => curly -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::Tree;

    #[test]
    fn functions_are_measured_from_their_name_to_their_last_brace() {
        let source = "fn a() {}\nfn b(x: [u8; 4]) -> u8 {\n  if x[0] > 1 {\n  }\n  \"}\"\n}\ntrait T { fn c(); }\nlet f: fn (u8);\n";
        assert_eq!(
            functions(&Tree::of(&[("a.rs", source)]).files[0]),
            [("a".to_owned(), 1), ("b".to_owned(), 5)]
        );
    }
}
