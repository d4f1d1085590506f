//! Makes all checksums in damaged bytes right again, so that what lies behind them is reached. The fuzzer
//! has this file too.

/// Recomputes the checksums of the file header, of everything that begins like a block, and of the footer
/// with its length.
pub(crate) fn reseal(bytes: &mut [u8]) {
    let len = bytes.len();
    if len < 64 {
        return;
    }
    seal(&mut bytes[..32]);
    let mut at = 32;
    while at + 32 <= len {
        if bytes[at..].starts_with(b"\xf1hsB") {
            block(&mut bytes[at..]);
        }
        at += 1;
    }
    let footer = &mut bytes[len - 32..];
    if footer.starts_with(b"HSCREND\n") {
        footer[16..24].copy_from_slice(&(len as u64).to_le_bytes());
        seal(footer);
    }
}

fn seal(header: &mut [u8]) {
    let crc = crc32c::crc32c(&header[..28]);
    header[28..32].copy_from_slice(&crc.to_le_bytes());
}

fn block(bytes: &mut [u8]) {
    let stored = u32::from_le_bytes([bytes[20], bytes[21], bytes[22], bytes[23]]) as usize;
    if let Some(stored) = bytes[32..].get(..stored) {
        let crc = crc32c::crc32c(stored);
        bytes[24..28].copy_from_slice(&crc.to_le_bytes());
    }
    seal(&mut bytes[..32]);
}
