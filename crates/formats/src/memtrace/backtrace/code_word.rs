//! The two low bits of a code word.

/// The bucket is hit, and one prediction holds after it.
pub(super) const ONE_PREDICTED: u16 = 1;
/// The bucket is hit; the next byte counts the predictions that hold.
pub(super) const MANY_PREDICTED: u16 = 2;
/// The bucket is missed; the next eight bytes are its new code.
pub(super) const MISS: u16 = 3;
/// Mask of these bits.
pub(super) const TAG: u16 = 3;
