//! Attributes of items: what they are, and whether they say that the item is there in tests only.

use syn::{Attribute, Item, Meta};

/// The attributes of an item, of those kinds that may be for tests.
pub(crate) fn attributes(item: &Item) -> Option<&[Attribute]> {
    Some(match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return None,
    })
}

/// Whether an item with these attributes is there in tests only.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition: String = list.tokens.to_string().split_whitespace().collect();
            condition == "test" || condition.starts_with("all(test,")
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: bool) {
        let file = syn::parse_file(source).expect("source");
        assert_eq!(attributes(&file.items[0]).is_some_and(is_for_tests), expected, "{source}");
    }

    #[test]
    fn code_for_tests() {
        check("#[cfg(test)] mod tests;", true);
        check("#[cfg(all(test, unix))] fn f() {}", true);
        check("#[test] fn f() {}", true);
        check("#[cfg(not(test))] fn f() {}", false);
        check("#[inline] fn f() {}", false);
    }
}
