//! `#[test_with(corpus)]`: a test that needs something outside the repository.
//! The standard test runner decides at compile time what it ignores, so the
//! attribute looks when the test is compiled. `needs.rs` has the list.

mod needs;

use proc_macro::TokenStream;

/// Marks a test that needs something outside the repository, by its name in
/// `needs.rs`. If it is absent, the test is listed as ignored, with the reason.
/// Setting the environment variable named there compiles the test again.
#[proc_macro_attribute]
pub fn test_with(name: TokenStream, item: TokenStream) -> TokenStream {
    let name = name.to_string();
    let Some(need) = needs::NEEDS.iter().find(|need| need.name == name) else {
        let message = format!("needs.rs has no entry `{name}`");
        return parse(&format!("compile_error!({message:?});"));
    };
    let mut out = parse("#[::core::prelude::v1::test]");
    if let Err(reason) = need.find() {
        out.extend(parse(&format!("#[ignore = {reason:?}]")));
    }
    out.extend(item);
    // Tells Cargo that the outcome depends on the variable.
    let variable = need.variable;
    out.extend(parse(&format!(
        "const _: ::core::option::Option<&str> = ::core::option_env!({variable:?});"
    )));
    out
}

fn parse(code: &str) -> TokenStream {
    code.parse().expect("the text above is Rust")
}
