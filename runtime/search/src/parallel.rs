//! Work on all cores: a slice is divided into one chunk per core, and the results come back in the
//! order of the chunks, so they do not depend on timing. Callers must not let the result depend on
//! the number of chunks.

use std::panic::resume_unwind;
use std::thread;

/// Applies `work` to consecutive chunks of `items`, one per core, each with at least `least` items
/// (except the last one). `least` should be so many items that they take longer than the start of a
/// thread. The first chunk runs on the calling thread.
pub fn map_chunks<'a, T: Sync, R: Send>(
    items: &'a [T],
    least: usize,
    work: impl Fn(&'a [T]) -> R + Sync,
) -> Vec<R> {
    if items.len() <= least {
        return vec![work(items)];
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let size = items.len().div_ceil(threads).max(least).max(1);
    let (first, rest) = items.split_at(size);
    thread::scope(|scope| {
        let work = &work;
        let handles: Vec<_> = rest
            .chunks(size)
            .map(|chunk| scope.spawn(move || work(chunk)))
            .collect();
        let mut results = vec![work(first)];
        for handle in handles {
            results.push(handle.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        results
    })
}

/// Applies `work` to every item on all cores; the results are in the order of the items. See
/// [`map_chunks`] for `least`.
pub fn map<'a, T: Sync, R: Send>(
    items: &'a [T],
    least: usize,
    work: impl Fn(&'a T) -> R + Sync,
) -> Vec<R> {
    let chunk = |chunk: &'a [T]| chunk.iter().map(&work).collect::<Vec<_>>();
    let mut chunks = map_chunks(items, least, chunk).into_iter();
    let mut all = chunks.next().unwrap_or_default();
    all.reserve(items.len() - all.len());
    chunks.for_each(|chunk| all.extend(chunk));
    all
}

/// Runs two pieces of work at the same time.
pub fn join<A: Send, B>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (
            first.join().unwrap_or_else(|panic| resume_unwind(panic)),
            second,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        for count in [0_usize, 1, 7, 8, 9, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            let expected: Vec<usize> = items.iter().map(|it| it * 2).collect();
            assert_eq!(map(&items, 8, |it| it * 2), expected);
            let chunks = map_chunks(&items, 8, <[usize]>::to_vec);
            assert_eq!(chunks.concat(), items);
        }
        assert_eq!(join(|| 1, || 2), (1, 2));
    }
}
