//! Where references lead within the one document that there is: nothing is ever fetched.

use std::collections::{HashMap, HashSet};

use percent_encoding::percent_decode_str;
use reqwest::Url;

use super::{
    dialect::Dialect,
    structure::{each_subschema, is_in_place, subschemas},
};
use crate::json::{Json, Object, Pointer};

/// Where a reference leads.
pub(in crate::tools) enum Reference<'a> {
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
    /// The document and, if there are any, its parts that have addresses of their own. Inside of these, `#` means that part
    /// and not the document.
    parts: Vec<Part>,
    embedded: bool,
}

/// What has an address of its own: places are by part, and so are anchors.
#[derive(Debug)]
struct Part {
    place: Pointer,
    /// `None`: nothing that a reference could be.
    address: Option<Url>,
    anchors: HashMap<String, Pointer>,
}

/// Most parts with addresses of their own, the document included.
pub(super) const MAX_PARTS: usize = 200;

/// Keywords that give a place a name. Few schemas have any.
const NAMING: [&str; 4] = ["$id", "id", "$anchor", "$dynamicAnchor"];

/// The address of a document that does not say its own.
const NO_ADDRESS: &str = "json-schema:///";

impl Names {
    pub(super) fn of(root: &Json, dialect: Dialect) -> Self {
        let document = Part { place: Pointer::root(), address: Url::parse(NO_ADDRESS).ok(), anchors: HashMap::new() };
        let mut names = Self { dialect, own: None, anchors: HashMap::new(), parts: vec![document], embedded: false };
        each_subschema(root, &mut |keywords, place| {
            if NAMING.iter().any(|keyword| keywords.contains_key(*keyword)) {
                names.collect(keywords, &place.pointer());
            }
        });
        names
    }

    fn collect(&mut self, keywords: &Object, place: &Pointer) {
        let text = |keyword: &str| keywords.get(keyword).and_then(Json::as_str);
        if self.dialect >= Dialect::Draft201909 {
            let is_part = text("$id").is_some();
            for name in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
                if let Some(part) = self.part_of_mut(place).filter(|_| !is_part) {
                    part.anchors.entry(name.to_owned()).or_insert_with(|| place.clone());
                }
                self.anchors.entry(name.to_owned()).or_insert_with(|| place.clone());
            }
        } else if keywords.contains_key("$ref") {
            // Up to draft 7 a reference stands alone.
            return;
        }
        let Some(id) = text(if self.dialect == Dialect::Draft4 { "id" } else { "$id" }) else { return };
        if let Some(anchor) = id.strip_prefix('#').filter(|_| self.dialect <= Dialect::Draft7) {
            self.anchors.entry(anchor.to_owned()).or_insert_with(|| place.clone());
            if let Some(part) = self.part_of_mut(place) {
                part.anchors.entry(anchor.to_owned()).or_insert_with(|| place.clone());
            }
            return;
        }
        self.add_part(keywords, place, id.trim_end_matches('#'));
        if *place == Pointer::root() {
            self.own = Some(id.trim_end_matches('#').to_owned());
        } else {
            self.embedded = true;
        }
    }

    fn add_part(&mut self, keywords: &Object, place: &Pointer, id: &str) {
        // Each is looked through for each reference. One more than allowed is enough for the proof to see.
        if self.parts.len() > MAX_PARTS {
            return;
        }
        let base = self.part_of(place).and_then(|part| part.address.as_ref());
        let address = base.and_then(|base| base.join(id).ok());
        let named = ["$anchor", "$dynamicAnchor"].into_iter().filter_map(|keyword| keywords.get(keyword)?.as_str());
        let anchors = named.map(|name| (name.to_owned(), place.clone())).collect();
        self.parts.retain(|part| part.place != *place);
        self.parts.push(Part { place: place.clone(), address, anchors });
    }

    /// The innermost part that a place is in.
    fn part_of(&self, place: &Pointer) -> Option<&Part> {
        let around = self.parts.iter().filter(|part| place.is_within(&part.place));
        around.max_by_key(|part| part.place.len())
    }

    fn part_of_mut(&mut self, place: &Pointer) -> Option<&mut Part> {
        let around = self.parts.iter_mut().filter(|part| place.is_within(&part.place));
        around.max_by_key(|part| part.place.len())
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
pub(in crate::tools) struct Document<'a> {
    pub(super) root: &'a Json,
    pub(super) names: &'a Names,
}

