//! The full check of the published skills: the text of the listing must match the index for every
//! file.

use serde_json::Value;

use super::Published;
use crate::container::hex;
use crate::error::{Error, corrupt};

impl Published<'_> {
    /// Parses every entry and looks up every URI in it. The digests of the contents are checked
    /// elsewhere.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        const ENTRY: Error = corrupt("the entry of a published skill does not match the skill");
        const FILE: Error = corrupt("the entry of a published skill has wrong data for a file");
        for skill in self.skills() {
            let skill = skill?;
            let entry = self.entry(skill.uri)?.ok_or(ENTRY)?;
            let entry: Value = serde_json::from_str(entry).map_err(|_| ENTRY)?;
            let number = self.of(&skill.skill)?.map(|it| it.number);
            let is_named = entry["frontmatter"]["name"] == *skill.name;
            if entry["uri"] != skill.uri || !is_named || number != Some(skill.number) {
                return Err(ENTRY);
            }
            for file in entry["resources"].as_array().ok_or(ENTRY)? {
                let uri = file["uri"].as_str().ok_or(FILE)?;
                let resource = self.resource(uri)?.ok_or(FILE)?;
                let digest = format!("sha256:{}", hex(&resource.digest));
                if file["digest"] != digest || file["size"] != resource.size {
                    return Err(FILE);
                }
                resource.bytes()?;
            }
        }
        self.names_starting_with("")?
            .try_for_each(|it| it.map(drop))?;
        self.uris_starting_with("")?.try_for_each(|it| it.map(drop))
    }
}
