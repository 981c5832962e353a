//! How the arguments of a script reach it: each in an environment variable of its name.

/// The environment variable that an argument of this name is passed in: `target-dir` is passed in
/// `SKILL_ARG_TARGET_DIR`. `None` if the name is empty or has other characters than ASCII letters,
/// digits, `-` and `_`. Different names can have the same variable.
pub fn variable_of(name: &str) -> Option<String> {
    let is_usable = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_name = !name.is_empty() && name.bytes().all(is_usable);
    is_name.then(|| format!("SKILL_ARG_{}", name.to_ascii_uppercase().replace('-', "_")))
}

#[cfg(test)]
mod tests {
    use super::variable_of;

    #[test]
    fn names_become_variables_in_capitals() {
        for (name, variable) in [
            ("target", "SKILL_ARG_TARGET"),
            ("target-dir", "SKILL_ARG_TARGET_DIR"),
            ("target_dir", "SKILL_ARG_TARGET_DIR"),
            ("TargetDir", "SKILL_ARG_TARGETDIR"),
            ("2nd", "SKILL_ARG_2ND"),
            ("-", "SKILL_ARG__"),
            ("PATH", "SKILL_ARG_PATH"),
            ("LD_PRELOAD", "SKILL_ARG_LD_PRELOAD"),
        ] {
            assert_eq!(variable_of(name).as_deref(), Some(variable), "{name:?}");
        }
    }

    #[test]
    fn names_with_other_characters_have_no_variable() {
        for name in [
            "", " ", "a b", "a=b", "a.b", "a/b", "a\0b", "a\nb", "$a", "`a`", "straße", "ı", "Ａ",
            "名前",
        ] {
            assert_eq!(variable_of(name), None, "{name:?}");
        }
    }
}
