//! Typed skills: an invocation checks who asks and for what against the skill's contract, runs its
//! handler, checks what comes out, and leaves a record in the journal (spec 5). The same rules hold
//! for a call of a client and for a command in a terminal.
//!
//! `lifecycle` has the states of an invocation and its result, `outcome` reads what a handler has
//! answered, `sanitize` removes what no caller may see, `replay` answers a repeated id, and `digest`
//! recognizes its input. Which scripts may run at all is decided in [`scripts`](crate::scripts).

mod digest;
mod lifecycle;
mod outcome;
mod replay;
mod sanitize;
mod schemas;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};
use skillbundle_format::{Catalog, Contract, FailureCode, Skill, is_agent_name};
use skillbundle_journal::{Claim, Event, Invocation, Journal, Record, Recorded, Uuid};
use skillbundle_search::suggest;
use tokio::sync::oneshot;

use crate::analytics::{Recorder, UsageEvent};
use crate::scripts::{PlannedScript, ScriptCall, ScriptError, Scripts};
use digest::digest;
pub use lifecycle::SkillResult;
use lifecycle::{Ended, Failure, Pending, Running};
pub(crate) use outcome::HandlerOutcome;
use replay::{Claimed, Known, Replays};
use schemas::{ContractSchemas, SchemaCache};

/// How long a caller should wait before it tries again if too much runs, in seconds.
const RETRY_AFTER: &str = "1";

/// Invokes skills. Clones share everything.
#[derive(Debug, Clone)]
pub struct Invocations(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Why events were lost, as the operator was told last.
    told_loss: Mutex<String>,
    scripts: Scripts,
    recorder: Recorder,
    schemas: SchemaCache,
    replays: Arc<Replays>,
}

/// What a caller asks for.
#[derive(Debug, Clone, Default)]
pub struct InvocationCall {
    /// Path or name of the skill.
    pub skill: String,
    /// The input.
    pub input: Map<String, Value>,
    /// The agent that asks.
    pub agent: String,
    /// The agent that the caller is known to be; another one in `agent` is denied.
    pub known_agent: Option<String>,
    /// Joins what belongs together; a new one if it is `None`.
    pub correlation_id: Option<Uuid>,
    /// The id of the invocation, so that it is carried out once however often it is asked for; a new
    /// one if it is `None`.
    pub invocation_id: Option<Uuid>,
    /// Time that the handler may take, if that is less than the contract allows.
    pub timeout: Option<Duration>,
}

/// Why nothing was invoked.
#[derive(Debug, thiserror::Error)]
pub enum InvocationError {
    /// No such skill.
    #[error("skill not found: {name}{}", did_you_mean(.meant.as_ref()))]
    NoSkill {
        /// What was asked for.
        name: String,
        /// A skill that can be invoked and has nearly this name.
        meant: Option<String>,
    },
    /// It has no contract.
    #[error("{0} cannot be invoked: it has no contract; load it with `skill` and follow its text")]
    NoContract(String),
    /// Its contract has no handler.
    #[error(
        "{0} cannot be invoked: its contract has no handler; load it with `skill` and follow its text"
    )]
    NoHandler(String),
    /// The agent cannot be the name of one.
    #[error(
        "`invoking_agent` should be the name of an agent, 1 to 64 characters without spaces, such as TaskAgent; found {0:?}"
    )]
    Agent(String),
    /// The id was used for something else.
    #[error(
        "the invocation {0} was made with another skill, agent or input; use a new `invocation_id`"
    )]
    OtherInput(Uuid),
    /// The id is in use.
    #[error(
        "the invocation {id} is {status}: it still runs, or its server ended before it did; ask again later with the same id, or use a new one if doing it twice is harmless"
    )]
    Unfinished {
        /// The invocation.
        id: Uuid,
        /// Its state.
        status: &'static str,
    },
    /// The journal cannot tell whether the id was used.
    #[error(
        "cannot tell whether the invocation {id} was made before: {reason}; leave `invocation_id` out if doing it twice is harmless"
    )]
    Unknown {
        /// The invocation.
        id: Uuid,
        /// What the journal says.
        reason: String,
    },
    /// Its contract cannot be used.
    #[error("the contract of {skill} cannot be used: {problem}")]
    Contract {
        /// The skill.
        skill: String,
        /// What is wrong.
        problem: String,
    },
    /// Its handler may or can not be run.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The skills cannot be read.
    #[error("the skills cannot be read: {0:#}")]
    Damaged(#[from] skillbundle_format::Error),
    /// The process ends.
    #[error("the server is about to end; ask again once it is back")]
    Ending,
}

