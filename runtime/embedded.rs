//! The skills that are baked into this binary.

use anyhow::{Context, Result};
use skillbundle_format::{Bundle, Error, include_bundle};

use crate::config;

/// The skills that `build.rs` compiled, those of the examples, and a bundle of none.
static SKILLS: &[u8] = include_bundle!(concat!(env!("OUT_DIR"), "/skills.skb"));
static EXAMPLES: &[u8] = include_bundle!(concat!(env!("OUT_DIR"), "/examples.skb"));
static NONE: &[u8] = include_bundle!(concat!(env!("OUT_DIR"), "/empty.skb"));

/// Whether they are this program's own handbook, which gives way to anybody's skills, and not those
/// of an organisation.
#[cfg_attr(
    not(feature = "compile"),
    expect(dead_code, reason = "nothing can be laid over them")
)]
pub(crate) const IS_HANDBOOK: bool = cfg!(handbook);

/// Whether they are served where nothing else was named.
pub(crate) fn is_served() -> bool {
    config::current().is_on("skills.embedded")
}

/// The bytes of the bundle; one of none if they are not served.
pub(crate) fn bytes() -> &'static [u8] {
    if is_served() { SKILLS } else { NONE }
}

/// The bytes of the examples, which are offered only where they are asked for.
pub(crate) fn examples() -> &'static [u8] {
    EXAMPLES
}

/// The bundle, with the format's own error.
pub(crate) fn unchecked() -> Result<Bundle, Error> {
    Bundle::from_static(bytes())
}

/// The bundle.
pub(crate) fn bundle() -> Result<Bundle> {
    unchecked().context("the skills baked into this binary")
}
