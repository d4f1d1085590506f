//! Integers in as few bytes as they need: 7 bits a byte, low end first, the high bit says "more"
//! (LEB128). Signed ones are zigzag folded first. Both directions stand here, and one round trip proves
//! them.

/// Bytes of the longest varint: 64 bits in sevens.
pub const MAX_BYTES: usize = 10;

/// Writes `value` at the start of `at`; how many bytes it took. Writes nothing and gives 0 when `at` is
/// too short.
#[inline(always)]
pub fn put(at: &mut [u8], value: u64) -> usize {
    // Nearly all numbers take one or two bytes: written as one word, without a branch on which it is. The
    // second byte of a short number is overwritten by what comes next.
    if value < 1 << 14
        && let Some(place) = at.first_chunk_mut::<2>()
    {
        let more = u16::from(value >= 0x80);
        *place = (value as u16 & 0x7f | more << 7 | (value as u16 >> 7) << 8).to_le_bytes();
        return 1 + usize::from(more);
    }
    // Times between events and ages: three or four.
    if value < 1 << 28
        && let Some(place) = at.first_chunk_mut::<4>()
    {
        let value = value as u32;
        let is_four = value >= 1 << 21;
        let sevens = value & 0x7f | (value & 0x3f80) << 1 | (value & 0x1f_c000) << 2 | (value >> 21) << 24;
        *place = (sevens | 0x8080 | u32::from(is_four) << 23).to_le_bytes();
        return 3 + usize::from(is_four);
    }
    put_any(at, value)
}

fn put_any(at: &mut [u8], mut value: u64) -> usize {
    let mut n = 0;
    while value >= 0x80 {
        let Some(byte) = at.get_mut(n) else { return 0 };
        *byte = value as u8 | 0x80;
        value >>= 7;
        n += 1;
    }
    let Some(byte) = at.get_mut(n) else { return 0 };
    *byte = value as u8;
    n + 1
}

/// Reads a varint at the start of `from`: the value and its length. `None` when the bytes end within it
/// or it holds more than 64 bits. Longer forms than needed are taken.
#[inline(always)]
pub fn get(from: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (i, &byte) in from.iter().take(MAX_BYTES).enumerate() {
        if i == MAX_BYTES - 1 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some((value, i + 1));
        }
    }
    None
}

/// Folds a signed number so that small ones of either sign are small.
#[inline(always)]
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline(always)]
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: u64, bytes: &[u8]) {
        let mut at = [0u8; MAX_BYTES];
        let n = put(&mut at, value);
        assert_eq!(&at[..n], bytes);
        assert_eq!(get(bytes), Some((value, bytes.len())));
        assert_eq!(put(&mut at[..n - 1], value), 0, "a buffer too short by one takes nothing");
        assert_eq!(get(&bytes[..n - 1]), None, "a varint cut short is none");
    }

    #[test]
    fn known_values() {
        check(0, &[0]);
        check(127, &[0x7f]);
        check(128, &[0x80, 1]);
        check((1 << 14) - 1, &[0xff, 0x7f]);
        check(1 << 14, &[0x80, 0x80, 1]);
        check((1 << 21) - 1, &[0xff, 0xff, 0x7f]);
        check(1 << 21, &[0x80, 0x80, 0x80, 1]);
        check((1 << 28) - 1, &[0xff, 0xff, 0xff, 0x7f]);
        check(1 << 28, &[0x80, 0x80, 0x80, 0x80, 1]);
        check(u64::MAX, &[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
    }

    #[test]
    fn too_many_bits_are_refused() {
        assert_eq!(get(&[255, 255, 255, 255, 255, 255, 255, 255, 255, 2]), None);
        assert_eq!(get(&[0x80; 11]), None);
    }

    #[test]
    fn padded_forms_are_taken() {
        assert_eq!(get(&[0x81, 0x80, 0x00]), Some((1, 3)));
    }

    #[test]
    fn zigzag_round_trip() {
        for v in [0, 1, -1, 1000, -1000, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(v)), v);
        }
        assert_eq!((zigzag(0), zigzag(-1), zigzag(1)), (0, 1, 2));
    }
}
