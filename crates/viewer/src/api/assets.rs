//! The files of the page. They are in the program: there is nothing to install, and nothing is read from the disk.

use crate::http::Response;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// A file of the page, by its name.
macro_rules! files {
    ($($name:literal $content_type:ident,)*) => {
        &[$(($name, $content_type, include_bytes!(concat!("../../page/", $name)))),*]
    };
}

/// All files: name, kind, content.
const FILES: &[(&str, &str, &[u8])] = files![
    "index.html" HTML,
    "style.css" CSS,
    "icon.svg" SVG,
    "api.js" JS,
    "bands.js" JS,
    "bands_view.js" JS,
    "changes.js" JS,
    "chips.js" JS,
    "colors.js" JS,
    "command.js" JS,
    "controls.js" JS,
    "density.js" JS,
    "density_view.js" JS,
    "dom.js" JS,
    "embedded.js" JS,
    "findings.js" JS,
    "flame.js" JS,
    "flame_actions.js" JS,
    "flame_draw.js" JS,
    "flame_layout.js" JS,
    "flame_part.js" JS,
    "generations.js" JS,
    "held.js" JS,
    "lanes.js" JS,
    "lanes_view.js" JS,
    "lifetimes.js" JS,
    "lifetimes_view.js" JS,
    "live.js" JS,
    "main.js" JS,
    "messages.js" JS,
    "numbers.js" JS,
    "pages.js" JS,
    "processes.js" JS,
    "scale.js" JS,
    "sizes.js" JS,
    "source.js" JS,
    "state.js" JS,
    "tables.js" JS,
    "timeline.js" JS,
    "timeline_input.js" JS,
    "timeline_view.js" JS,
    "tooltip.js" JS,
    "views.js" JS,
];

/// The answer to a request for one; the page itself has no name.
pub(super) fn asset(path: &str) -> Option<Response> {
    let name = if path.is_empty() { "index.html" } else { path };
    let (_, content_type, content) = FILES.iter().find(|(of, ..)| *of == name)?;
    Some(Response::file(content_type, content))
}

/// The text of a file; that of one which is not there is empty.
pub(crate) fn asset_text(name: &str) -> &'static str {
    let found = FILES.iter().find(|(of, ..)| *of == name);
    found.and_then(|(.., content)| std::str::from_utf8(content).ok()).unwrap_or_default()
}

/// The names of all scripts.
pub(crate) fn script_names() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter(|(_, content_type, _)| *content_type == JS).map(|(name, ..)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_complete_and_runs_nothing_that_is_not_a_file() {
        let total: usize = FILES.iter().map(|(.., content)| content.len()).sum();
        assert!(total <= 300 << 10, "{total} bytes");
        let of_folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/page")).unwrap();
        // Browsers do not read types.
        let is_of_page = |name: &String| !name.ends_with(".d.ts") && name != "tsconfig.json";
        let mut there: Vec<_> = of_folder
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(is_of_page)
            .collect();
        let mut known: Vec<_> = FILES.iter().map(|(name, ..)| (*name).to_owned()).collect();
        there.sort();
        known.sort();
        assert_eq!(there, known);
        for (name, _, content) in FILES {
            let text = std::str::from_utf8(content).unwrap();
            // Names of functions are text: no file puts any text into markup, and the policy has no inline code.
            for never in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "http://",
                "https://",
            ] {
                let is_namespace = never == "http://" && *name == "icon.svg";
                assert!(is_namespace || !text.contains(never), "{name}: {never}");
            }
            let is_inline =
                |word: &str| word.starts_with("style=") || (word.starts_with("on") && word.contains('='));
            assert!(*name != "index.html" || !text.split_whitespace().any(is_inline), "{name}");
        }
    }
}
