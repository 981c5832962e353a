//! Frontmatter, end to end.
