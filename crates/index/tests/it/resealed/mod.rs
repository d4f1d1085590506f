//! Any bytes as an index whose sums are right, so that what is in them is looked at: also for a fuzzer.

/// An index of which `bytes` are the sections, one after the other: kind, number, two bytes of length, and so many
/// bytes before they are compressed.
pub(crate) fn index_of(bytes: &[u8]) -> Vec<u8> {
    let (mut file, mut directory, mut rest) = (b"HSindex\n".to_vec(), Vec::new(), bytes);
    while let [kind, number, low, high, after @ ..] = rest {
        let (raw, after) = after.split_at(usize::from(u16::from_le_bytes([*low, *high])).min(after.len()));
        rest = after;
        let offset = file.len() as u64;
        file.extend(frame(raw));
        let row =
            [u64::from(*kind), u64::from(*number), offset, file.len() as u64 - offset, raw.len() as u64];
        directory.push(row);
    }
    let mut raw = (directory.len() as u64).to_le_bytes().to_vec();
    raw.extend([8; 5]);
    (0..5).for_each(|column| raw.extend(directory.iter().flat_map(|row| row[column].to_le_bytes())));
    let (offset, stored) = (file.len() as u64, frame(&raw));
    file.extend_from_slice(&stored);
    for n in [offset, stored.len() as u64, raw.len() as u64, heapscribe_index::VERSION] {
        file.extend(n.to_le_bytes());
    }
    file.extend(b"HSindex\n");
    file
}

fn frame(raw: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(raw, 1).unwrap_or_default()
}
