//! The page as one file that needs no server: scripts, styles and the answers to the questions that most people ask.
//!
//! ```text
//!   facts      what there is to ask about
//!   questions  what is asked, the most important first
//!   packed     their answers, as far as they fit
//!   bundle     the page, with all of its files in it
//! ```
//!
//! What a program calls its functions and threads gets into the file compressed, in letters and digits, or as JSON
//! without a `<`, so that no name can end the element that it is in. The policy of the page runs no script but its own,
//! and asks nobody.

mod bundle;
mod facts;
mod packed;
mod questions;

use crate::api::Viewer;
use crate::http::Token;

/// A page in one file.
#[derive(Debug)]
pub struct SingleFile {
    /// The file.
    pub html: String,
    /// What is not in it, in sentences.
    pub left_out: Vec<String>,
}

/// The file is at most so long, bytes.
const BYTES_MAX: usize = 10_000_000;

impl Viewer<'_> {
    /// Writes the page with the answers in it. Findings are there when all events have been read: see
    /// [`Viewer::analyze`]. No name in the recording can contain the token, which is made after it.
    /// None if there are so many threads and marks that not even these fit.
    pub fn to_single_file(&self, token: &Token) -> Option<SingleFile> {
        let page = bundle::page(&token.to_string());
        let answers = packed::Packed::of(self, BYTES_MAX - page.len())?;
        Some(SingleFile { html: page.with(&answers.to_json()), left_out: answers.left_out })
    }
}
