//! A slot of the live table, written by the threads that own its block one after the other, and copied
//! by a reader that no one waits for.
//!
//! What a reader may rely on: a copy whose word 0 is not live is no block, ever. What it may not: one copy
//! of a live slot can have word 0 of one block and word 1 - birth, low bits of the thread - of the block
//! that came to the same place after it. To notice, copy again and take only what stays the same, with a
//! fence after each copy: births differ, so the same words are the same block. Twice is enough where a
//! copy reads word 0 before word 1; a copy in any order has to be made three times, because word 0 alone
//! may come back: the next block of the same size from the same stack. And word 1 must be stored with
//! `Release`, so that who sees it also sees that word 0 was cleared before. With `Relaxed` that holds
//! only on processors that keep stores in order, such as x86-64.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use loom::sync::Arc;
use loom::sync::atomic::fence;
use loom::thread;

use crate::explore;
use crate::sync::{AtomicU64, Ordering};

type Words = [AtomicU64; 2];
type Block = [u64; 2];

/// Blocks at one address. The first and the last have the same word 0: size, stack and upper thread bits.
const BLOCKS: [Block; 3] = [[1, 100], [2, 200], [1, 300]];

fn insert(words: &Words, block: Block, word1: Ordering) {
    words[1].store(block[1], word1);
    words[0].store(block[0], Ordering::Release);
}

fn take(words: &Words) {
    words[0].store(0, Ordering::Relaxed);
}

/// Copies both words: in any order, or word 0 first.
fn copy(words: &Words, word0: Ordering) -> Block {
    let copied = [words[0].load(word0), words[1].load(Ordering::Relaxed)];
    fence(Ordering::SeqCst);
    copied
}

fn is_block(copied: Block) -> bool {
    copied[0] == 0 || BLOCKS.contains(&copied)
}

/// The copies of a slot that a reader makes while its blocks come and go.
fn copies<const N: usize>(word0: Ordering, word1: Ordering) -> [Block; N] {
    let words = Arc::new(Words::default());
    insert(&words, BLOCKS[0], word1);
    let owner = Arc::clone(&words);
    let thread = thread::spawn(move || {
        for block in &BLOCKS[1..] {
            take(&owner);
            insert(&owner, *block, word1);
        }
    });
    let copied = std::array::from_fn(|_| copy(&words, word0));
    thread.join().unwrap();
    copied
}

fn what_stays_is_a_block<const N: usize>(word0: Ordering, word1: Ordering) {
    let copied = copies::<N>(word0, word1);
    let stays = copied.iter().all(|again| *again == copied[0]);
    assert!(!stays || is_block(copied[0]), "{copied:?}: two blocks, and it was not noticed");
}

#[test]
fn what_stays_in_three_copies_is_one_block() {
    explore("slot copied three times", 4, || what_stays_is_a_block::<3>(Relaxed, Release));
}

#[test]
fn what_stays_in_two_copies_that_read_word_0_first_is_one_block() {
    explore("slot copied twice, word 0 first", 4, || what_stays_is_a_block::<2>(Acquire, Release));
}

#[test]
#[should_panic = "it was not noticed"]
fn two_copies_in_any_order_are_not_enough() {
    explore("slot copied twice", 4, || what_stays_is_a_block::<2>(Relaxed, Release));
}

#[test]
#[should_panic = "it was not noticed"]
fn word_1_is_not_ordered_after_the_clearing_of_word_0() {
    explore("slot, word 1 relaxed", 4, || what_stays_is_a_block::<2>(Acquire, Relaxed));
}

#[test]
fn one_copy_may_be_of_two_blocks() {
    static MIXED: AtomicBool = AtomicBool::new(false);
    explore("slot copied once", 4, || {
        if !is_block(copies::<1>(Acquire, Release)[0]) {
            MIXED.store(true, SeqCst);
        }
    });
    assert!(MIXED.load(SeqCst), "then a reader need not copy twice");
}
