//! Any bytes as a bundle: open it, then call everything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skillbundle_format::Bundle;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(bundle) = Bundle::from_bytes(bytes) {
        skillbundle_fuzz::ask_everything(&bundle);
    }
});
