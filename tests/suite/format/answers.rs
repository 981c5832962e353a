//! Every question that can be put to a bundle, with its answer as bytes, so that
//! two bundles can be compared answer by answer.

use std::borrow::Cow;
use std::fmt::Write as _;

use skillbundle_format::{Bundle, Catalog, Error, File, Published, Search, Skill, SkillSet};

/// What was answered: texts and files as they are, the rest in words.
pub(super) type Answer = Result<Vec<u8>, Error>;

/// The questions: fixed beforehand, so that a damaged bundle cannot choose them.
pub(super) struct Questions {
    skills: u32,
    paths: Vec<String>,
    names: Vec<String>,
    files: Vec<String>,
    contexts: Vec<String>,
    words: Vec<String>,
}

impl Questions {
    /// Everything that the set gives reason to ask, and some things it does not.
    pub(super) fn of(set: &SkillSet) -> Self {
        let mut questions = Self {
            skills: u32::try_from(set.skills.len()).expect("a few skills"),
            paths: vec!["no/such/path".to_owned()],
            names: vec!["no such name".to_owned()],
            files: vec!["no/such/file".to_owned()],
            contexts: vec!["nothing that matches".to_owned()],
            words: vec!["zzzzzz".to_owned(), String::new()],
        };
        for skill in &set.skills {
            questions.paths.push(skill.path.clone());
            questions
                .names
                .push(format!(" {} ", skill.name.to_uppercase()));
            questions
                .files
                .extend(skill.files.iter().map(|f| f.path.clone()));
            questions.contexts.push(skill.keywords.join(" "));
            let first = skill.description.split_whitespace().next();
            questions.words.extend(first.map(str::to_owned));
        }
        questions.files.sort();
        questions.files.dedup();
        questions
    }

    /// Asks all of them, in one fixed order.
    pub(super) fn ask(&self, bundle: &Bundle) -> Vec<Answer> {
        let mut heard = Heard::default();
        heard.words(Ok(bundle.content_hex()));
        heard.words(bundle.verify().map(|_| "sound".to_owned()));
        if let Some(catalog) = heard.or_error(bundle.catalog()) {
            self.ask_catalog(catalog, &mut heard);
        }
        heard.0
    }

    fn ask_catalog(&self, catalog: Catalog<'_>, heard: &mut Heard) {
        heard.words(Ok(format!("{} {}", catalog.len(), catalog.is_empty())));
        heard.words(catalog.settings().map(|s| format!("{s:?}")));
        heard.words(catalog.roots().map(|roots| format!("{roots:?}")));
        let paths: Result<Vec<&str>, Error> = catalog.skills().map(|s| s.map(|s| s.path)).collect();
        heard.words(paths.map(|paths| paths.join("\n")));
        for path in &self.paths {
            heard.words(catalog.by_path(path).map(number));
        }
        for name in self.names.iter().chain(&self.paths) {
            heard.words(catalog.by_name(name).map(number));
        }
        for context in &self.contexts {
            heard.words(catalog.match_keywords(context).map(|matches| {
                let mut rows = String::new();
                for m in matches {
                    let _ = writeln!(rows, "{} {} {:?}", m.skill.id, m.score, m.matched_keywords);
                }
                rows
            }));
        }
        for words in &self.words {
            let search = Search {
                query: words,
                limit: 5,
                ..Search::default()
            };
            heard.words(catalog.search(&search).map(|found| {
                let mut rows = format!("{} {}", found.total, found.matched.as_str());
                for hit in found.hits {
                    let _ = write!(rows, "\n{} {} {}", hit.skill.id, hit.score, hit.excerpt);
                }
                rows
            }));
        }
        if let Some(published) = heard.or_error(catalog.published()) {
            ask_published(published, heard);
        }
        for id in 0..=self.skills {
            if let Some(skill) = heard.or_error(catalog.skill(id)) {
                self.ask_skill(skill, heard);
            }
        }
    }

