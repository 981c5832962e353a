//! What a journal of lines remembers of invocations, since it cannot look anything up in a file.

use std::collections::{HashMap, VecDeque};

use uuid::Uuid;

use crate::event::{Event, InvocationResult, InvocationStatus, Record};
use crate::queue::Change;

/// So many invocations are remembered …
const MAX_RECORDS: usize = 10_000;

/// … but no more than so many bytes of them.
const MAX_BYTES: usize = 64 << 20;

/// The last invocations of this process.
#[derive(Default)]
pub(super) struct Recent {
    records: HashMap<Uuid, Record>,
    /// The ids, oldest first; also some that are forgotten.
    order: VecDeque<Uuid>,
    bytes: usize,
}

impl Recent {
    /// Takes note of a change. Returns what is recorded if it makes an invocation a second time.
    pub(super) fn admit(&mut self, change: &Change) -> Option<Record> {
        if let Some(invocation) = change.created() {
            if let Some(known) = self.records.get(&invocation.id) {
                return Some(known.clone());
            }
            let record = Record {
                invocation: invocation.clone(),
                status: InvocationStatus::Pending,
                result: None,
            };
            self.bytes += size(&record);
            self.records.insert(invocation.id, record);
            self.order.push_back(invocation.id);
            self.forget_oldest();
            return None;
        }
        match change {
            Change::Event(Event::Running { id, .. }) => {
                if let Some(record) = self.records.get_mut(id)
                    && record.status == InvocationStatus::Pending
                {
                    record.status = InvocationStatus::Running;
                }
            }
            Change::Event(Event::Ended(result)) => {
                if let Some(record) = self.records.get_mut(&result.invocation_id) {
                    self.bytes -= size(record);
                    record.status = result.status;
                    record.result = Some(result.clone());
                    self.bytes += size(record);
                    self.forget_oldest();
                }
            }
            _ => {}
        }
        None
    }

    /// Forgets an invocation that could not be written.
    pub(super) fn forget(&mut self, id: Uuid) {
        if let Some(record) = self.records.remove(&id) {
            self.bytes -= size(&record);
        }
    }

    fn forget_oldest(&mut self) {
        while self.order.len() > MAX_RECORDS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            self.forget(oldest);
        }
    }
}

fn size(record: &Record) -> usize {
    let result = record.result.as_ref().map(InvocationResult::size);
    record.invocation.size() + result.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::event::Invocation;

    fn created(id: u128, bytes: usize) -> Change {
        Change::Event(Event::Created(Invocation {
            id: Uuid::from_u128(id),
            skill: String::new(),
            agent: String::new(),
            correlation_id: Uuid::nil(),
            input: "x".repeat(bytes),
            input_digest: [0; 32],
            created_at: SystemTime::UNIX_EPOCH,
        }))
    }

    #[test]
    fn the_oldest_are_forgotten_by_number_and_by_size() {
        for (count, bytes, forgotten) in [
            (MAX_RECORDS, 0, 0),
            (MAX_RECORDS + 3, 0, 3),
            (10, MAX_BYTES / 8, 3),
        ] {
            let mut recent = Recent::default();
            for id in 0..count {
                assert_eq!(recent.admit(&created(id as u128, bytes)), None);
            }
            let known: Vec<bool> = (0..count)
                .map(|id| recent.records.contains_key(&Uuid::from_u128(id as u128)))
                .collect();
            let expected: Vec<bool> = (0..count).map(|id| id >= forgotten).collect();
            assert_eq!(known, expected, "{count} of {bytes}");
            let sizes: usize = recent.records.values().map(size).sum();
            assert_eq!(recent.bytes, sizes);
        }
    }
}
