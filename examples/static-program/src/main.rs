//! A program without a dynamic loader, so that nothing can be preloaded into it: it has the recorder in
//! itself. It counts the words of a file or of its input, and allocates in threads.
//!
//! ```text
//! RUSTFLAGS="-C target-feature=+crt-static" cargo build --release -p static-program --target x86_64-unknown-linux-gnu
//! heapscribe record -- target/x86_64-unknown-linux-gnu/release/static-program README.md
//! ```
//! For `x86_64-unknown-linux-musl`, where programs are static by default, it is the same.

use std::alloc::System;
use std::collections::HashMap;
use std::thread;

use heapscribe_recorder::global::RecordedHeap;

#[global_allocator]
static HEAP: RecordedHeap<System> = RecordedHeap::new(System);

/// Bytes of reallocations, so that the longest part of the report is of known size.
const CHURN_BYTES: usize = 100_000;

fn count_words(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text.split_whitespace() {
        *words.entry(word.to_lowercase()).or_insert(0) += 1;
    }
    words
}

/// Grows by itself, which is `realloc`, and is freed at the end.
fn churn() -> usize {
    let mut bytes = Vec::new();
    (0..CHURN_BYTES).for_each(|n| bytes.push(n as u8));
    bytes.iter().map(|&b| usize::from(b)).sum()
}

#[repr(align(4096))]
struct Page([u8; 4096]);

/// A block with an alignment that is never freed.
fn leak_page() -> usize {
    let page: &'static Page = Box::leak(Box::new(Page([7; 4096])));
    page.0.iter().map(|&b| usize::from(b)).sum()
}

fn main() -> std::io::Result<()> {
    let text = match std::env::args_os().nth(1) {
        Some(path) => std::fs::read_to_string(path)?,
        None => std::io::read_to_string(std::io::stdin())?,
    };
    let threads: Vec<_> = (0..4).map(|_| thread::spawn(churn)).collect();
    let words = count_words(&text);
    let sums: usize = threads.into_iter().filter_map(|thread| thread.join().ok()).sum();
    println!("{} words, sum {}", words.len(), sums + leak_page());
    Ok(())
}
