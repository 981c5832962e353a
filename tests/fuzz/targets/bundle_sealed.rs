//! Any bytes as a bundle whose checksums are right: what remains is the checks
//! of offsets, lengths, references and UTF-8 after the checksums.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skillbundle_format::Bundle;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    skillbundle_fuzz::seal(&mut bytes);
    if let Ok(bundle) = Bundle::from_bytes(&bytes) {
        skillbundle_fuzz::ask_everything(&bundle);
    }
});
