//! What the program writes about its own command line: completions, man pages, the reference.

use std::process::Command;

use crate::help::commands;
use crate::see::{Place, file};

/// Whether a shell reads a script without an error; `None` when it is not installed.
fn parses(shell: &str, script: &std::path::Path) -> Option<bool> {
    Command::new(shell).arg("-n").arg(script).status().ok().map(|status| status.success())
}

#[test]
fn completions_name_every_command_and_parse() {
    let place = Place::with_trace(b"");
    let help = place.stdout("--help");
    for shell in ["bash", "zsh", "fish"] {
        let script = place.stdout(&format!("completions {shell}"));
        for command in commands(&help) {
            assert!(script.contains(command), "{shell}: {command}");
        }
        for flag in ["when-full", "no-alloc-in", "debug-dir"] {
            assert!(script.contains(flag), "{shell}: {flag}");
        }
        std::fs::write(place.path(shell), script).unwrap();
        match parses(shell, &place.path(shell)) {
            Some(parses) => assert!(parses, "{shell} cannot read its completions"),
            None => crate::skip::skip(format_args!("{shell} is not installed (apt-get install {shell})")),
        }
    }
    assert!(place.failure("completions tcsh").ends_with("exit code 2"));
}

#[test]
fn every_command_has_a_man_page() {
    let place = Place::with_trace(b"");
    place.stdout("man --to man1");
    let of = |name: &str| file(&place.path(&format!("man1/{name}.1")));
    for command in commands(&place.stdout("--help")).into_iter().filter(|command| *command != "help") {
        let page = of(&format!("heapscribe-{command}"));
        let sections = [".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH \"EXIT CODES\""];
        sections.iter().for_each(|section| assert!(page.contains(section), "{command} {section}: {page}"));
    }
    assert!(of("heapscribe").contains("heapscribe\\-record(1)"));
    assert!(of("heapscribe-ctl-mark").contains("heapscribe_mark"));
    let record = of("heapscribe-record");
    for text in [".SH EXAMPLES", "\\-\\-when\\-full", ".SH HEAP", "heapscribe record \\-\\- ./server"] {
        assert!(record.contains(text), "{text}: {record}");
    }
    let pages = std::fs::read_dir(place.path("man1")).unwrap();
    assert!(pages.flatten().all(|page| !page.file_name().to_string_lossy().contains("reference")));
}

#[test]
fn the_reference_is_markdown() {
    let place = Place::with_trace(b"");
    place.stdout("reference --to pages");
    let page = file(&place.path("pages/cli.md"));
    assert!(page.starts_with("# Command line\n"), "{page}");
    for text in [
        "\n## Explain a trace\n",
        "\n### `heapscribe flame`\n\nDraw a flame graph.\n",
        "\n- `-o, --output <FILE>`: Where to write the flame graph",
        "\n- `--metric <METRIC>`: What the width of a frame shows \\[default: peak; of a range: allocated\\]\n  - `peak`: Bytes live at the peak",
        "\n#### `heapscribe ctl mark`\n",
        "\n## Exit codes\n",
        "  4    a rule is broken",
    ] {
        assert!(page.contains(text), "{text}\n{page}");
    }
}
