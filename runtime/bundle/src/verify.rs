//! Checks the whole bundle at once. Normal reads check only the parts that they use.

use crate::blobs;
use crate::container::Bundle;
use crate::error::{Error, corrupt};
use crate::header::Section;
use crate::schema::{ArchivedBlobRow, flag};
use crate::skill::Skill;
use crate::write::content_address;

/// What a full check covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// Skills whose every field was read.
    pub skills: usize,
    /// Files of skills, counted once for each skill that has them.
    pub files: usize,
    /// Distinct blobs whose SHA-256 was computed.
    pub contents: usize,
    /// The length of the bundle in bytes.
    pub bytes: u64,
}

impl Bundle {
    /// Checks every byte: section checksums, page checksums, the content address, the SHA-256 of
    /// every body and file, and that every reference is valid.
    pub fn verify(&self) -> Result<Verified, Error> {
        for section in Section::ALL {
            if !self.agrees(section)? {
                return Err(corrupt(disagreement(section)));
            }
        }
        self.check_index(0, self.index().len())?;
        if self.content_address() != content_address(self.index()) {
            return Err(corrupt("the content address does not match the content"));
        }
        let contents = self.verify_contents()?;
        let (skills, files) = self.verify_references()?;
        Ok(Verified {
            skills,
            files,
            contents,
            bytes: self.byte_len(),
        })
    }

    fn verify_contents(&self) -> Result<usize, Error> {
        let catalog = self.catalog()?;
        let is_stored = |row: &&ArchivedBlobRow| row.flags.to_native() & flag::UNREAD == 0;
        for row in catalog.index.blobs.iter().filter(is_stored) {
            let bytes = blobs::read(row, self)?;
            if !blobs::has_digest(row, &bytes) {
                return Err(corrupt(
                    "a file does not have the SHA-256 that the index claims",
                ));
            }
        }
        Ok(catalog.index.blobs.len())
    }

    fn verify_references(&self) -> Result<(usize, usize), Error> {
        let catalog = self.catalog()?;
        catalog.settings()?;
        catalog.roots()?;
        catalog.ranked().try_for_each(|skill| skill.map(|_| ()))?;
        catalog.published()?.verify()?;
        let mut files = 0;
        for skill in catalog.skills().chain(catalog.shadowed()) {
            let skill = skill?;
            read_all(&skill)?;
            for file in skill.files()? {
                file.bytes()?;
                file.args()?;
                files += 1;
            }
            let by_path = catalog.by_path(skill.path)?.map(|found| found.id);
            let by_name = catalog
                .by_name(skill.callable_name()?)?
                .map(|found| found.id);
            if by_path != Some(skill.id) || by_name != Some(skill.id) {
                return Err(corrupt("a skill is not found by its own path or name"));
            }
        }
        catalog.keyword_index()?;
        catalog.text_index()?;
        catalog.rank_table()?;
        Ok((catalog.len(), files))
    }
}

fn read_all(skill: &Skill<'_>) -> Result<(), Error> {
    skill.text()?;
    skill.body()?;
    skill.keywords()?;
    skill.frontmatter_json()?;
    skill.parent()?;
    skill.chain()?;
    skill.contract()?;
    Ok(())
}

const fn disagreement(section: Section) -> &'static str {
    match section {
        Section::Pages => "section PAGES does not agree with its checksum",
        Section::Index => "section INDEX does not agree with its checksum",
        Section::Body => "section BODY does not agree with its checksum",
        Section::Files => "section FILES does not agree with its checksum",
    }
}

#[cfg(test)]
mod tests {
    use crate::sample::{set, skill};
    use crate::{Bundle, write};

    /// `verify` looks up each skill by its path and by its callable name.
    #[test]
    fn every_skill_is_reached_whatever_the_others_are_called() {
        let names = ["a", "B", "c", " A ", "team/a", "skill://a"];
        for choice in 0..names.len().pow(4) {
            let mut skills = ["a", "b", "B", "team/a"].map(|path| skill(path, "x\n"));
            let mut rest = choice;
            for skill in &mut skills {
                skill.name = names[rest % names.len()].to_owned();
                rest /= names.len();
            }
            let called: Vec<_> = skills.iter().map(|skill| skill.name.clone()).collect();
            let bytes = write(&set(skills.into())).expect("consistent");
            let verified = Bundle::from_bytes(&bytes).and_then(|bundle| bundle.verify());
            assert_eq!(verified.expect("intact").skills, 4, "called {called:?}");
        }
    }

    #[test]
    fn names_come_first_and_an_address_means_its_path() {
        let mut skills = ["a", "b", "c"].map(|path| skill(path, "x\n"));
        for (skill, name) in skills.iter_mut().zip(["zed", "zed", "b"]) {
            name.clone_into(&mut skill.name);
        }
        let bytes = write(&set(skills.into())).expect("consistent");
        let bundle = Bundle::from_bytes(&bytes).expect("intact");
        let catalog = bundle.catalog().expect("intact");
        let found = |name| {
            catalog
                .by_name(name)
                .expect("intact")
                .map(|skill| skill.path)
        };
        for (name, expected) in [
            ("zed", Some("a")),
            ("b", Some("c")),
            ("c", Some("c")),
            ("skill://b", Some("b")),
            (" skill://b ", Some("b")),
            ("skill://none", None),
        ] {
            assert_eq!(found(name), expected, "{name}");
        }
        let second = catalog.skill(1).expect("intact");
        assert_eq!(second.callable_name().expect("intact"), "skill://b");
    }
}
