//! What is recorded, as people write it.

use heapscribe_wire::mode::{MEAN_BYTES_MAX, Mode};

use heapscribe_units::parse_bytes;

/// Bytes between two samples.
pub(super) fn parse_mean(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        0 => Err("the size must not be 0; remove --sample to record every block".to_owned()),
        mean if mean > MEAN_BYTES_MAX => Err(format!("`{text}` is too large; the maximum is 1TiB")),
        mean => Ok(mean),
    }
}

/// The mean that `sampled` alone stands for.
const MEAN_BYTES: u64 = 512 << 10;

/// What is recorded, in a word.
pub(crate) fn parse_mode(text: &str) -> Result<Mode, String> {
    match text.split_once(':') {
        None if text == "full" => Ok(Mode::Full),
        None if text == "off" => Ok(Mode::Off),
        None if text == "sampled" => Ok(Mode::Sampled { mean_bytes: MEAN_BYTES }),
        Some(("sampled", size)) => Ok(Mode::Sampled { mean_bytes: parse_mean(size)? }),
        _ => Err("expected full, off, sampled or sampled:SIZE, for example sampled:64KiB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_words() {
        let sampled = |mean_bytes| Ok(Mode::Sampled { mean_bytes });
        for (text, mode) in [
            ("full", Ok(Mode::Full)),
            ("off", Ok(Mode::Off)),
            ("sampled", sampled(512 << 10)),
            ("sampled:1k", sampled(1024)),
            ("sampled:1TiB", sampled(1 << 40)),
        ] {
            assert_eq!(parse_mode(text), mode);
        }
        for text in ["", "on", "sampled:", "sampled:0", "sampled:2TiB", "full:1", "sampled:1XB"] {
            assert!(parse_mode(text).is_err(), "{text}");
        }
    }
}
