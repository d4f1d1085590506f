//! Parquet's mixture of runs and of packed bits, for small numbers: levels of nesting, and places in a dictionary.

use super::thrift::varint;

/// As many equal numbers are a run; packed ones come in groups of as many.
const GROUP: usize = 8;

/// Bits that a number of this size at most takes.
pub(super) fn width_of(most: u32) -> u32 {
    u32::BITS - most.leading_zeros()
}

/// Writes numbers of so many bits.
pub(super) fn encode(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    let (mut at, mut packed_from) = (0, 0);
    while at < numbers.len() {
        let is_aligned = (at - packed_from).is_multiple_of(GROUP);
        let run = if is_aligned { run_at(&numbers[at..]) } else { 0 };
        if run < GROUP {
            at += 1;
            continue;
        }
        pack(&numbers[packed_from..at], width, out);
        varint(out, (run as u64) << 1);
        let bytes = numbers[at].to_le_bytes();
        out.extend_from_slice(&bytes[..width.div_ceil(8) as usize]);
        at += run;
        packed_from = at;
    }
    pack(&numbers[packed_from..], width, out);
}

fn run_at(numbers: &[u32]) -> usize {
    numbers.iter().take_while(|number| **number == numbers[0]).count()
}

/// Groups of eight numbers, the lowest bits first; the last group is filled with zeroes.
fn pack(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(GROUP);
    varint(out, (groups as u64) << 1 | 1);
    let (mut bits, mut count) = (0u64, 0);
    let filled = numbers.iter().chain(std::iter::repeat(&0)).take(groups * GROUP);
    for number in filled {
        bits |= u64::from(*number) << count;
        count += width;
        while count >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            count -= 8;
        }
    }
}

/// Reads so many numbers; what is wrong with them, and how far into the bytes.
pub(super) fn decode(bytes: &[u8], width: u32, count: usize) -> Result<Vec<u32>, (&'static str, usize)> {
    if width > u32::BITS {
        return Err(("numbers have more than 32 bits", 0));
    }
    let (mut numbers, mut at) = (Vec::new(), 0);
    while numbers.len() < count {
        let (head, length) = heapscribe_wire::varint::get(&bytes[at..]).ok_or(("numbers are cut", at))?;
        at += length;
        let left = count - numbers.len();
        let many = usize::try_from(head >> 1).unwrap_or(usize::MAX);
        if head & 1 == 0 {
            let value = bytes.get(at..at + width.div_ceil(8) as usize).ok_or(("numbers are cut", at))?;
            at += value.len();
            let value = value.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
            numbers.extend(std::iter::repeat_n(value, many.min(left)));
        } else {
            // The last group may be cut where no numbers are.
            let wanted = many.saturating_mul(GROUP).min(left);
            let end = at.saturating_add(many.saturating_mul(width as usize)).min(bytes.len());
            unpack(&bytes[at..end], width, wanted, &mut numbers).ok_or(("numbers are cut", at))?;
            at = end;
        }
    }
    Ok(numbers)
}

fn unpack(bytes: &[u8], width: u32, count: usize, numbers: &mut Vec<u32>) -> Option<()> {
    if bytes.len() < (count * width as usize).div_ceil(8) {
        return None;
    }
    let (mut bits, mut have, mut bytes) = (0u64, 0, bytes.iter());
    for _ in 0..count {
        while have < width {
            bits |= u64::from(*bytes.next()?) << have;
            have += 8;
        }
        numbers.push((bits & ((1 << width) - 1)) as u32);
        bits >>= width;
        have -= width;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_come_back() {
        for (width, numbers) in [
            (0, vec![0; 20]),
            (1, vec![1, 0, 1]),
            (3, [vec![5; 30], vec![1, 2, 3], vec![7; 9], vec![0]].concat()),
        ] {
            let mut out = Vec::new();
            encode(&numbers, width, &mut out);
            assert_eq!(decode(&out, width, numbers.len()), Ok(numbers));
        }
        assert_eq!([0, 1, 2, 255, 256].map(width_of), [0, 1, 2, 8, 9]);
    }

    proptest! {
        #[test]
        fn any_numbers_come_back(runs in prop::collection::vec((0u32..1 << 17, 1usize..20), 0..50)) {
            let numbers: Vec<u32> = runs.iter().flat_map(|(n, times)| std::iter::repeat_n(*n, *times)).collect();
            let mut out = Vec::new();
            encode(&numbers, 17, &mut out);
            prop_assert_eq!(decode(&out, 17, numbers.len()), Ok(numbers));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60), width in 0u32..40) {
            prop_assert!(decode(&bytes, width, 1000).is_ok_and(|numbers| numbers.len() == 1000)
                || decode(&bytes, width, 1000).is_err());
        }
    }
}
