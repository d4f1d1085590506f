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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a reader makes of it, by the description of the format.
    fn decode(mut bytes: &[u8], width: u32, count: usize) -> Vec<u32> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            let (mut head, mut shift) = (0u64, 0);
            loop {
                let byte = bytes[0];
                bytes = &bytes[1..];
                head |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            if head & 1 == 0 {
                let n = width.div_ceil(8) as usize;
                let mut value = [0; 4];
                value[..n].copy_from_slice(&bytes[..n]);
                bytes = &bytes[n..];
                numbers.extend(std::iter::repeat_n(u32::from_le_bytes(value), (head >> 1) as usize));
            } else {
                let values = (head >> 1) as usize * GROUP;
                let bit = |n: usize| bytes[n / 8] >> (n % 8) & 1;
                let of = |n: usize| {
                    (0..width as usize).fold(0, |v, b| v | u32::from(bit(n * width as usize + b)) << b)
                };
                numbers.extend((0..values).map(of));
                bytes = &bytes[values * width as usize / 8..];
            }
        }
        assert!(bytes.is_empty());
        numbers.truncate(count);
        numbers
    }

    #[test]
    fn numbers_come_back() {
        for (width, numbers) in [
            (0, vec![0; 20]),
            (1, vec![1, 0, 1]),
            (3, [vec![5; 30], vec![1, 2, 3], vec![7; 9], vec![0]].concat()),
        ] {
            let mut out = Vec::new();
            encode(&numbers, width, &mut out);
            assert_eq!(decode(&out, width, numbers.len()), numbers);
        }
        assert_eq!([0, 1, 2, 255, 256].map(width_of), [0, 1, 2, 8, 9]);
    }

    proptest! {
        #[test]
        fn any_numbers_come_back(runs in prop::collection::vec((0u32..1 << 17, 1usize..20), 0..50)) {
            let numbers: Vec<u32> = runs.iter().flat_map(|(n, times)| std::iter::repeat_n(*n, *times)).collect();
            let mut out = Vec::new();
            encode(&numbers, 17, &mut out);
            prop_assert_eq!(decode(&out, 17, numbers.len()), numbers);
        }
    }
}
