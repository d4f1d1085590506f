//! Bounds of what a reader takes and a writer makes, as Go's own tools have them.

use heapscribe_wire::varint;

/// Frames of a stack.
pub const FRAMES_MAX: usize = 1000;
/// Bytes of a text.
pub const STRING_BYTES_MAX: usize = 1_000_000;
/// Bytes behind the header of a batch.
pub const BATCH_BYTES_MAX: usize = 64 << 10;
/// Bytes of the longest record: one with a text.
pub(crate) const RECORD_BYTES_MAX: usize = 1 + 8 * varint::MAX_BYTES + STRING_BYTES_MAX;
/// Values of an event besides its time and its stack.
pub(crate) const VALUES_MAX: usize = 4;

/// Bytes of a stack record at most: its kind, the room for its length, its number, how many frames, and
/// four numbers for each frame.
pub(crate) const fn stack_bytes_max(frames: usize) -> usize {
    1 + varint::MAX_BYTES + (2 + 4 * frames) * varint::MAX_BYTES
}

/// Bytes of a text that is written, as Go cuts them.
pub const WRITTEN_TEXT_BYTES_MAX: usize = 1 << 10;
/// Bytes of a buffer of the writer, and of the events in it.
pub(crate) const BUFFER_BYTES: usize = 64 << 10;
/// Bytes of an event's kind, length, time, values and stack at most.
pub(crate) const NUMBERS_BYTES_MAX: usize = 2 + (VALUES_MAX + 2) * varint::MAX_BYTES;
/// Bytes of an event that is written at most, behind its batch's begin and with its text.
pub(crate) const EVENT_BYTES_MAX: usize = 2 * NUMBERS_BYTES_MAX + varint::MAX_BYTES + WRITTEN_TEXT_BYTES_MAX;

const _: () = assert!(stack_bytes_max(FRAMES_MAX) < BUFFER_BYTES && EVENT_BYTES_MAX < BUFFER_BYTES);