/// An invocation that is accepted, and everything that it needs.
#[derive(Debug)]
pub struct PlannedInvocation {
    pending: Pending,
    /// Whether the caller chose the id.
    is_named: bool,
    schemas: Arc<ContractSchemas>,
    failure_modes: Vec<FailureCode>,
    /// Why it fails before its handler runs.
    refused: Option<Failure>,
    /// Texts of the input that nobody may read in a log or a reply.
    secrets: Vec<String>,
    script: PlannedScript,
}

/// What becomes of an invocation that is accepted.
pub(crate) enum Begun {
    /// Its handler is to be run, and [`Open::end`] called.
    Run(Box<Open>, Box<PlannedScript>),
    /// It has ended already.
    Done(Box<SkillResult>),
}

/// An invocation that runs. If it is dropped before it has ended, as when its client is gone, it is
/// recorded as failed.
pub(crate) struct Open {
    invocations: Invocations,
    running: Option<Running>,
    /// Its id, if the caller chose it.
    claimed: Option<Claimed>,
    schemas: Arc<ContractSchemas>,
    failure_modes: Vec<FailureCode>,
    secrets: Vec<String>,
}

fn did_you_mean(meant: Option<&String>) -> String {
    meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"))
}

impl InvocationError {
    /// The word for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoSkill { .. } => "skill_not_found",
            Self::NoContract(_) => "no_contract",
            Self::NoHandler(_) => "no_handler",
            Self::Agent(_) => "invalid_argument",
            Self::OtherInput(_) => "invocation_id_reused",
            Self::Unfinished { .. } => "invocation_unfinished",
            Self::Unknown { .. } => "journal_unavailable",
            Self::Contract { .. } => "invalid_contract",
            Self::Script(error) => error.code(),
            Self::Damaged(_) => "skills_unavailable",
            Self::Ending => "server_ending",
        }
    }
}

impl Inner {
    fn journal(&self) -> &Journal {
        self.recorder.journal()
    }
}

impl Invocations {
    /// Runs handlers as these scripts, and records in this journal.
    pub fn new(scripts: Scripts, journal: Journal) -> Self {
        Self::recording(scripts, Recorder::of_journal(journal))
    }

    /// The same, with runs of handlers among what is sent.
    pub(crate) fn recording(scripts: Scripts, recorder: Recorder) -> Self {
        Self(Arc::new(Inner {
            told_loss: Mutex::default(),
            scripts,
            recorder,
            schemas: SchemaCache::default(),
            replays: Arc::default(),
        }))
    }

