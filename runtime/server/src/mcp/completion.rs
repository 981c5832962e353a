//! `completion/complete`: paths of files for the template of resources; the
//! arguments of prompts are free text.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompletionInfo, Reference};

use super::{prompts, reply, resources};
use crate::library::Generation;

/// What may follow what was typed, for the argument of a template or a prompt.
pub(crate) fn complete(
    generation: &Generation,
    params: &CompleteRequestParams,
) -> Result<CompletionInfo, ErrorData> {
    let unknown = |what: String| Err(ErrorData::invalid_params(what, None));
    match &params.r#ref {
        Reference::Resource(resource) if resource.uri == resources::TEMPLATE => {
            if params.argument.name == "path" {
                return resources::complete(generation, &params.argument.value);
            }
            unknown("unknown argument; the template has `path`".to_owned())
        }
        Reference::Resource(resource) => unknown(format!(
            "unknown template {}; the one there is: {}",
            reply::shortened(&resource.uri),
            resources::TEMPLATE
        )),
        Reference::Prompt(prompt) => prompts::complete(generation, &prompt.name),
        _ => unknown("unknown kind of reference; expected ref/resource or ref/prompt".to_owned()),
    }
}