    fn ask_skill(&self, skill: Skill<'_>, heard: &mut Heard) {
        heard.words(Ok(fields(skill)));
        heard.words(skill.callable_name().map(str::to_owned));
        heard.words(skill.text().map(Cow::into_owned));
        heard.words(skill.body().map(Cow::into_owned));
        heard.words(skill.content());
        heard.words(skill.frontmatter_json().map(str::to_owned));
        heard.words(skill.keywords().map(|k| k.join("\n")));
        heard.bytes(skill.source().map(Cow::into_owned));
        heard.bytes(skill.digest().map(Vec::from));
        heard.words(skill.parent().map(number));
        heard.words(skill.chain().map(|chain| {
            let paths: Vec<&str> = chain.iter().map(|s| s.path).collect();
            paths.join("\n")
        }));
        for file in heard.or_error(skill.files()).into_iter().flatten() {
            ask_file(file, heard);
        }
        for (file, from) in heard
            .or_error(skill.inherited_files())
            .into_iter()
            .flatten()
        {
            heard.words(Ok(format!("{} from {}", file.path, from.id)));
            ask_file(file, heard);
        }
        for path in &self.files {
            heard.words(
                skill
                    .file(path)
                    .map(|f| f.map_or_else(String::new, file_fields)),
            );
            heard.words(skill.find_file(path).map(|found| match found {
                None => String::new(),
                Some((file, from)) => file_fields(file) + &number(from),
            }));
        }
    }
}

/// Answers in the order of their questions.
#[derive(Default)]
struct Heard(Vec<Answer>);

impl Heard {
    fn words(&mut self, answer: Result<String, Error>) {
        self.bytes(answer.map(String::into_bytes));
    }

    fn bytes(&mut self, answer: Answer) {
        self.0.push(answer);
    }

    /// Hands on what was answered, or keeps the error.
    fn or_error<T>(&mut self, answer: Result<T, Error>) -> Option<T> {
        answer.map_err(|error| self.bytes(Err(error))).ok()
    }
}

fn ask_published(published: Published<'_>, heard: &mut Heard) {
    let page = published.page(0, usize::MAX, usize::MAX);
    heard.words(page.map(|page| format!("{page:?}")));
    let uris = |prefix| -> Result<Vec<String>, Error> {
        let uris = published.uris_starting_with(prefix)?;
        uris.map(|uri| uri.map(str::to_owned)).collect()
    };
    for uri in heard.or_error(uris("skill://")).into_iter().flatten() {
        let Some(Some(resource)) = heard.or_error(published.resource(&uri)) else {
            continue;
        };
        heard.words(Ok(format!(
            "{uri} {} {} {} {:?} {}",
            resource.name, resource.mime, resource.size, resource.digest, resource.is_text
        )));
        heard.bytes(resource.bytes().map(Cow::into_owned));
        heard.words(resource.skill().map(|skill| skill.uri.to_owned()));
        heard.words(
            published
                .entry(&uri)
                .map(|entry| entry.unwrap_or_default().to_owned()),
        );
        let directory = uri.rsplit_once('/').map_or("", |(above, _)| above);
        heard.words(published.directory(directory).map(|children| {
            let children = children.into_iter().flatten();
            children.map(|it| it.uri()).collect::<Vec<_>>().join("\n")
        }));
    }
    let names = |prefix| -> Result<Vec<String>, Error> {
        let skills = published.names_starting_with(prefix)?;
        skills.map(|it| it.map(|it| it.name.into_owned())).collect()
    };
    heard.words(names("").map(|names| names.join("\n")));
}

fn ask_file(file: File<'_>, heard: &mut Heard) {
    heard.words(Ok(file_fields(file)));
    heard.bytes(
        file.bytes()
            .map(|b| b.map_or_else(|| b"missing".to_vec(), Cow::into_owned)),
    );
    heard.bytes(Ok(file.digest().map(Vec::from).unwrap_or_default()));
    heard.words(file.args().map(|args| format!("{args:?}")));
}

fn number(skill: Option<Skill<'_>>) -> String {
    skill.map_or_else(|| "none".to_owned(), |s| s.id.to_string())
}

fn fields(s: Skill<'_>) -> String {
    format!(
        "{} {:?} {:?} {:?} {:?} {:?} {:?} {} {:?} {:?} {} {} {:?}",
        s.id,
        s.path,
        s.name,
        s.description,
        s.summary,
        s.dialect,
        s.scope,
        s.root,
        s.root_label,
        s.file_path,
        s.priority,
        s.inherit,
        s.install_name()
    )
}

fn file_fields(f: File<'_>) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?} {} {:?} {} {} {:?}",
        f.path,
        f.role,
        f.kind,
        f.description,
        f.execution,
        f.executable,
        f.mime,
        f.is_binary,
        f.is_text,
        f.size
    )
}
