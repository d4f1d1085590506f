//! Rows as columns: what lies together is alike, and compresses well. Each column has as many bytes for a value as its
//! largest one needs, so that any row is found without those before it.
//!
//! ```text
//!   u64      number of rows
//!   N bytes  bytes of a value, for each column: 0 (all are 0; not the first), 1, 2, 4 or 8
//!   columns  one after the other, little endian
//! ```

use std::ops::Range;

/// Rows of columns are damaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Damaged;

/// Rows that were read.
#[derive(Clone, Debug)]
pub(crate) struct Rows<const N: usize> {
    bytes: Vec<u8>,
    count: usize,
    columns: [Column; N],
}

#[derive(Clone, Copy, Debug, Default)]
struct Column {
    begin: usize,
    width: usize,
}

/// The rows of so many columns, one column after the other.
pub(crate) fn encode<const N: usize>(rows: &[[u64; N]]) -> Vec<u8> {
    let all = rows.iter().fold([0; N], |all: [u64; N], row| std::array::from_fn(|n| all[n] | row[n]));
    let mut widths = all.map(width);
    widths[0] = widths[0].max(1); // so that no number of rows is without bytes
    let mut out = Vec::with_capacity(8 + N + rows.len() * widths.iter().sum::<usize>());
    out.extend_from_slice(&(rows.len() as u64).to_le_bytes());
    out.extend(widths.map(|width| width as u8));
    for (column, width) in widths.into_iter().enumerate() {
        let values = rows.iter().map(|row| row[column].to_le_bytes());
        match width {
            0 => {}
            1 => put::<1>(values, &mut out),
            2 => put::<2>(values, &mut out),
            4 => put::<4>(values, &mut out),
            _ => put::<8>(values, &mut out),
        }
    }
    out
}

/// The first bytes of each value; that their number is known when this is compiled saves a call for each.
fn put<const WIDTH: usize>(values: impl ExactSizeIterator<Item = [u8; 8]>, out: &mut Vec<u8>) {
    let begin = out.len();
    out.resize(begin + values.len() * WIDTH, 0);
    for (at, value) in out[begin..].chunks_exact_mut(WIDTH).zip(values) {
        at.copy_from_slice(&value[..WIDTH]);
    }
}

/// The values of a column.
fn get<const WIDTH: usize>(bytes: &[u8], values: &mut [u64]) {
    for (bytes, value) in bytes.chunks_exact(WIDTH).zip(values) {
        let mut wide = [0; 8];
        wide[..WIDTH].copy_from_slice(bytes);
        *value = u64::from_le_bytes(wide);
    }
}

/// Values of a column that are read at a time.
const BLOCK: usize = 256;

