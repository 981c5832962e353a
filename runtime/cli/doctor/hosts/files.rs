//! Where agent hosts keep their MCP servers: one table. `docs/hosts.md` is its documentation.

use std::env;
use std::path::{Path, PathBuf};

use Base::{Config, Desktop, Home, Project};
use Format::{Json, Jsonc, Toml, Yaml};

/// A configuration file of a host.
pub(super) struct HostFile {
    /// The name of the host.
    pub(super) host: &'static str,
    /// What its path is relative to.
    pub(super) base: Base,
    /// The path below that.
    pub(super) path: &'static str,
    /// What it is written in.
    pub(super) format: Format,
    /// The keys that lead to the servers, each by its name, separated by dots; `*` is any key.
    pub(super) keys: &'static [&'static str],
}

/// What the path of a configuration file is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// The working directory and those above it, up to the root of its repository.
    Project,
    /// The home directory.
    Home,
    /// The directory that this variable names, or else this one below the home directory.
    HomeOr(&'static str, &'static str),
    /// `~/.config`, or `$XDG_CONFIG_HOME`; on Windows `%APPDATA%`.
    Config,
    /// `~/Library/Application Support` on macOS, otherwise as `Config`: desktop programs.
    Desktop,
}

/// What a configuration file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON as RFC 8259 has it.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    Toml,
    Yaml,
}

impl Format {
    /// Its name.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Json | Self::Jsonc => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        }
    }
}

const fn file(
    host: &'static str,
    base: Base,
    path: &'static str,
    format: Format,
    keys: &'static [&'static str],
) -> HostFile {
    HostFile {
        host,
        base,
        path,
        format,
        keys,
    }
}

/// The key of most hosts.
const SERVERS: &[&str] = &["mcpServers"];

const CODEX: Base = Base::HomeOr("CODEX_HOME", ".codex");
const COPILOT: Base = Base::HomeOr("COPILOT_HOME", ".copilot");
const CLAUDE: Base = Base::HomeOr("CLAUDE_CONFIG_DIR", "");

/// Where Cline, an extension of VS Code, keeps its settings.
const CLINE: &str =
    "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";

/// Sources: the documentation of each host, in November 2026. `Json` only for hosts that are known
/// to refuse comments, since a false alarm is worse than none.
#[rustfmt::skip] // A table: one row per file.
pub(super) const FILES: &[HostFile] = &[
    file("Claude Code", Project, ".mcp.json", Json, SERVERS),
    file("Claude Code", CLAUDE, ".claude.json", Json, &["mcpServers", "projects.*.mcpServers"]),
    file("Claude Desktop", Desktop, "Claude/claude_desktop_config.json", Json, SERVERS),
    file("Codex", Project, ".codex/config.toml", Toml, &["mcp_servers"]),
    file("Codex", CODEX, "config.toml", Toml, &["mcp_servers"]),
    file("Gemini CLI", Project, ".gemini/settings.json", Jsonc, SERVERS),
    file("Gemini CLI", Home, ".gemini/settings.json", Jsonc, SERVERS),
    file("VS Code", Project, ".vscode/mcp.json", Jsonc, &["servers"]),
    file("VS Code", Desktop, "Code/User/mcp.json", Jsonc, &["servers"]),
    file("Copilot CLI", Project, ".github/mcp.json", Jsonc, SERVERS),
    file("Copilot CLI", COPILOT, "mcp-config.json", Jsonc, SERVERS),
    file("Cursor", Project, ".cursor/mcp.json", Jsonc, SERVERS),
    file("Cursor", Home, ".cursor/mcp.json", Jsonc, SERVERS),
    file("opencode", Project, "opencode.json", Jsonc, &["mcp"]),
    file("opencode", Project, "opencode.jsonc", Jsonc, &["mcp"]),
    file("opencode", Project, ".opencode/opencode.json", Jsonc, &["mcp"]),
    file("opencode", Config, "opencode/opencode.json", Jsonc, &["mcp"]),
    file("opencode", Config, "opencode/opencode.jsonc", Jsonc, &["mcp"]),
    file("Windsurf", Home, ".codeium/windsurf/mcp_config.json", Jsonc, SERVERS),
    file("Zed", Project, ".zed/settings.json", Jsonc, &["context_servers"]),
    file("Zed", Config, "zed/settings.json", Jsonc, &["context_servers"]),
    file("Goose", Config, "goose/config.yaml", Yaml, &["extensions"]),
    file("Cline", Desktop, CLINE, Jsonc, SERVERS),
    file("Cline", Home, ".cline/data/settings/cline_mcp_settings.json", Jsonc, SERVERS),
];

impl HostFile {
    /// The paths that it may have, nearest first.
    pub(super) fn paths(&self, projects: &[&Path], home: Option<&Path>) -> Vec<PathBuf> {
        let variable = |name| {
            env::var_os(name)
                .map(PathBuf::from)
                .filter(|it| it.is_absolute())
        };
        let in_home = |dir: &str| home.map(|home| home.join(dir));
        let config = || variable("XDG_CONFIG_HOME").or_else(|| in_home(".config"));
        let base = match self.base {
            Project => return projects.iter().map(|it| it.join(self.path)).collect(),
            Home => in_home(""),
            Base::HomeOr(name, dir) => variable(name).or_else(|| in_home(dir)),
            Config | Desktop if cfg!(windows) => variable("APPDATA"),
            Desktop if cfg!(target_os = "macos") => in_home("Library/Application Support"),
            Config | Desktop => config(),
        };
        base.iter().map(|base| base.join(self.path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Its path as the page writes it: on Linux, without variables.
    fn documented(file: &HostFile) -> String {
        let base = match file.base {
            Project => String::new(),
            Home | Base::HomeOr(_, "") => "~/".to_owned(),
            Base::HomeOr(_, dir) => format!("~/{dir}/"),
            Config | Desktop => "~/.config/".to_owned(),
        };
        format!("`{base}{}`", file.path)
    }

    #[test]
    fn every_file_is_documented_and_listed_once() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/hosts.md");
        let page = fs::read_to_string(page).expect("the page is there");
        for (at, file) in FILES.iter().enumerate() {
            let path = documented(file);
            let mut rows = page.lines().filter(|line| line.starts_with("| "));
            assert!(
                rows.any(|row| row.contains(file.host) && row.contains(&path)),
                "docs/hosts.md has no row with {} and {path}",
                file.host
            );
            let earlier = FILES[..at].iter().find(|it| documented(it) == path);
            assert!(earlier.is_none(), "{path} is listed twice");
        }
    }
}
