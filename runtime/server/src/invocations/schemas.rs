//! The schemas of contracts, ready for use. They are compiled when a skill is first invoked, and
//! kept while its bundle is current.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use skillbundle_format::{Contract, Skill};
use skillbundle_schema::Schema;

use super::InvocationError;

/// Skills whose schemas are kept. Each takes some 10 KB, and a client works with a few.
const KEPT: usize = 256;

/// The schemas of one contract.
#[derive(Debug)]
pub(super) struct ContractSchemas {
    pub(super) input: Schema,
    pub(super) output: Schema,
}

#[derive(Debug, Default)]
pub(super) struct SchemaCache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The bundle that they are of.
    of: [u8; 32],
    by_skill: HashMap<u32, Arc<ContractSchemas>>,
}

impl SchemaCache {
    pub(super) fn get(
        &self,
        content_address: [u8; 32],
        skill: &Skill<'_>,
        contract: &Contract<'_>,
    ) -> Result<Arc<ContractSchemas>, InvocationError> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept().find(content_address, skill.id) {
            return Ok(found);
        }
        // Without the lock: of two callers at the same time each compiles its own.
        let compile = |what: &str, text: &str| {
            let invalid = |problem: String| InvocationError::Contract {
                skill: skill.path.to_owned(),
                problem: format!("`{what}`: {problem}"),
            };
            let document = serde_json::from_str(text).map_err(|it| invalid(it.to_string()))?;
            Schema::new(document).map_err(|problems| {
                let first = problems.first().map(ToString::to_string);
                invalid(first.unwrap_or_default())
            })
        };
        let schemas = Arc::new(ContractSchemas {
            input: compile("input_schema", contract.input_schema)?,
            output: compile("output_schema", contract.output_schema)?,
        });
        kept().insert(content_address, skill.id, &schemas);
        Ok(schemas)
    }
}

impl Kept {
    fn find(&self, of: [u8; 32], skill: u32) -> Option<Arc<ContractSchemas>> {
        let found = self.by_skill.get(&skill).filter(|_| self.of == of);
        found.map(Arc::clone)
    }

    fn insert(&mut self, of: [u8; 32], skill: u32, schemas: &Arc<ContractSchemas>) {
        if self.of != of || self.by_skill.len() >= KEPT {
            self.by_skill.clear();
            self.of = of;
        }
        self.by_skill.insert(skill, Arc::clone(schemas));
    }
}
