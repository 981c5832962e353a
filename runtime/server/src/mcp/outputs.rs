//! Output of scripts that is no text, kept for a while so that a client can read its bytes.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that are kept; the oldest go first.
const MOST_BYTES: usize = 8 << 20;

/// By URI, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Outputs(Mutex<VecDeque<(String, Arc<[u8]>)>>);

impl Outputs {
    /// Keeps bytes, and returns their URI, which nobody can guess.
    pub(crate) fn keep(&self, scheme: &str, name: &str, bytes: Vec<u8>) -> String {
        // Each has its own random key.
        let random = || RandomState::new().hash_one(name);
        let uri = format!("{scheme}{:016x}{:016x}/{name}", random(), random());
        let mut kept = self.kept();
        kept.push_back((uri.clone(), bytes.into()));
        let total = |kept: &VecDeque<(String, Arc<[u8]>)>| -> usize {
            kept.iter().map(|it| it.1.len()).sum()
        };
        while kept.len() > 1 && total(&kept) > MOST_BYTES {
            kept.pop_front();
        }
        uri
    }

    /// What is kept under a URI.
    pub(crate) fn get(&self, uri: &str) -> Option<Arc<[u8]>> {
        let kept = self.kept();
        let found = kept.iter().find(|it| it.0 == uri)?;
        Some(Arc::clone(&found.1))
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(String, Arc<[u8]>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_output_goes_first() {
        let outputs = Outputs::default();
        let uris: Vec<String> = (0..5_u8)
            .map(|n| outputs.keep("x://", "stdout", vec![n; 3 << 20]))
            .collect();
        let kept: Vec<bool> = uris.iter().map(|it| outputs.get(it).is_some()).collect();
        assert_eq!(kept, [false, false, false, true, true]);
        let newest = outputs.get(&uris[4]).expect("it is kept");
        assert_eq!(*newest, *vec![4_u8; 3 << 20]);
        assert!(outputs.get("x://guess/stdout").is_none());
    }
}
