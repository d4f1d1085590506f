//! The page with its style and its scripts inside. Modules become blocks of one script, each after those that it
//! imports: a file that is opened from a disk cannot import another one.

use crate::api::{asset_text, script_names};

/// A page, before and after the place of the answers.
pub(super) struct Page {
    before: String,
    after: String,
}

impl Page {
    /// How long it is without the answers.
    pub(super) fn len(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// With answers, as an object of JSON.
    pub(super) fn with(self, json: &str) -> String {
        // All that can end the element, or open a comment in it, begins so.
        self.before + &json.replace('<', "\\u003c") + &self.after
    }
}

const STYLE: &str = r#"<link rel="stylesheet" href="style.css">"#;
const ICON: &str = r#"<link rel="icon" href="icon.svg">"#;
const SCRIPT: &str = r#"<script type="module" src="main.js"></script>"#;

/// The page; what has this number used once may run and give it its looks.
pub(super) fn page(nonce: &str) -> Page {
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'"
    );
    let policy = format!(r#"<meta http-equiv="Content-Security-Policy" content="{policy}">"#);
    let style = format!("<style nonce=\"{nonce}\">\n{}</style>", asset_text("style.css"));
    let html = asset_text("index.html").replace(ICON, &policy).replace(STYLE, &style).replace(SCRIPT, "");
    let (body, end) = html.split_once("</body>").unwrap_or((&html, ""));
    Page {
        before: format!("{body}<script type=\"application/json\" id=\"answers\">"),
        after: format!(
            "</script>\n<script type=\"module\" nonce=\"{nonce}\">\n{}</script>\n</body>{end}",
            script()
        ),
    }
}

/// All modules as one script.
fn script() -> String {
    let mut script = Script { text: "const modules = {};\n".to_owned(), done: Vec::new() };
    script.add("main.js");
    script.text
}

struct Script {
    text: String,
    done: Vec<&'static str>,
}

impl Script {
    /// Adds a module after those that it imports, if it is not there.
    fn add(&mut self, name: &str) {
        let Some(name) = script_names().find(|of| *of == name) else { return };
        if self.done.contains(&name) {
            return;
        }
        self.done.push(name);
        let module = Module::of(asset_text(name));
        module.imports.iter().for_each(|from| self.add(from));
        let exports = module.exports.join(", ");
        self.text += &format!("{{ // {name}\n{}modules[\"{name}\"] = {{ {exports} }};\n}}\n", module.block);
    }
}

/// A module as a block.
#[derive(Default)]
struct Module<'a> {
    block: String,
    imports: Vec<&'a str>,
    exports: Vec<&'a str>,
}

impl<'a> Module<'a> {
    /// An import and an export are a line of their own each.
    fn of(text: &'a str) -> Module<'a> {
        let mut module = Module::default();
        for line in text.lines() {
            let imported = line.strip_prefix("import ").and_then(|rest| rest.split_once(" from \"./"));
            let line = match (imported, line.strip_prefix("export ")) {
                (Some((names, from)), _) => {
                    let from = from.trim_end_matches("\";");
                    module.imports.push(from);
                    &format!("const {names} = modules[\"{from}\"];")
                }
                (None, Some(exported)) => {
                    module.exports.extend(defined(exported));
                    exported
                }
                (None, None) => line,
            };
            module.block += line;
            module.block.push('\n');
        }
        module
    }
}

/// The name that a line defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.find(|word| !["async", "function", "class", "const"].contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_blocks_after_those_that_they_import() {
        let module = Module::of(
            "import { a, b } from \"./x.js\";\nexport class C {\n}\nexport const D = a;\nexport async function e() {}\nconst f = b;\n",
        );
        assert_eq!((&module.imports[..], &module.exports[..]), (&["x.js"][..], &["C", "D", "e"][..]));
        let block = "const { a, b } = modules[\"x.js\"];\nclass C {\n}\nconst D = a;\nasync function e() {}\nconst f = b;\n";
        assert_eq!(module.block, block);
        let script = script();
        for name in script_names() {
            let end = script.find(&format!("modules[\"{name}\"] = ")).unwrap_or_else(|| panic!("{name}"));
            let first_use = script.find(&format!(" = modules[\"{name}\"];")).unwrap_or(usize::MAX);
            assert!(end < first_use, "{name}");
        }
        let is_left = |line: &&str| line.starts_with("import") || line.starts_with("export");
        assert_eq!(script.lines().find(is_left), None);
    }

    #[test]
    fn nothing_ends_an_element_but_its_end() {
        let page = page("n0");
        let hostile = "</script><script>alert(1)</script><!--";
        let html = page.with(&format!("{{\"a\":\"{hostile}\"}}"));
        assert!(!html.contains("alert(1)</script>") && !html.contains("<!--"));
        for (tag, times) in
            [("<script", 2), ("</script", 2), ("<style", 1), ("</style", 1), ("href=", 0), ("src=", 0)]
        {
            assert_eq!(html.matches(tag).count(), times, "{tag}");
        }
        assert!(html.find("Content-Security-Policy") < html.find("<style"));
        assert!(html.ends_with("</html>\n"));
    }
}
