//! Calls whose caller chose the id of the invocation: the same id with the same skill, agent and
//! input gets the recorded result, with anything else it is an error. Within this process the last
//! results are at hand whole; the journal knows all of them, without what is secret.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use skillbundle_journal::{Invocation, Record, Uuid};

use super::{InvocationError, SkillResult};

/// Results that are kept. Clients repeat a call within seconds, after a lost connection.
const KEPT: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Replays(Mutex<Ids>);

#[derive(Debug, Default)]
struct Ids {
    by_id: HashMap<Uuid, Entry>,
    /// Counts up: the entry with the least number is the oldest.
    next: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    /// `None` while it runs.
    result: Option<SkillResult>,
}

/// An id that this process carries out. When it is dropped, its result is kept; without one, the id
/// is free again.
#[derive(Debug)]
pub(super) struct Claimed {
    replays: Arc<Replays>,
    id: Uuid,
    result: Option<Box<SkillResult>>,
}

/// What is known of an id.
pub(super) enum Known {
    /// Nothing: it is the caller's now.
    New(Claimed),
    /// It has ended.
    Ended(Box<SkillResult>),
}

impl Replays {
    /// Takes the id, unless it is known; then returns its result.
    pub(super) fn claim(
        self: &Arc<Self>,
        invocation: &Invocation,
    ) -> Result<Known, InvocationError> {
        let mut ids = self.ids();
        match ids.by_id.get(&invocation.id).map(|it| &it.result) {
            Some(Some(result)) => {
                check_same(invocation, result)?;
                Ok(Known::Ended(Box::new(result.replayed())))
            }
            Some(None) => Err(InvocationError::Unfinished {
                id: invocation.id,
                status: "running",
            }),
            None => {
                ids.insert(invocation.id, None);
                Ok(Known::New(Claimed {
                    replays: Arc::clone(self),
                    id: invocation.id,
                    result: None,
                }))
            }
        }
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claimed {
    /// The result, once its caller has it or is gone.
    pub(super) fn ends(&mut self, result: &SkillResult) {
        self.result = Some(Box::new(result.clone()));
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        let mut ids = self.replays.ids();
        match self.result.take() {
            Some(result) => ids.insert(self.id, Some(*result)),
            None => drop(ids.by_id.remove(&self.id)),
        }
    }
}

impl Ids {
    fn insert(&mut self, id: Uuid, result: Option<SkillResult>) {
        let number = self.next;
        self.next += 1;
        self.by_id.insert(id, Entry { number, result });
        let ended = self.by_id.iter().filter(|it| it.1.result.is_some());
        if ended.clone().count() > KEPT {
            let oldest = ended.min_by_key(|it| it.1.number).map(|it| *it.0);
            if let Some(oldest) = oldest {
                self.by_id.remove(&oldest);
            }
        }
    }
}

/// The result that the journal has.
pub(super) fn of_record(
    asked: &Invocation,
    record: Record,
) -> Result<SkillResult, InvocationError> {
    let Record {
        invocation,
        status,
        result,
    } = record;
    let unfinished = InvocationError::Unfinished {
        id: asked.id,
        status: status.as_str(),
    };
    let is_same = invocation.input_digest == asked.input_digest
        && invocation.skill == asked.skill
        && invocation.agent == asked.agent;
    if !is_same {
        return Err(InvocationError::OtherInput(asked.id));
    }
    let result = result.ok_or(unfinished)?;
    SkillResult::of_record(&invocation, result).ok_or_else(|| InvocationError::Unknown {
        id: asked.id,
        reason: "what is recorded cannot be read".to_owned(),
    })
}

fn check_same(asked: &Invocation, result: &SkillResult) -> Result<(), InvocationError> {
    let (digest, skill, agent) = &result.digest;
    if *digest == asked.input_digest && *skill == asked.skill && *agent == asked.agent {
        Ok(())
    } else {
        Err(InvocationError::OtherInput(asked.id))
    }
}
