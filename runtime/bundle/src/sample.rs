//! Small skills for the tests of this crate.

use std::sync::Arc;

use crate::model::{
    Audience, Dialect, Execution, FileEntry, Role, RootEntry, Scope, SkillEntry, SkillSet,
};

/// A folder-dialect skill at `path` whose name is the path's last segment.
pub(crate) fn skill(path: &str, body: &str) -> SkillEntry {
    let name = path.rsplit('/').next().unwrap_or(path);
    let head = format!("---\nname: {name}\ndescription: About {name}.\n---\n");
    SkillEntry {
        path: path.to_owned(),
        name: name.to_owned(),
        description: format!("About {name}."),
        dialect: Dialect::Folder,
        root: 0,
        file_path: format!("{path}/SKILL.md"),
        priority: 0.0,
        inherit: false,
        parent: None,
        prefix: 0,
        shadowed: false,
        audience: Audience::Everyone,
        keywords: vec![name.to_owned()],
        frontmatter_json: format!(r#"{{"name":"{name}","description":"About {name}."}}"#),
        recovered: false,
        body: head.len()..head.len() + body.len(),
        source: Arc::from(format!("{head}{body}").into_bytes()),
        text_start: 0,
        files: Vec::new(),
        contract: None,
    }
}

/// A plain file.
pub(crate) fn file(path: &str, bytes: &[u8]) -> FileEntry {
    FileEntry {
        path: path.to_owned(),
        role: Role::File,
        kind: "other".to_owned(),
        description: String::new(),
        execution: Execution::Claude,
        args: Vec::new(),
        executable: false,
        bytes: Some(Arc::from(bytes)),
        unread: None,
    }
}

/// These skills under one project root.
pub(crate) fn set(skills: Vec<SkillEntry>) -> SkillSet {
    let root = RootEntry {
        label: "project".to_owned(),
        scope: Scope::Project,
        commit: None,
    };
    SkillSet {
        roots: vec![root],
        skills,
        ..SkillSet::default()
    }
}
