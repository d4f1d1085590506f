//! The page in one file: how large it is, what is in it, and that no name gets out of it.

use heapscribe_viewer::{SingleFile, Token, Viewer};

use crate::browser::in_browser;
use crate::client::open;
use crate::recording::{self, HOSTILE};

fn written(viewer: &Viewer<'_>) -> SingleFile {
    viewer.analyze();
    viewer.to_single_file(&Token::random().unwrap()).unwrap()
}

#[test]
fn a_file_is_a_page_without_a_server() {
    open(&[recording::trace("app.c")], |viewer| {
        let SingleFile { html, left_out } = written(&viewer);
        assert_eq!(left_out, Vec::<String>::new());
        // The page, its styles and its scripts, and some sixty views.
        assert!(html.len() < 300_000, "{}", html.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.html");
        std::fs::write(&path, &html).unwrap();
        in_browser("a_file_is_a_page_without_a_server", "file.mjs", &format!("file://{}", path.display()));
    });
}

#[test]
fn names_are_in_a_file_in_letters_that_end_nothing() {
    open(&[recording::trace("app.c")], |viewer| {
        let html = written(&viewer).html;
        // The question of a finding has the name, without what a tag begins with.
        assert!(!html.contains(HOSTILE) && !html.contains("<script>alert"));
        assert_eq!((html.matches("<script").count(), html.matches("</script").count()), (2, 2));
    });
}

#[test]
fn two_traces_are_compared_in_a_file_too() {
    open(&[recording::trace("app.c"), recording::trace("app.c")], |viewer| {
        let html = written(&viewer).html;
        for key in [r#""flame?base=trace""#, r#""functions?base=trace&order=change&show=left""#] {
            assert!(html.contains(key), "{key}");
        }
    });
}

#[test]
fn a_large_recording_is_cut_to_ten_megabytes_and_what_is_left_out_is_said() {
    open(&[recording::wide(3_950)], |viewer| {
        let SingleFile { html, left_out } = written(&viewer);
        assert!((9_000_000..=10_000_000).contains(&html.len()), "{}", html.len());
        assert!(html.contains(r#""flame?show=left""#));
        let text = left_out.join("\n");
        assert!(text.contains("There was no room for "), "{text}");
        assert!(text.contains("Of the bytes live at the peak, "), "{text}");
    });
}