    /// Checks a call and puts together what it needs. `is_of_project` tells whether a skill belongs
    /// to the project. This may read many bytes, and ask a runner where it is.
    ///
    /// A caller that is not allowed, and an input that is not valid, are no errors here: they are
    /// invocations that fail, and are recorded.
    pub fn plan(
        &self,
        catalog: Catalog<'_>,
        content_address: [u8; 32],
        is_of_project: impl Fn(&Skill<'_>) -> bool,
        call: InvocationCall,
    ) -> Result<PlannedInvocation, InvocationError> {
        if !is_agent_name(&call.agent) {
            return Err(InvocationError::Agent(call.agent));
        }
        let skill = find(catalog, &call.skill)?;
        let contract = skill.contract()?;
        let contract =
            contract.ok_or_else(|| InvocationError::NoContract(skill.path.to_owned()))?;
        let handler = contract.handler;
        let handler = handler.ok_or_else(|| InvocationError::NoHandler(skill.path.to_owned()))?;
        let schemas = self.0.schemas.get(content_address, &skill, &contract)?;
        let script = ScriptCall {
            skill: skill.path.to_owned(),
            file: handler.to_owned(),
            ..ScriptCall::default()
        };
        let mut script = self.0.scripts.plan(catalog, is_of_project, &script)?;
        let limit = call
            .timeout
            .unwrap_or(contract.timeout)
            .min(contract.timeout);
        script.program.limits.time = limit.min(script.program.limits.time);

        let input = Value::Object(call.input);
        let redacted = schemas.input.redact(&input);
        let is_itself = call.known_agent.as_ref().is_none_or(|it| *it == call.agent);
        // A caller that is not who it says neither gets the result of that agent's invocation, nor
        // takes its id.
        let named = call.invocation_id.filter(|_| is_itself);
        let invocation = Invocation {
            id: named.unwrap_or_else(Uuid::new_v4),
            skill: skill.name.to_owned(),
            agent: call.agent,
            correlation_id: call.correlation_id.unwrap_or_else(Uuid::new_v4),
            input: redacted.to_string(),
            input_digest: digest(&redacted),
            created_at: SystemTime::now(),
        };
        let refused = denied(&contract, &invocation.agent, call.known_agent.as_deref())
            .or_else(|| invalid(&schemas, &input));
        script.program.environment.extend([
            ("SKILL_NAME".to_owned(), invocation.skill.clone()),
            ("SKILL_AGENT".to_owned(), invocation.agent.clone()),
            ("SKILL_INVOCATION_ID".to_owned(), invocation.id.to_string()),
            (
                "SKILL_CORRELATION_ID".to_owned(),
                invocation.correlation_id.to_string(),
            ),
        ]);
        script.program.stdin = Some(input.to_string().into_bytes());
        Ok(PlannedInvocation {
            pending: Pending::new(invocation),
            is_named: named.is_some(),
            failure_modes: contract.failure_modes.clone(),
            refused,
            secrets: sanitize::secrets(&input, &redacted),
            schemas,
            script,
        })
    }

    /// Carries out the invocation on this thread, to its end.
    pub fn invoke_here(&self, planned: PlannedInvocation) -> Result<SkillResult, InvocationError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(|error| {
            InvocationError::Script(ScriptError::Exec(skillbundle_exec::Error::Supervisor(
                error,
            )))
        })?;
        runtime.block_on(async {
            let (open, mut script) = match self.begin_here(planned).await? {
                Begun::Done(result) => return Ok(*result),
                Begun::Run(open, script) => (open, script),
            };
            let limit = script.program.limits.time;
            let outcome = self.0.scripts.start(&mut script).and_then(|running| {
                let outcome = running.run.wait(|_| ());
                drop(running.counted);
                Ok(outcome?)
            });
            Ok(match outcome {
                Ok(outcome) => {
                    let outcome = &outcome;
                    open.end(HandlerOutcome { outcome, limit }).await
                }
                Err(error) => {
                    tracing::warn!("the handler was not run: {error}");
                    open.broken(error.to_string()).await
                }
            })
        })
    }

    /// Records the invocation, and answers it at once if it was made before, or may not be carried
    /// out. If the caller leaves meanwhile, the invocation begins all the same, and ends as any other
    /// that is dropped: an id that is taken never stays without an end.
    pub(crate) async fn begin(&self, planned: PlannedInvocation) -> Result<Begun, InvocationError> {
        let this = self.clone();
        match tokio::spawn(async move { this.begin_here(planned).await }).await {
            Ok(begun) => begun,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(InvocationError::Ending),
        }
    }