/// Bytes for values that have at most these bits.
const fn width(bits: u64) -> usize {
    match bits {
        0 => 0,
        1..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

impl<const N: usize> Rows<N> {
    /// Of these bytes, which are as many as they say.
    pub(crate) fn decode(bytes: Vec<u8>) -> Result<Self, Damaged> {
        let (count, rest) = bytes.split_first_chunk().ok_or(Damaged)?;
        let widths: &[u8; N] = rest.first_chunk().ok_or(Damaged)?;
        let count = usize::try_from(u64::from_le_bytes(*count)).map_err(|_| Damaged)?;
        let (mut columns, mut begin) = ([Column::default(); N], 8 + N);
        for (column, width) in columns.iter_mut().zip(widths) {
            let width = matches!(width, 0 | 1 | 2 | 4 | 8).then_some(usize::from(*width)).ok_or(Damaged)?;
            *column = Column { begin, width };
            begin = count.checked_mul(width).and_then(|len| begin.checked_add(len)).ok_or(Damaged)?;
        }
        if begin == bytes.len() && columns[0].width != 0 {
            Ok(Rows { bytes, count, columns })
        } else {
            Err(Damaged)
        }
    }

    /// No rows.
    pub(crate) fn none() -> Self {
        Rows { bytes: Vec::new(), count: 0, columns: [Column::default(); N] }
    }

    /// A value of a row that there is.
    #[inline(always)]
    pub(crate) fn value(&self, row: usize, column: usize) -> u64 {
        let Column { begin, width } = self.columns[column];
        let value = &self.bytes[begin + row * width..];
        match width {
            0 => 0,
            1 => u64::from(value[0]),
            2 => u64::from(u16::from_le_bytes([value[0], value[1]])),
            4 => u64::from(u32::from_le_bytes([value[0], value[1], value[2], value[3]])),
            _ => u64::from_le_bytes(*value.first_chunk().unwrap_or(&[0; 8])),
        }
    }

    /// Takes some of them, in their order. Some hundred values of a column are read at a time, as their width is looked
    /// at once then.
    #[inline(always)]
    pub(crate) fn each(&self, rows: Range<usize>, mut take: impl FnMut([u64; N])) {
        let mut block = [[0; BLOCK]; N];
        for begin in rows.clone().step_by(BLOCK) {
            let count = BLOCK.min(rows.end - begin);
            for (Column { begin: at, width }, values) in self.columns.iter().zip(&mut block) {
                let bytes = &self.bytes[at + begin * width..at + (begin + count) * width];
                let values = &mut values[..count];
                match width {
                    0 => values.fill(0),
                    1 => get::<1>(bytes, values),
                    2 => get::<2>(bytes, values),
                    4 => get::<4>(bytes, values),
                    _ => get::<8>(bytes, values),
                }
            }
            (0..count).for_each(|row| take(std::array::from_fn(|column| block[column][row])));
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> Range<usize> {
        0..self.count
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = [u64; N]> {
        self.all().map(|row| std::array::from_fn(|column| self.value(row, column)))
    }

    /// The first row whose first value is at least this; first values ascend.
    pub(crate) fn first_at_least(&self, value: u64) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.value(middle, 0) < value { low = middle + 1 } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any of them are taken as they are.
    fn check_each<const N: usize>(read: &Rows<N>, rows: &[[u64; N]]) {
        for (begin, end) in [(0, rows.len()), (rows.len() / 3, rows.len()), (0, rows.len() / 2)] {
            let mut taken = Vec::new();
            read.each(begin..end, |row| taken.push(row));
            assert_eq!(taken, rows[begin..end]);
        }
    }

    #[test]
    fn many_rows_are_read_a_part_at_a_time() {
        for shift in [0, 3, 20, 50] {
            let row = |n: u64| [n, n << shift, 7];
            let rows: Vec<_> = (0..3 * BLOCK as u64 + 5).map(row).collect();
            check_each(&Rows::decode(encode(&rows)).unwrap(), &rows);
        }
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        for rows in [
            vec![],
            vec![[0, u64::MAX, 127]],
            vec![[1, 2, 3], [128, 1 << 63, 300], [0, 0, 0]],
            vec![[1, 0, 1 << 20], [2, 0, 7]],
            vec![[0, 0, 0]],
        ] {
            let read = Rows::<3>::decode(encode(&rows)).unwrap();
            assert_eq!(read.iter().collect::<Vec<_>>(), rows);
            check_each(&read, &rows);
        }
    }

    #[test]
    fn a_row_is_found_by_its_first_value() {
        let rows = Rows::<1>::decode(encode(&[[2], [2], [5], [300]])).unwrap();
        for (value, row) in [(0, 0), (2, 0), (3, 2), (5, 2), (6, 3), (300, 3), (301, 4)] {
            assert_eq!(rows.first_at_least(value), row, "{value}");
        }
    }

    #[test]
    fn damaged_rows_are_refused() {
        let whole = encode(&[[1, 2], [3, 400]]);
        for len in 0..whole.len() {
            assert_eq!(Rows::<2>::decode(whole[..len].to_vec()).err(), Some(Damaged), "{len}");
        }
        let rows = |count: u64, rest: &[u8]| [&count.to_le_bytes()[..], rest].concat();
        for bytes in [
            rows(u64::MAX, &[8, 8]),
            rows(u64::MAX, &[0, 0]),
            rows(1, &[3, 1, 0, 0, 0, 0]),
            rows(1, &[1, 1, 0]),
        ] {
            assert_eq!(Rows::<2>::decode(bytes).err(), Some(Damaged));
        }
    }
}
