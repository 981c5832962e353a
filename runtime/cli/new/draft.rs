//! What a new skill consists of: the templates of `runtime/templates`, one folder for each dialect and
//! each option, put together and filled in. Pure: nothing is written here.

use include_dir::{Dir, include_dir};

use super::words;

static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/runtime/templates");

/// The kind of skill.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    /// Whether it is a page of the tree dialect; a folder otherwise.
    pub(super) is_page: bool,
    pub(super) has_contract: bool,
    pub(super) has_script: bool,
}

/// A skill that is not on disk yet.
#[derive(Debug)]
pub(super) struct Draft {
    /// Its files, the page last: paths relative to the directory that it is made in.
    pub(super) files: Vec<DraftFile>,
}

/// A file of it.
#[derive(Debug)]
pub(super) struct DraftFile {
    pub(super) path: String,
    pub(super) text: String,
}

impl DraftFile {
    /// Whether it is a program, by its first line.
    pub(super) fn is_executable(&self) -> bool {
        self.text.starts_with("#!")
    }
}

impl Kind {
    /// The folders of templates that it is made of.
    fn layers(self) -> impl Iterator<Item = &'static str> {
        let base = if self.is_page { "tree" } else { "folder" };
        let script = self.has_script.then_some("script");
        let contract = self.has_contract.then_some("contract");
        [base].into_iter().chain(script).chain(contract)
    }

    /// The Markdown file, relative to the directory that the skill is made in.
    fn page(self, name: &str) -> String {
        if self.is_page {
            format!("{name}.md")
        } else {
            format!("{name}/SKILL.md")
        }
    }
}

impl Draft {
    /// Fills in the templates for a skill of this kind.
    pub(super) fn new(kind: Kind, name: &str, description: &str) -> Self {
        let keywords: Vec<_> = words::keywords(name, description)
            .iter()
            .map(|it| words::yaml_text(it))
            .collect();
        let values = [
            ("{{name}}", words::yaml_name(name)),
            (
                "{{contract_name}}",
                words::yaml_name(&words::contract_name(name)),
            ),
            ("{{title}}", words::title(name)),
            ("{{keywords}}", format!("[{}]", keywords.join(", "))),
            ("{{description}}", words::yaml_text(description)),
        ];
        let mut files: Vec<_> = kind.layers().flat_map(bundled).collect();
        for file in &mut files {
            file.path = format!("{name}/{}", file.path);
        }
        files.push(DraftFile {
            path: kind.page(name),
            text: filled(&page_text(kind), &values),
        });
        Self { files }
    }
}

/// The page of a kind, not filled in.
fn page_text(kind: Kind) -> String {
    let of_each = |file: &str| -> Vec<&str> {
        let texts = kind.layers().map(|layer| text(&format!("{layer}/{file}")));
        texts.filter(|text| !text.is_empty()).collect()
    };
    let frontmatter = of_each("frontmatter.yaml").concat();
    // A folder skill has every file in its folder; a page has those that it declares.
    let declarations = of_each("declaration.yaml").concat();
    let scripts = if kind.is_page && !declarations.is_empty() {
        format!("scripts:\n{declarations}")
    } else {
        String::new()
    };
    let body = of_each("body.md").join("\n");
    format!("---\n{frontmatter}{scripts}---\n\n{body}")
}

/// The files that a layer brings.
fn bundled(layer: &str) -> Vec<DraftFile> {
    fn collect(dir: &Dir<'static>, top: &str, files: &mut Vec<DraftFile>) {
        for file in dir.files() {
            let path = file.path().to_string_lossy().replace('\\', "/");
            let text = file.contents_utf8().expect("templates are text").to_owned();
            let path = path.strip_prefix(top).unwrap_or(&path).to_owned();
            files.push(DraftFile { path, text });
        }
        dir.dirs().for_each(|dir| collect(dir, top, files));
    }
    let mut files = Vec::new();
    let top = format!("{layer}/files");
    if let Some(dir) = TEMPLATES.get_dir(&top) {
        collect(dir, &format!("{top}/"), &mut files);
    }
    files
}

/// A template; empty if there is none.
fn text(path: &str) -> &'static str {
    let file = TEMPLATES.get_file(path);
    file.and_then(|file| file.contents_utf8())
        .unwrap_or_default()
}

/// A template with its values. What a value says is not looked at again.
fn filled(template: &str, values: &[(&str, String)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find("{{") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let value = values.iter().find(|(name, _)| rest.starts_with(name));
        let (name, value) = value.expect("every placeholder of a template has a value");
        out.push_str(value);
        rest = &rest[name.len()..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_types_is_no_template() {
        let kind = Kind {
            is_page: false,
            has_contract: false,
            has_script: false,
        };
        let draft = Draft::new(kind, "a", "Fills in {{name}} and \"{{title}}\"");
        let text = &draft.files[0].text;
        assert!(
            text.contains("description: \"Fills in {{name}} and \\\"{{title}}\\\"\"\n"),
            "{text}"
        );
    }
}
