//! What a file that SQLite does not take for a database looks like: the pages of an encrypted
//! database are noise, anything else mostly is not.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use store::{Code, Error};

/// How much of the file is looked at. Noise of this length holds nearly every byte about equally
/// often.
const SAMPLE: usize = 4096;

/// The error of a file that is no database. It is read directly, since SQLite will not: another
/// descriptor's locks cannot be lost on a file that SQLite has none on.
pub(super) fn no_database(path: &Path) -> Error {
    let mut sample = Vec::with_capacity(SAMPLE);
    let read = File::open(path).and_then(|file| file.take(SAMPLE as u64).read_to_end(&mut sample));
    let is_noise = matches!(read, Ok(SAMPLE)) && is_noise(&sample);
    if is_noise {
        Error::new(
            Code::StoreUnreachable,
            "the file looks like an encrypted database",
        )
        .with_hint("serve a decrypted copy: there is no key that could be given here")
    } else {
        Error::new(Code::StoreUnreachable, "the file is not a database")
            .with_hint("check the path in the store's DSN")
    }
}

/// Whether bytes are spread as evenly as by chance: Pearson's statistic over 256 values has mean
/// 255 and standard deviation √510 ≈ 22.6 for noise, and is in the thousands for text or pages.
fn is_noise(sample: &[u8]) -> bool {
    let mut counts = [0u32; 256];
    for &byte in sample {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let expected = sample.len() as f64 / 256.0;
    let statistic: f64 = counts
        .iter()
        .map(|&count| (f64::from(count) - expected).powi(2) / expected)
        .sum();
    statistic < 255.0 + 10.0 * 22.6
}
