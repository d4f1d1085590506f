//! Rust source without its comments, strings and character literals: what is left can be searched for
//! words and braces. Line breaks stay, so that lines keep their numbers.

/// The code alone, everything else being blanks.
pub(crate) fn only(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < chars.len() {
        let end = skip(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(chars[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// Where the comment or literal that starts at `at` ends; `at` itself when none does.
fn skip(chars: &[char], at: usize) -> usize {
    let next = chars.get(at + 1).copied().unwrap_or(' ');
    let in_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match chars[at] {
        '/' if next == '/' => find(chars, at, |c| c == '\n'),
        '/' if next == '*' => block_comment(chars, at),
        '"' => string(chars, at + 1),
        'r' if !in_word || chars[at - 1] == 'b' || chars[at - 1] == 'c' => raw_string(chars, at),
        '\'' => character(chars, at),
        _ => at,
    }
}

fn find(chars: &[char], at: usize, wanted: impl Fn(char) -> bool) -> usize {
    chars[at..].iter().position(|&c| wanted(c)).map_or(chars.len(), |n| at + n)
}

fn block_comment(chars: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

fn string(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

fn raw_string(chars: &[char], start: usize) -> usize {
    let hashes = chars[start + 1..].iter().take_while(|&&c| c == '#').count();
    let open = start + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return start;
    }
    let is_end =
        |at: usize| chars[at] == '"' && chars[at + 1..].iter().take_while(|&&c| c == '#').count() >= hashes;
    (open + 1..chars.len()).find(|&at| is_end(at)).map_or(chars.len(), |at| at + 1 + hashes)
}

/// A character literal, and not a lifetime.
fn character(chars: &[char], at: usize) -> usize {
    match (chars.get(at + 1), chars.get(at + 2)) {
        (Some('\\'), _) => find(chars, at + 3, |c| c == '\'') + 1,
        (Some(_), Some('\'')) => at + 3,
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        assert_eq!(only(source).split_whitespace().collect::<Vec<_>>().join(" "), expected, "{source}");
    }

    #[test]
    fn comments_and_literals_go_and_code_stays() {
        check("a // { b\nc", "a c");
        check("a /* { /* } */ { */ b", "a b");
        check(r#"a "{ \" {" b"#, "a b");
        check(r##"a r#"{ " {"# b"##, "a b");
        check(r#"a b"{" c"{" d"#, "a b c d");
        check("f('{', '\\'', '\\u{7f}', b'{') g", "f( , , , b ) g");
        check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
        check("r#type for(r)", "r#type for(r)");
    }

    #[test]
    fn lines_keep_their_numbers() {
        let source = "a\n/* x\n y */ b\n\"1\n2\"\nc\n";
        assert_eq!(only(source).lines().count(), source.lines().count());
        assert_eq!(only(source).lines().nth(2).map(str::trim), Some("b"));
    }
}
