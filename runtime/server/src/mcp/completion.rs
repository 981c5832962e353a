//! `completion/complete`: paths of files for the template of resources. The arguments of prompts
//! are free text.

use rmcp::model::{CompleteRequestParams, CompleteResult, Reference};

use super::results::{self, loaded};
use super::{Call, Era, Skills, prompts, resources, tool_result};
use crate::jsonrpc::RpcError;

pub(crate) fn complete(
    call: &Call<'_>,
    skills: &Skills,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let params: CompleteRequestParams = call.request.params()?;
    let skills = loaded(skills)?;
    let unknown = |what: String| Err(RpcError::invalid_params(what, None));
    let completion = match &params.r#ref {
        Reference::Resource(resource) if resource.uri == resources::TEMPLATE => {
            if params.argument.name != "path" {
                return unknown("unknown argument; the template has `path`".to_owned());
            }
            resources::complete(skills, &params.argument.value)?
        }
        Reference::Resource(resource) => {
            return unknown(format!(
                "unknown template {}; the one there is: {}",
                tool_result::shortened(&resource.uri),
                resources::TEMPLATE
            ));
        }
        Reference::Prompt(prompt) => prompts::complete(skills, &prompt.name)?,
        _ => {
            return unknown(
                "unknown kind of reference; expected ref/resource or ref/prompt".to_owned(),
            );
        }
    };
    let mut result = CompleteResult::new(completion);
    result.result_type.take_if(|_| call.era == Era::Handshake);
    results::write(out, &result)
}