impl<'a> Document<'a> {
    /// The references of a schema object that stands in the document, and their keywords.
    pub(in crate::tools) fn references(self, keywords: &Object) -> impl Iterator<Item = (&'static str, &str)> {
        let Names { dialect, embedded, .. } = *self.names;
        // What leads to whoever came this way is an ordinary reference where there is only one way.
        let also = [(Dialect::Draft202012, "$dynamicRef"), (Dialect::Draft201909, "$recursiveRef")];
        let also = also.into_iter().filter(move |(of, _)| *of == dialect && !embedded).map(|(_, keyword)| keyword);
        let named = move |keyword| Some((keyword, keywords.get(keyword)?.as_str()?));
        ["$ref"].into_iter().chain(also).filter_map(named)
    }

    /// Whether parts of the document have addresses of their own, so that `#` does not mean the same everywhere.
    pub(in crate::tools) fn has_parts(self) -> bool {
        self.names.embedded
    }

    /// Whether there are more such parts than can be looked through.
    pub(super) fn has_too_many_parts(self) -> bool {
        self.names.parts.len() > MAX_PARTS
    }

    /// Where a reference leads that stands at this place.
    pub(in crate::tools) fn resolve_from(self, place: &Pointer, reference: &str) -> Reference<'a> {
        if !self.has_parts() {
            return self.resolve(reference);
        }
        let target = self.target_among_parts(place, reference);
        match target.and_then(|target| Some((target.find(self.root)?, target))) {
            Some((schema, target)) => Reference::Found(target, schema),
            None => Reference::ByAddress,
        }
    }

    /// The whole address of what a reference leads to that stands at this place, as far as addresses are known there.
    pub(super) fn address(self, place: &Pointer, reference: &str) -> String {
        let base = self.names.part_of(place).and_then(|part| part.address.as_ref());
        let address = base.and_then(|base| base.join(reference).ok()).map(String::from);
        address.filter(|address| !address.starts_with(NO_ADDRESS)).unwrap_or_else(|| reference.to_owned())
    }

    fn target_among_parts(self, place: &Pointer, reference: &str) -> Option<Pointer> {
        let mut address = self.names.part_of(place)?.address.as_ref()?.join(reference).ok()?;
        let fragment = percent_decode_str(address.fragment().unwrap_or_default()).decode_utf8_lossy().into_owned();
        address.set_fragment(None);
        let part = self.names.parts.iter().find(|part| part.address.as_ref() == Some(&address))?;
        match Pointer::parse(&fragment) {
            Some(inside) => Some(part.place.append(&inside)),
            None => part.anchors.get(&fragment).cloned(),
        }
    }

    /// The schemas and whatever they combine: every branch may be the one that applies. `None` if that cannot be told, or needs
    /// more steps than there are.
    pub(in crate::tools) fn combined(self, mut schemas: Vec<&'a Json>, steps: &mut usize) -> Option<Vec<&'a Json>> {
        let mut known: HashSet<*const Json> = schemas.iter().map(|schema| std::ptr::from_ref::<Json>(schema)).collect();
        let mut next = 0;
        while let Some(schema) = schemas.get(next).copied() {
            *steps = steps.checked_sub(1)?;
            next += 1;
            let Some(keywords) = schema.as_object() else { continue };
            // What a reference in a part means, only its place could tell.
            let refers = |keyword: &&str| keywords.contains_key(*keyword);
            if self.has_parts() && ["$ref", "$dynamicRef", "$recursiveRef"].iter().any(refers) {
                return None;
            }
            let mut found = Vec::new();
            for (_, reference) in self.references(keywords) {
                match self.resolve(reference) {
                    Reference::Found(_, target) => found.push(target),
                    Reference::Dangling | Reference::ByAddress => return None,
                }
            }
            let inner = subschemas(keywords).into_iter().filter(|inner| is_in_place(inner.keyword));
            found.extend(inner.map(|inner| inner.schema));
            schemas.extend(found.into_iter().filter(|schema| known.insert(std::ptr::from_ref(*schema))));
        }
        Some(schemas)
    }

    /// Where a reference leads.
    pub(in crate::tools) fn resolve(self, reference: &str) -> Reference<'a> {
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
        let dialect = super::super::dialect::detect(&root).dialect;
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
            let notes = Schema::compile(&json(schema), SchemaOptions::default()).unwrap_err();
            assert_eq!(notes[0].code, "reference_cycle", "{schema}");
        }
        let foreign = r##"{"$schema":"http://json-schema.org/draft-07/schema#","allOf":[{"$dynamicRef":"#"}]}"##;
        assert!(Schema::compile(&json(foreign), SchemaOptions::default()).is_ok(), "draft 7 has no `$dynamicRef`");
    }

    #[test]
    fn v2_circles_and_towers_are_found_through_parts_with_addresses_of_their_own() {
        let code = |text: &str| {
            let notes = Schema::compile(&json(text), SchemaOptions::default()).map(drop).unwrap_err();
            (notes[0].code, notes[0].path.to_string())
        };
        for (id, reference) in
            [("http://e.test/a", "http://e.test/a"), ("a", "a"), ("a", "a#here"), ("a", "a#/allOf/0")]
        {
            let part = format!(r#"{{"$id":"{id}","$anchor":"here","allOf":[{{"$ref":"{reference}"}}]}}"#);
            assert_eq!(code(&format!(r#"{{"$defs":{{"x":{part}}}}}"#)).0, "reference_cycle", "{id} {reference}");
        }
        let inner = r##"{"$defs":{"x":{"$id":"x","$defs":{"y":{"allOf":[{"$ref":"#/$defs/y"}]}}}}}"##;
        assert_eq!(code(inner), ("reference_cycle", "/$defs/x/$defs/y/allOf/0/$ref".to_owned()));
        let tower: Vec<_> = (0..100).map(|at| format!(r#""d{at}":{{"$id":"d{at}","$ref":"d{}"}}"#, at + 1)).collect();
        let tower = format!(r#"{{"$ref":"d0","$defs":{{{},"d100":{{"$id":"d100"}}}}}}"#, tower.join(","));
        assert_eq!(code(&tower).0, "schema_too_deep");
        let many: Vec<_> = (0..20_000).map(|at| format!(r#""d{at}":{{"$id":"d{at}"}}"#)).collect();
        assert_eq!(code(&format!(r#"{{"$defs":{{{}}}}}"#, many.join(","))).0, "schema_too_large");
        let fine = r##"{"properties":{"a":{"$ref":"x"}},"$defs":{"x":{"$id":"x","properties":{"b":{"$ref":"#"}}}}}"##;
        assert!(Schema::compile(&json(fine), SchemaOptions::default()).is_ok());
    }

    #[test]
    fn e3_what_is_write_only_is_hidden_behind_an_anchor_too() {
        let text = r##"{"properties":{"key":{"$ref":"#secret"}},"$defs":{"s":{"$anchor":"secret","writeOnly":true}}}"##;
        let schema = super::super::tests::schema(text);
        assert_eq!(schema.without_secrets(&json(r#"{"key":"k"}"#)).to_text(), r#"{"key":"<redacted>"}"#);
    }
}
