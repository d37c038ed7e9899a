//! Where references lead within the one document that there is: nothing is ever fetched.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;

use super::{dialect::Dialect, structure::each_subschema};
use crate::json::{Json, Object, Pointer};

/// Where a reference leads.
pub(super) enum Reference<'a> {
    /// To this place of the same document.
    Found(Pointer, &'a Json),
    /// To no place of the document.
    Dangling,
    /// To an address: the validator resolves it among the `$id`s of the document, or refuses the schema.
    ByAddress,
}

/// What the parts of a document are called.
#[derive(Debug)]
pub(super) struct Names {
    dialect: Dialect,
    /// The address of the document itself.
    own: Option<String>,
    anchors: HashMap<String, Pointer>,
    /// Whether parts have addresses of their own. Inside of these, `#` means that part and not the document.
    embedded: bool,
}

impl Names {
    pub(super) fn of(root: &Json, dialect: Dialect) -> Self {
        let mut names = Self { dialect, own: None, anchors: HashMap::new(), embedded: false };
        each_subschema(root, &Pointer::root(), &mut |keywords, place| names.collect(keywords, place));
        names
    }

    fn collect(&mut self, keywords: &Object, place: &Pointer) {
        let text = |keyword: &str| keywords.get(keyword).and_then(Json::as_str);
        if self.dialect >= Dialect::Draft201909 {
            for name in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
                self.anchors.entry(name.to_owned()).or_insert_with(|| place.clone());
            }
        } else if keywords.contains_key("$ref") {
            // Up to draft 7 a reference stands alone.
            return;
        }
        let Some(id) = text(if self.dialect == Dialect::Draft4 { "id" } else { "$id" }) else { return };
        match id.strip_prefix('#').filter(|_| self.dialect <= Dialect::Draft7) {
            Some(anchor) => drop(self.anchors.entry(anchor.to_owned()).or_insert_with(|| place.clone())),
            None if *place == Pointer::root() => self.own = Some(id.trim_end_matches('#').to_owned()),
            None => self.embedded = true,
        }
    }

    /// Whether an address without fragment is the document's own, written in full or relative to itself.
    fn is_own(&self, address: &str) -> bool {
        self.own.as_deref().is_some_and(|own| {
            let path = own.split_once("://").map_or(own, |(_, rest)| rest.split_once('/').map_or("", |(_, path)| path));
            address == own || path.rsplit('/').next() == Some(address)
        })
    }
}

/// A document and the names of its parts.
#[derive(Clone, Copy)]
pub(super) struct Document<'a> {
    pub(super) root: &'a Json,
    pub(super) names: &'a Names,
}

impl<'a> Document<'a> {
    /// The references of a schema object that stands in the document, and their keywords.
    pub(super) fn references(self, keywords: &Object) -> impl Iterator<Item = (&'static str, &str)> {
        let Names { dialect, embedded, .. } = *self.names;
        // What leads to whoever came this way is an ordinary reference where there is only one way.
        let also = [(Dialect::Draft202012, "$dynamicRef"), (Dialect::Draft201909, "$recursiveRef")];
        let also = also.into_iter().filter(move |(of, _)| *of == dialect && !embedded).map(|(_, keyword)| keyword);
        let named = move |keyword| Some((keyword, keywords.get(keyword)?.as_str()?));
        ["$ref"].into_iter().chain(also).filter_map(named)
    }

    /// Where a reference leads.
    pub(super) fn resolve(self, reference: &str) -> Reference<'a> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if !address.is_empty() && (self.names.embedded || !self.names.is_own(address)) {
            return Reference::ByAddress;
        }
        let decoded = percent_decode_str(fragment).decode_utf8_lossy();
        let is_pointer = decoded.is_empty() || decoded.starts_with('/');
        let target = match Pointer::parse(&decoded).filter(|_| is_pointer) {
            Some(target) => Some(target),
            None if self.names.embedded => None,
            None => self.names.anchors.get(&*decoded).cloned(),
        };
        match target.and_then(|target| Some((target.find(self.root)?, target))) {
            Some((schema, target)) => Reference::Found(target, schema),
            None if is_pointer && !self.names.embedded => Reference::Dangling,
            None => Reference::ByAddress,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::json, *};
    use crate::tools::{Schema, SchemaOptions};

    fn target(schema: &str, reference: &str) -> String {
        let root = json(schema);
        let dialect = super::super::dialect::detect(&root).unwrap().0;
        match (Document { root: &root, names: &Names::of(&root, dialect) }).resolve(reference) {
            Reference::Found(target, _) => target.to_string(),
            Reference::Dangling => "nowhere".to_owned(),
            Reference::ByAddress => "address".to_owned(),
        }
    }

    #[test]
    fn v2_a_place_is_found_by_pointer_by_anchor_and_by_the_address_of_the_document() {
        let schema = r#"{"$id":"http://example.test/a/s.json","$defs":{"x y":{"$anchor":"here"}}}"#;
        for reference in ["#/$defs/x%20y", "#here", "http://example.test/a/s.json#here", "s.json#/$defs/x y"] {
            assert_eq!(target(schema, reference), "/$defs/x y", "{reference}");
        }
        assert_eq!(target(schema, "s.json"), "");
        assert_eq!(target(schema, "#/$defs/z"), "nowhere");
        assert_eq!(target(schema, "http://example.test/b"), "address");
        assert_eq!(target(r#"{"$id":"http://example.test"}"#, "example.test"), "address");
        let old = r##"{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"x":{"$id":"#here"}}}"##;
        assert_eq!(target(old, "#here"), "/definitions/x");
        let parts = r#"{"$defs":{"x":{"$id":"x","$anchor":"here"}}}"#;
        assert_eq!(target(parts, "#here"), "address");
    }

    #[test]
    fn v2_a_circle_is_found_whatever_the_reference_is_spelled_like() {
        for schema in [
            r##"{"$anchor":"me","allOf":[{"$ref":"#me"}]}"##,
            r#"{"$id":"http://example.test/s","allOf":[{"$ref":"http://example.test/s"}]}"#,
            r#"{"$id":"http://example.test/s","anyOf":[{"$ref":"s"}]}"#,
            r##"{"allOf":[{"$dynamicRef":"#"}]}"##,
            r##"{"$dynamicAnchor":"me","allOf":[{"$dynamicRef":"#me"}]}"##,
            r##"{"$schema":"https://json-schema.org/draft/2019-09/schema","allOf":[{"$recursiveRef":"#"}]}"##,
        ] {
            let notes = Schema::compile(json(schema), &SchemaOptions::default()).unwrap_err();
            assert_eq!(notes[0].code, "reference_cycle", "{schema}");
        }
        let foreign = r##"{"$schema":"http://json-schema.org/draft-07/schema#","allOf":[{"$dynamicRef":"#"}]}"##;
        assert!(Schema::compile(json(foreign), &SchemaOptions::default()).is_ok(), "draft 7 has no `$dynamicRef`");
    }

    #[test]
    fn e3_what_is_write_only_is_hidden_behind_an_anchor_too() {
        let text = r##"{"properties":{"key":{"$ref":"#secret"}},"$defs":{"s":{"$anchor":"secret","writeOnly":true}}}"##;
        let schema = super::super::tests::schema(text);
        assert_eq!(schema.without_secrets(&json(r#"{"key":"k"}"#)).to_text(), r#"{"key":"<redacted>"}"#);
    }
}
