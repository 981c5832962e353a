//! File types by extension: binary or text (spec 3 §7.2), MIME type. Content is inspected only to
//! distinguish valid UTF-8 from other bytes.

/// The extensions that spec 3 §7.2 defines as binary.
const BINARY: [&str; 11] = [
    "gif", "ico", "jpeg", "jpg", "pdf", "png", "svg", "webp", "woff", "woff2", "zip",
];

/// MIME types by extension, sorted. Follows the first column of spec 3 §7.2 exactly, except that
/// `.ico` and `.webp` get their registered type instead of `application/octet-stream`.
const TYPES: [(&str, &str); 40] = [
    ("bash", "text/x-shellscript"),
    ("c", "text/x-c"),
    ("cs", "text/x-csharp"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("html", "text/html"),
    ("ico", "image/x-icon"),
    ("java", "text/x-java"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsx", "text/javascript"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("pdf", "application/pdf"),
    ("php", "text/x-php"),
    ("png", "image/png"),
    ("ps1", "text/x-powershell"),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("rs", "text/x-rust"),
    ("sh", "text/x-shellscript"),
    ("sql", "application/sql"),
    ("svg", "image/svg+xml"),
    ("toml", "application/toml"),
    ("ts", "text/x-typescript"),
    ("tsx", "text/x-typescript"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xml", "application/xml"),
    ("xsd", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// Whether the file is binary according to spec 3 §7.2.
pub(crate) fn is_binary(path: &str) -> bool {
    BINARY.binary_search(&extension(path).as_str()).is_ok()
}

/// The MIME type by extension; unknown extensions are `text/plain` or `application/octet-stream`.
pub(crate) fn type_of(path: &str, is_text: bool) -> &'static str {
    match TYPES.binary_search_by_key(&extension(path).as_str(), |(extension, _)| extension) {
        Ok(at) => TYPES[at].1,
        Err(_) if is_text => "text/plain",
        Err(_) => "application/octet-stream",
    }
}

/// Whether the bytes can be sent as text without changing one: UTF-8, no NUL.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_none() && std::str::from_utf8(bytes).is_ok()
}

fn extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_for_binary_search() {
        assert!(BINARY.is_sorted());
        assert!(TYPES.is_sorted());
    }

    #[test]
    fn extensions_decide_as_spec_3_says() {
        for (path, binary, mime) in [
            ("a/logo.PNG", true, "image/png"),
            ("flow.svg", true, "image/svg+xml"),
            ("x.tsx.template", false, "text/plain"),
            ("scripts/run.sh", false, "text/x-shellscript"),
            ("LICENSE", false, "text/plain"),
            ("font.woff2", true, "font/woff2"),
        ] {
            assert_eq!(
                (is_binary(path), type_of(path, true)),
                (binary, mime),
                "{path}"
            );
        }
        assert_eq!(type_of("blob.bin", false), "application/octet-stream");
    }
}
