//! The crate heapscribe-api: a mark, a section, a pool, counts.

use heapscribe_api::{Pool, mark, section, stats};

fn main() {
    mark(c"start");
    let block = {
        let _section = section(c"request");
        Vec::<u8>::with_capacity(1000)
    };
    Pool::alloc(block.as_ptr(), 500);
    Pool::free(block.as_ptr());
    println!("{}", stats().is_some_and(|stats| stats.thread.allocated_bytes >= 1000));
}
