//! The generated files of the MCP skills extension, against other YAML parsers.

use skillbundle_compiler::Compiled;
use skillbundle_format::{Bundle, write};

use crate::kit::{CompileTree, Tree, page};

fn bundle(compiled: &Compiled) -> Bundle {
    let bytes = write(&compiled.set).expect("a set can be written");
    Bundle::from_bytes(&bytes).expect("written bytes open")
}

/// Two other YAML parsers read the generated file of a page as its entry says, since
/// hosts compare the two.
#[test]
fn generated_frontmatter_is_read_as_its_entry_says() {
    let tree = Tree::new();
    tree.file("r/_root.md", page("root"));
    let mut compiled = tree.compile(&["r"]);
    let descriptions = [
        "plain",
        "- not: a list # nor a comment",
        "'single' \"double\" \\ back",
        "line\nline\r\n\ttab  two blanks ",
        "\u{7}\u{7f}\u{85}\u{9f}\u{a0}\u{2028}\u{2029}\u{feff}x",
        "é 日本 🦀 \u{e000}",
        "---",
        "null",
    ];
    for description in descriptions {
        compiled.set.skills[0].description = description.to_owned();
        let bundle = bundle(&compiled);
        let published = bundle.catalog().and_then(|it| it.published());
        let published = published.expect("intact");
        let skill = published.skill(0).expect("listed");
        let bytes = skill.resource().and_then(|it| it.bytes()).expect("intact");
        let text = std::str::from_utf8(&bytes).expect("UTF-8");
        let yaml = text
            .strip_prefix("---\n")
            .and_then(|it| it.split_once("\n---\n"))
            .expect("frontmatter")
            .0;
        let entry = published.entry(skill.uri).expect("intact").expect("listed");
        let entry: serde_json::Value = serde_json::from_str(entry).expect("JSON");
        let readers: [serde_json::Value; 2] = [
            serde_yaml::from_str(yaml).expect("YAML"),
            serde_saphyr::from_str(yaml).expect("YAML"),
        ];
        for read in readers {
            assert_eq!(read, entry["frontmatter"], "{description:?}");
        }
        assert_eq!(entry["frontmatter"]["description"], description);
    }
}
