//! The one integration binary: everything that is proved from outside, through
//! the public interfaces and the shipped binary. Each module says what it proves.

mod audience;
mod cases;
mod cli;
mod corpus;
mod deploy;
mod evaluation;
mod examples;
mod faults;
mod format;
mod hammer;
mod hostile;
mod http;
mod identity;
mod invocations;
mod matching;
mod new;
mod paths;
mod project;
mod public_cases;
mod readme;
mod refresh;
mod repositories;
mod requests;
mod roots;
mod routing;
mod scripts;
mod sending;
mod settings;
mod spec3;
mod stats;
mod stdio;
mod tidy;
mod tree;
mod unicode;
mod wire;
