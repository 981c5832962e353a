//! Appends the skills of a compiled bundle to a set, so that directories can override the skills
//! built into a program.

use std::sync::Arc;

use crate::container::Bundle;
use crate::error::Error;
use crate::file::File;
use crate::identity::{arrange, identify};
use crate::model::{ArgEntry, Audience, FileEntry, RootEntry, SkillEntry, SkillSet};
use crate::settings::Settings;
use crate::skill::Skill;
use crate::write::narrow;

impl SkillSet {
    /// Appends the roots and skills of `bundle`; of skills with the same identity the first is
    /// offered, see [`identify`]. A skill whose parent is shadowed inherits from the one that is
    /// offered instead. The set keeps its settings, except that narrower limits of the bundle still
    /// apply; a set without settings takes those of the bundle.
    pub fn extend_from(&mut self, bundle: &Bundle) -> Result<(), Error> {
        self.append(bundle, None)
    }

    /// The same, but beside the skills of the set those of `bundle` are found by their names only.
    pub fn extend_from_handbook(&mut self, bundle: &Bundle) -> Result<(), Error> {
        let others = !self.offered().is_empty();
        self.append(bundle, others.then_some(Audience::Nobody))
    }

    fn append(&mut self, bundle: &Bundle, audience: Option<Audience>) -> Result<(), Error> {
        let catalog = bundle.catalog()?;
        let theirs = catalog.content_settings()?;
        if self.settings == Settings::default() {
            self.settings = theirs;
        } else {
            self.settings.narrow_to(&theirs);
        }
        let (roots, first) = (narrow(self.roots.len())?, narrow(self.skills.len())?);
        for root in catalog.roots()? {
            self.roots.push(RootEntry {
                label: root.label.to_owned(),
                scope: root.scope,
                commit: root.commit.map(str::to_owned),
            });
        }
        for skill in catalog.skills().chain(catalog.shadowed()) {
            let skill = skill?;
            let mut entry = entry(&skill, roots)?;
            entry.parent = skill.parent()?.map(|parent| first + parent.id);
            entry.audience = audience.unwrap_or(entry.audience);
            self.skills.push(entry);
        }
        self.identify_all()
    }

    /// Decides anew which skills are offered, and puts all in the listing order.
    fn identify_all(&mut self) -> Result<(), Error> {
        self.skills.iter_mut().for_each(SkillEntry::reset_identity);
        let mut skills: Vec<_> = self.skills.iter_mut().collect();
        let winners = identify(&self.roots, &mut skills);
        for skill in &mut self.skills {
            let offered = |parent| match winners[parent as usize] {
                Some(winner) => narrow(winner),
                None => Ok(parent),
            };
            skill.parent = skill.parent.map(offered).transpose()?;
        }
        arrange(&mut self.skills);
        Ok(())
    }
}

fn entry(skill: &Skill<'_>, roots: u32) -> Result<SkillEntry, Error> {
    let source = skill.source()?;
    let (text, body) = (skill.text()?.len(), skill.body_range());
    Ok(SkillEntry {
        path: skill.path.to_owned(),
        prefix: skill.path.len() - skill.own_path().len(),
        shadowed: skill.is_shadowed(),
        audience: skill.audience(),
        name: skill.name.to_owned(),
        description: skill.description.to_owned(),
        dialect: skill.dialect,
        root: roots + skill.root,
        file_path: skill.file_path.to_owned(),
        priority: skill.priority,
        inherit: skill.inherit,
        parent: None,
        keywords: skill.keywords()?.into_iter().map(str::to_owned).collect(),
        frontmatter_json: skill.frontmatter_json()?.to_owned(),
        recovered: skill.is_recovered(),
        text_start: source.len() - text,
        body,
        source: Arc::from(source),
        files: skill
            .files()?
            .iter()
            .map(file_entry)
            .collect::<Result<_, _>>()?,
        contract: skill.contract()?.map(|it| it.to_entry()),
    })
}

