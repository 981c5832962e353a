//! Systems where a tree of processes cannot be ended for sure: nothing is run.

use std::process::ExitCode;

use crate::{Availability, Error, Event, Isolation, Outcome, Program};

const WHY: &str = "only Unix has what is needed to end all their processes; run them by hand";

/// Refuses to start programs.
#[derive(Debug, Clone)]
pub struct Executor;

/// Does not exist here.
#[derive(Debug)]
pub enum Run {}

/// Does not exist here.
#[derive(Debug, Clone)]
pub enum Canceller {}

/// No process is a supervisor here.
pub fn supervise_if_asked() -> Option<ExitCode> {
    None
}

impl Executor {
    /// Takes what it cannot give.
    pub fn new(_: Isolation, _: Isolation) -> Self {
        Self
    }

    /// Fails.
    pub fn survey() -> Result<Vec<Availability>, Error> {
        Err(Error::Unsupported(WHY))
    }

    /// Fails.
    pub fn isolation(&self) -> Result<Isolation, Error> {
        Err(Error::Unsupported(WHY))
    }

    /// Fails.
    pub fn start(&self, _: Program) -> Result<Run, Error> {
        Err(Error::Unsupported(WHY))
    }
}

impl Run {
    /// Cannot be called.
    pub fn canceller(&self) -> Canceller {
        match *self {}
    }

    /// Cannot be called.
    pub fn wait(self, _: impl FnMut(Event<'_>)) -> Result<Outcome, Error> {
        match self {}
    }
}

impl Canceller {
    /// Cannot be called.
    pub fn cancel(&self) {
        match *self {}
    }

    /// Cannot be called.
    pub fn kill(&self) {
        match *self {}
    }
}
