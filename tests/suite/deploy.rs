//! The examples in `docs/deploy/` fit the program: options that exist, one port,
//! probes of paths that answer, no privileges, no secrets in the files.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::project::{Project, finish, material, test_with, workspace};

/// The instructions of a container file that the example needs.
const KNOWN: [&str; 9] = [
    "FROM",
    "WORKDIR",
    "COPY",
    "RUN",
    "ENV",
    "USER",
    "EXPOSE",
    "ENTRYPOINT",
    "CMD",
];

fn example(name: &str) -> String {
    let path = workspace().join("docs/deploy").join(name);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The documents of a YAML file.
fn documents(name: &str) -> Vec<Value> {
    let text = example(name);
    serde_yaml::Deserializer::from_str(&text)
        .map(|document| {
            serde::Deserialize::deserialize(document).unwrap_or_else(|e| panic!("{name}: {e}"))
        })
        .collect()
}

/// The document of a kind.
fn kind<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    let found = documents.iter().find(|document| document["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind}"))
}

fn strings(value: &Value) -> Vec<&str> {
    let list = value.as_array().map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_str).collect()
}

/// The options that `serve --help` knows.
fn is_option(word: &str, help: &str) -> bool {
    !word.starts_with("--") || help.contains(&format!("{word} "))
}

fn assert_serves(name: &str, words: &[&str]) {
    let help = Project::new().run(&["serve", "--help"]).stdout;
    assert!(words.contains(&"serve"), "{name}: {words:?}");
    assert!(words.contains(&"--http"), "{name}: {words:?}");
    for word in words {
        assert!(is_option(word, &help), "{name}: serve has no {word}");
        assert!(
            !word.contains("token="),
            "{name}: no secret on a command line"
        );
    }
}

#[test]
fn the_manifest_is_whole_and_asks_for_no_privilege() {
    let documents = documents("kubernetes.yaml");
    for document in &documents {
        assert!(document["apiVersion"].is_string(), "{document}");
        assert!(document["metadata"]["name"].is_string(), "{document}");
    }
    let deployment = kind(&documents, "Deployment");
    let pod = &deployment["spec"]["template"];
    assert_eq!(
        deployment["spec"]["selector"]["matchLabels"],
        pod["metadata"]["labels"]
    );
    assert!(deployment["spec"]["replicas"].as_u64() > Some(1));
    let pod_spec = &pod["spec"];
    assert_eq!(pod_spec["automountServiceAccountToken"], false);
    assert_eq!(pod_spec["securityContext"]["runAsNonRoot"], true);
    let container = &pod_spec["containers"][0];
    let context = &container["securityContext"];
    assert_eq!(context["allowPrivilegeEscalation"], false);
    assert_eq!(context["readOnlyRootFilesystem"], true);
    assert_eq!(context["capabilities"]["drop"], serde_json::json!(["ALL"]));
    assert!(container["resources"]["limits"]["memory"].is_string());
    assert_serves("kubernetes.yaml", &strings(&container["args"]));

    let port = &container["ports"][0];
    let listens = strings(&container["args"])
        .iter()
        .any(|word| word.ends_with(&format!(":{}", port["containerPort"])));
    assert!(listens, "{container}");
    for (probe, path) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
        assert_eq!(container[probe]["httpGet"]["path"], path);
        assert_eq!(container[probe]["httpGet"]["port"], port["name"]);
    }
    let token = &container["env"][0];
    assert_eq!(token["name"], "SKILLBUNDLE_TOKEN");
    assert!(
        token["valueFrom"]["secretKeyRef"]["name"].is_string(),
        "{token}"
    );

    let service = kind(&documents, "Service");
    assert_eq!(service["spec"]["selector"], pod["metadata"]["labels"]);
    assert_eq!(service["spec"]["ports"][0]["targetPort"], port["name"]);
    assert!(
        documents.iter().all(|d| d["kind"] != "Secret"),
        "no secret in the file"
    );
}

#[test]
fn the_unit_is_complete() {
    let unit = example("skillbundle.service");
    let value = |key: &str| {
        let found = unit
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("no {key}"))
    };
    assert_serves(
        "skillbundle.service",
        &value("ExecStart").split(' ').collect::<Vec<_>>(),
    );
    assert_eq!(value("Restart"), "on-failure");
    assert_eq!(value("NoNewPrivileges"), "yes");
    assert_eq!(value("DynamicUser"), "yes");
    assert!(
        value("EnvironmentFile").starts_with('/'),
        "the token comes from a file"
    );
    assert_eq!(value("WantedBy"), "multi-user.target");
}

#[test_with(systemd_analyze)]
fn systemd_accepts_the_unit() {
    let project = Project::new();
    // The program need not be installed where this is checked.
    let program = env!("CARGO_BIN_EXE_skillbundle");
    project.file(
        "skillbundle.service",
        example("skillbundle.service").replace("/usr/local/bin/skillbundle", program),
    );
    let mut verify = Command::new(material("systemd_analyze"));
    verify
        .args(["verify", "--man=no"])
        .arg(project.path("skillbundle.service"));
    let stderr = finish(&mut verify).stderr;
    let ours: Vec<&str> = stderr
        .lines()
        .filter(|l| l.contains("skillbundle"))
        .collect();
    assert!(ours.is_empty(), "{stderr}");
}

#[test]
fn the_container_holds_the_program_and_no_user_with_rights() {
    let text = example("Containerfile").replace("\\\n", " ");
    let instructions: Vec<(&str, &str)> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(|line| line.trim().split_once(' '))
        .collect();
    let all = |name: &str| -> Vec<&str> {
        let found = instructions.iter().filter(|(found, _)| *found == name);
        found.map(|(_, rest)| rest.trim()).collect()
    };
    for (name, rest) in &instructions {
        assert!(KNOWN.contains(name), "{name} {rest}");
    }
    assert!(
        all("FROM")
            .iter()
            .all(|image| image.contains(':') || *image == "scratch"),
        "images have versions"
    );
    assert_eq!(all("USER"), ["65534:65534"]);
    assert!(all("ENV").iter().all(|line| !line.contains("TOKEN")));
    let list = |name: &str| -> Vec<String> {
        let [text] = all(name)[..] else {
            panic!("one {name}")
        };
        serde_json::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let words = [list("ENTRYPOINT"), list("CMD")].concat();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_serves("Containerfile", &words);
    let port = all("EXPOSE")[0];
    assert!(
        words.iter().any(|word| word.ends_with(&format!(":{port}"))),
        "{words:?}"
    );
}