    async fn begin_here(&self, planned: PlannedInvocation) -> Result<Begun, InvocationError> {
        let PlannedInvocation {
            pending,
            is_named,
            schemas,
            failure_modes,
            refused,
            secrets,
            script,
            ..
        } = planned;
        let invocation = pending.invocation();
        let mut claimed = None;
        if is_named {
            claimed = match self.0.replays.claim(invocation)? {
                Known::Ended(result) => return Ok(Begun::Done(result)),
                Known::New(claimed) => Some(claimed),
            };
            if let Some(record) = self.claim(invocation.clone()).await? {
                let recorded = replay::of_record(invocation, *record)?;
                return Ok(Begun::Done(Box::new(recorded)));
            }
        } else {
            self.0.journal().note(Event::Created(invocation.clone()));
        }
        let running = pending.run();
        self.0.journal().note(running.event());
        let open = Open {
            invocations: self.clone(),
            running: Some(running),
            claimed,
            schemas,
            failure_modes,
            secrets,
        };
        Ok(match refused {
            Some(failure) => Begun::Done(Box::new(open.fail(failure).await)),
            None => Begun::Run(Box::new(open), Box::new(script)),
        })
    }

    /// Records an invocation under the id that its caller chose, or returns what is recorded.
    async fn claim(&self, invocation: Invocation) -> Result<Option<Box<Record>>, InvocationError> {
        let journal = self.0.journal();
        if journal.is_off() {
            return Ok(None);
        }
        let id = invocation.id;
        let (send, claimed) = oneshot::channel();
        journal.claim(invocation, |claim| drop(send.send(claim)));
        match claimed.await {
            Ok(Ok(Claim::New)) => Ok(None),
            Ok(Ok(Claim::Existing(record))) => Ok(Some(record)),
            Ok(Err(error)) => Err(InvocationError::Unknown {
                id,
                reason: error.to_string(),
            }),
            Err(_) => Err(InvocationError::Unknown {
                id,
                reason: "the journal has closed".to_owned(),
            }),
        }
    }

    /// Waits until the end is recorded, so that what a caller was told is in the journal.
    async fn record(&self, ended: &Ended) {
        let (send, recorded) = oneshot::channel();
        let event = Event::Ended(ended.journal_result());
        self.0.journal().record(event, |it| {
            // A caller that is gone no longer waits.
            let _ = send.send(it);
        });
        // The caller has its result all the same.
        if !matches!(recorded.await, Ok(Recorded::Committed | Recorded::Off)) {
            self.warn_of_loss();
        }
    }

    /// Tells the operator that the journal has lost something, once for each reason.
    fn warn_of_loss(&self) {
        let status = self.0.journal().status();
        let reason = status
            .last_error
            .unwrap_or_else(|| "it has closed".to_owned());
        let told = self.0.told_loss.lock();
        let mut told = told.unwrap_or_else(PoisonError::into_inner);
        if *told != reason {
            let lost = status.lost;
            tracing::warn!("invocations are not recorded ({lost} events so far): {reason}");
            *told = reason;
        }
    }
}

impl PlannedInvocation {
    /// How long the handler may take in all.
    pub(crate) fn longest(&self) -> Duration {
        let limits = &self.script.program.limits;
        limits.time + limits.grace
    }

    /// Whether it fails before its handler runs.
    pub(crate) const fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// The same, failed since too much else runs. It does not take the id that the caller chose: with
    /// that the call can be made again.
    pub(crate) fn refused_as_busy(self, error: &ScriptError) -> Self {
        let failure = Failure {
            internal: Some(error.to_string()),
            ..Failure::new(FailureCode::RateExceeded, RETRY_AFTER)
        };
        Self {
            pending: self.pending.with_new_id(),
            is_named: false,
            refused: Some(failure),
            ..self
        }
    }
}

impl Open {
    /// Ends it as its handler has.
    pub(crate) async fn end(mut self, outcome: HandlerOutcome<'_>) -> SkillResult {
        let Some(running) = self.running.take() else {
            unreachable!("it is taken here and in `fail` alone, which consume it");
        };
        let end = outcome::read(&outcome, &self.schemas, &self.failure_modes, &self.secrets);
        let ended = match end {
            outcome::End::Completed(output) => running.complete(output),
            outcome::End::Failed(failure) => running.fail(failure),
            outcome::End::TimedOut(limit) => running.time_out(limit),
        };
        self.finish(ended).await
    }