fn file_entry(file: &File<'_>) -> Result<FileEntry, Error> {
    let arg = |arg: crate::file::Arg<'_>| ArgEntry {
        name: arg.name.to_owned(),
        description: arg.description.to_owned(),
        required: arg.required,
        default: arg.default.map(str::to_owned),
    };
    Ok(FileEntry {
        path: file.path.to_owned(),
        role: file.role,
        kind: file.kind.to_owned(),
        description: file.description.to_owned(),
        execution: file.execution,
        args: file.args()?.into_iter().map(arg).collect(),
        executable: file.executable,
        bytes: file.bytes()?.map(Arc::from),
        unread: file.size.filter(|_| file.is_unread()),
    })
}

#[cfg(test)]
mod tests {
    use crate::model::Dialect;
    use crate::sample::{file, set, skill};
    use crate::{Bundle, SkillSet, write};

    fn tree(path: &str, parent: Option<u32>) -> crate::SkillEntry {
        let mut entry = skill(path, &format!("{path} text\n"));
        (entry.dialect, entry.inherit, entry.parent) = (Dialect::Tree, true, parent);
        entry
    }

    fn bundle(set: &SkillSet) -> Bundle {
        Bundle::from_bytes(&write(set).expect("consistent")).expect("intact")
    }

    #[test]
    fn appending_a_bundle_to_nothing_gives_the_same_skills() {
        let mut packed = skill("pack", "see the file\n");
        packed.files = vec![
            file("big.txt", &b"line\n".repeat(40_000)),
            file("small.bin", &[0, 1, 2]),
        ];
        let original = set(vec![tree("ui/auth", Some(1)), tree("_root", None), packed]);
        let mut copy = SkillSet::default();
        copy.extend_from(&bundle(&original)).expect("intact");
        assert_eq!(
            write(&copy).expect("consistent"),
            write(&original).expect("consistent")
        );
    }

    #[test]
    fn limits_of_the_bundle_go_on_to_hold() {
        let mut below = set(vec![skill("a", "x\n")]);
        below.settings.scripts_enabled = false;
        below.settings.asset_max_bytes = 10;
        below.settings.min_score = 0.5;
        let bundle = bundle(&below);
        let mut untuned = set(Vec::new());
        untuned.extend_from(&bundle).expect("intact");
        assert_eq!(untuned.settings, below.settings);
        let mut tuned = set(Vec::new());
        tuned.settings.min_score = 0.1;
        tuned.settings.asset_max_bytes = 5;
        tuned.extend_from(&bundle).expect("intact");
        let found = &tuned.settings;
        assert_eq!(
            (
                found.min_score,
                found.asset_max_bytes,
                found.scripts_enabled
            ),
            (0.1, 5, false)
        );
    }

    #[test]
    fn what_came_first_wins_and_becomes_the_parent() {
        let below = set(vec![
            tree("_root", None),
            tree("ui", Some(0)),
            skill("pdf", "below\n"),
        ]);
        let mut above = set(vec![skill("pdf", "above\n"), tree("_root", None)]);
        above.extend_from(&bundle(&below)).expect("intact");
        let merged = bundle(&above);
        let catalog = merged.catalog().expect("intact");
        let paths: Vec<_> = catalog
            .skills()
            .map(|skill| skill.expect("intact").path)
            .collect();
        assert_eq!(paths, ["pdf", "_root", "ui"]);
        let shadowed: Vec<_> = catalog
            .shadowed()
            .map(|skill| skill.expect("intact").path)
            .collect();
        assert_eq!(shadowed, ["project/_root", "project/pdf"]);
        let body = |path| {
            catalog
                .by_path(path)
                .expect("intact")
                .expect("there")
                .body()
                .expect("intact")
        };
        assert_eq!(body("pdf"), "above\n");
        let ui = catalog.by_path("ui").expect("intact").expect("there");
        assert_eq!(ui.parent().expect("intact").expect("there").id, 1);
        assert_eq!(catalog.roots().expect("intact").len(), 2);
    }
}