    /// Ends it without its handler.
    pub(crate) async fn fail(mut self, failure: Failure) -> SkillResult {
        let Some(running) = self.running.take() else {
            unreachable!("it is taken here and in `end` alone, which consume it");
        };
        let ended = running.fail(failure);
        self.finish(ended).await
    }

    /// Ends it since its handler could not be started or was stopped.
    pub(crate) async fn broken(self, reason: String) -> SkillResult {
        self.fail(Failure {
            internal: Some(reason),
            ..Failure::new(FailureCode::InternalError, "")
        })
        .await
    }

    async fn finish(&mut self, ended: Ended) -> SkillResult {
        let ended = ended.redacted_by(&self.schemas.output);
        if let Some(claimed) = &mut self.claimed {
            claimed.ends(ended.result());
        }
        self.invocations.record(&ended).await;
        ended.result().clone()
    }

    /// Notes the run of its handler.
    pub(crate) fn note_script(&self, planned: &PlannedScript, outcome: &HandlerOutcome<'_>) {
        let Some(running) = &self.running else { return };
        let invocation = running.invocation();
        self.invocations.0.recorder.record(&UsageEvent::ScriptRun {
            planned,
            outcome: outcome.outcome,
            correlation_id: Some(invocation.correlation_id),
        });
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            let ended = running.fail(Failure {
                internal: Some("the caller was gone before the handler had ended".to_owned()),
                ..Failure::new(FailureCode::InternalError, "")
            });
            let invocations = &self.invocations.0;
            invocations
                .journal()
                .note(Event::Ended(ended.journal_result()));
            if let Some(claimed) = &mut self.claimed {
                claimed.ends(ended.result());
            }
        }
    }
}

/// The skill that is invoked. Of several with this name it is the one that has a contract.
fn find<'a>(catalog: Catalog<'a>, name: &str) -> Result<Skill<'a>, InvocationError> {
    let found = catalog.find(name)?;
    if let Some(skill) = found
        && skill.contract()?.is_some()
    {
        return Ok(skill);
    }
    let mut names = Vec::new();
    for skill in catalog.with_contracts() {
        let skill = skill?;
        if skill.name == name {
            return Ok(skill);
        }
        names.push(skill.name);
    }
    found.ok_or_else(|| InvocationError::NoSkill {
        name: name.to_owned(),
        meant: suggest(name, names).map(str::to_owned),
    })
}

/// Why an agent may not invoke a skill.
fn denied(contract: &Contract<'_>, agent: &str, known: Option<&str>) -> Option<Failure> {
    if let Some(known) = known.filter(|known| *known != agent) {
        let reason = format!("the caller is {known}, not {agent}");
        return Some(Failure::new(FailureCode::Unauthorized, &reason));
    }
    (!contract.allows(agent)).then(|| {
        let reason = format!(
            "{agent} is not among the agents of this skill, {}",
            contract.assigned_to.join(", ")
        );
        Failure::new(FailureCode::Unauthorized, &reason)
    })
}

/// Why an input is not valid.
fn invalid(schemas: &ContractSchemas, input: &Value) -> Option<Failure> {
    let problems = schemas.input.problems(input);
    if problems.is_empty() {
        return None;
    }
    // Names of members are the client's, and may be long.
    let lines = problems.iter().map(|it| sanitize::cut(&it.to_string()));
    let lines: Vec<String> = lines.collect();
    let errors = problems.iter().map(|it| {
        serde_json::json!({
            "pointer": sanitize::cut(&it.pointer),
            "message": sanitize::cut(&it.message),
        })
    });
    let details = serde_json::json!({ "errors": errors.collect::<Vec<_>>() });
    Some(Failure {
        details: Some(details),
        ..Failure::new(FailureCode::ValidationError, &lines.join("; "))
    })
}

#[cfg(test)]
mod tests;
