//! YAML 1.2, as far as it says what JSON can say; the rest is refused, so that nothing is read as something else.
//!
//! It reads the parser's events instead of deserializing: numbers keep their spelling, only `true` and `false` are booleans
//! (`enum: [yes, no]` stays text), and each value knows its line.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use serde_saphyr::granit_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput, Tag, options};

use super::{Lines, MAX_DEPTH, MAX_VALUES, Marked, Unreadable};
use crate::{
    excerpt::excerpt,
    json::{Json, Object, ParseLimits, parse},
};

/// Reads every document that holds something.
#[expect(clippy::wildcard_enum_match_arm, reason = "the parser may gain events; what is no node is refused by `node`")]
pub(super) fn read(text: &str) -> Result<Vec<Marked>, Unreadable> {
    let without_comments = options! { emit_comments: false };
    let events = Parser::new_from_str_with_options(text, without_comments);
    let mut reader = Reader { events, anchors: HashMap::new(), depth: 0, values: 0 };
    let mut documents = Vec::new();
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamEnd => return Ok(documents),
            Event::StreamStart | Event::DocumentEnd => {}
            // Aliases reach no further than their document.
            Event::DocumentStart(..) => reader.anchors.clear(),
            node => {
                let document = reader.node(node, span)?;
                documents.extend((document.value != Json::Null).then_some(document));
            }
        }
    }
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    /// What aliases can repeat, by the number of its anchor.
    anchors: HashMap<usize, Marked>,
    depth: usize,
    /// Values so far, with what aliases repeated: a few lines of aliases can name billions.
    values: usize,
}

type Read<T> = Result<T, Unreadable>;

#[expect(clippy::wildcard_enum_match_arm, reason = "the parser may gain events, and they are refused")]
impl<'a> Reader<'a> {
    fn next(&mut self) -> Read<(Event<'a>, Span)> {
        match self.events.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(refuse(*error.marker(), &format!("not YAML: {}: correct it here", error.info()))),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Read<Marked> {
        let start = span.start;
        self.count(1, start)?;
        let (anchor, marked) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref(), start)?;
                (anchor, Marked { value, lines: Lines::leaf(start.line()) })
            }
            Event::SequenceStart(_, anchor, tag) => {
                untagged(tag.as_ref(), "seq", start)?;
                (anchor, self.nested(start, Self::sequence)?)
            }
            Event::MappingStart(_, anchor, tag) => {
                untagged(tag.as_ref(), "map", start)?;
                (anchor, self.nested(start, Self::mapping)?)
            }
            Event::Alias(anchor) => (0, self.alias(anchor, start)?),
            // The parser promises the order of events; this keeps the promise from being needed.
            _ => return Err(refuse(start, "not YAML: a value is missing here")),
        };
        if anchor != 0 {
            // The copy counts, too: anchors around anchors would otherwise multiply.
            self.count(marked.lines.count(), start)?;
            self.anchors.insert(anchor, marked.clone());
        }
        Ok(marked)
    }

    fn count(&mut self, values: usize, at: Marker) -> Read<()> {
        self.values = self.values.saturating_add(values);
        if self.values > MAX_VALUES {
            return Err(refuse(
                at,
                &format!("more than {MAX_VALUES} values, counting what aliases repeat: split the file"),
            ));
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, at: Marker) -> Read<Marked> {
        let Some(target) = self.anchors.get(&anchor) else {
            return Err(refuse(at, "an alias inside of what it repeats: write the value out"));
        };
        let (count, levels) = (target.lines.count(), target.lines.levels());
        if self.depth + levels > MAX_DEPTH {
            return Err(refuse(at, &too_deep()));
        }
        let mut repeated = target.clone();
        self.count(count, at)?;
        repeated.lines.line = at.line();
        Ok(repeated)
    }

    fn nested(&mut self, at: Marker, read: impl FnOnce(&mut Self, Marker) -> Read<Marked>) -> Read<Marked> {
        if self.depth >= MAX_DEPTH {
            return Err(refuse(at, &too_deep()));
        }
        self.depth += 1;
        let marked = read(self, at)?;
        self.depth -= 1;
        Ok(marked)
    }

    fn sequence(&mut self, start: Marker) -> Read<Marked> {
        let (mut items, mut lines) = (Vec::new(), Lines::leaf(start.line()));
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Marked { value: Json::Array(items), lines });
            }
            let item = self.node(event, span)?;
            items.push(item.value);
            lines.push(item.lines);
        }
    }

    fn mapping(&mut self, start: Marker) -> Read<Marked> {
        let (mut members, mut lines) = (Object::default(), Lines::leaf(start.line()));
        loop {
            let (event, span) = self.next()?;
            let at = span.start;
            let (key, style) = match event {
                Event::MappingEnd => return Ok(Marked { value: members.into(), lines }),
                Event::Scalar(text, style, 0, None) => (text, style),
                _ => return Err(refuse(at, "a key that is no plain text: write it as text")),
            };
            if style == ScalarStyle::Plain && key == "<<" {
                return Err(refuse(
                    at,
                    "merge keys (`<<`) are not read: write the members out, or use an alias as a value",
                ));
            }
            if members.contains_key(&*key) {
                return Err(refuse(at, &format!("the key `{}` stands twice: remove one of them", excerpt(&key))));
            }
            let key: Arc<str> = without_nul(&key, at)?.into();
            let (event, span) = self.next()?;
            let member = self.node(event, span)?;
            members.insert(key, member.value);
            lines.push(Lines { line: at.line(), ..member.lines });
        }
    }
}

fn refuse(at: Marker, message: &str) -> Unreadable {
    Unreadable::syntax(at.line(), at.col() + 1, message)
}

fn too_deep() -> String {
    format!("more than {MAX_DEPTH} levels of nesting: flatten it")
}

fn without_nul(text: &str, at: Marker) -> Read<&str> {
    if text.contains('\0') { Err(refuse(at, "the character U+0000: write another character")) } else { Ok(text) }
}

/// Tags ask for types that JSON does not have; one that says what is there anyway is let through.
fn untagged(tag: Option<&Cow<'_, Tag>>, kind: &str, at: Marker) -> Read<()> {
    match tag {
        Some(tag) if !tag.is_yaml_core_schema_tag(kind) => {
            Err(refuse(at, &format!("the tag `{}` is not read: remove it", tag.original())))
        }
        _ => Ok(()),
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, at: Marker) -> Read<Json> {
    let text = without_nul(text, at)?;
    match tag {
        Some(tag) if tag.is_yaml_core_schema_tag("str") => return Ok(Json::from(text)),
        Some(tag) => {
            return Err(refuse(at, &format!("the tag `{}` is not read: remove it", tag.original())));
        }
        None => {}
    }
    if style == ScalarStyle::Plain { plain(text, at) } else { Ok(Json::from(text)) }
}

/// YAML's core schema, without the numbers that JSON spells otherwise.
fn plain(text: &str, at: Marker) -> Read<Json> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Json::Null),
        "true" | "True" | "TRUE" => return Ok(Json::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Json::Bool(false)),
        _ => {}
    }
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.')) {
        return Ok(Json::from(text));
    }
    match parse(text.as_bytes(), &ParseLimits { max_bytes: usize::MAX, ..ParseLimits::default() }) {
        Ok(number) => Ok(number),
        Err(_) if is_other_number(text) => Err(refuse(
            at,
            &format!("`{text}` is a number of YAML but not of JSON: quote it if it is text, or spell it as JSON does"),
        )),
        Err(_) => Ok(Json::from(text)),
    }
}

/// Numbers of YAML 1.2 beyond JSON's: `+1`, `007`, `.5`, `1.`, `0x1f`, `0o17`, `-.inf`, `.nan`.
fn is_other_number(text: &str) -> bool {
    if let Some(digits) = text.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return !digits.is_empty() && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    }
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(text, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    // What is left starts with a digit or a point, so that `inf` and `nan` of Rust cannot match.
    text.starts_with(|first: char| first.is_ascii_digit() || first == '.') && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(yaml: &str) -> String {
        read(yaml).unwrap().iter().map(|document| document.value.to_text()).collect::<Vec<_>>().join("\n")
    }

    fn refusal(yaml: &str) -> (usize, String) {
        let error = read(yaml).unwrap_err();
        (error.line, error.message)
    }

    #[test]
    fn only_true_and_false_are_booleans() {
        assert_eq!(
            text("enum: [yes, no, on, off, y, True, false, null, ~, '1', \"true\"]"),
            r#"{"enum":["yes","no","on","off","y",true,false,null,null,"1","true"]}"#
        );
    }

    #[test]
    fn v5_numbers_keep_their_spelling() {
        assert_eq!(
            text("[12345678901234567890, 0.10, -1e5, 9007199254740993.5, 1.2.3, 30s, 2026-01-01, -x]"),
            r#"[12345678901234567890,0.10,-1e5,9007199254740993.5,"1.2.3","30s","2026-01-01","-x"]"#
        );
    }

    #[test]
    fn numbers_that_json_cannot_spell_are_refused_instead_of_guessed() {
        for spelling in ["007", "+1", ".5", "1.", "0x1f", "0o17", ".inf", "-.INF", ".nan"] {
            assert_eq!(refusal(&format!("a:\n  b: {spelling}")).0, 2, "{spelling}");
            assert_eq!(text(&format!("'{spelling}'")), format!("\"{spelling}\""));
        }
    }

    #[test]
    fn each_document_is_read_and_blank_ones_are_left_out() {
        assert_eq!(text("---\na: 1\n---\n---\nb: 2\n"), "{\"a\":1}\n{\"b\":2}");
    }

    #[test]
    fn places_have_the_lines_of_their_keys() {
        let document = read("# c\na:\n  b:\n    - 1\n    - c: >\n        text\n").unwrap().remove(0);
        let line = |path: &str| document.line(&crate::json::Pointer::parse(path).unwrap());
        assert_eq!((line("/a"), line("/a/b"), line("/a/b/0"), line("/a/b/1/c")), (2, 3, 4, 5));
    }

    #[test]
    fn aliases_repeat_their_value_and_a_bomb_of_them_is_refused() {
        assert_eq!(text("a: &x {b: [1]}\nc: *x"), r#"{"a":{"b":[1]},"c":{"b":[1]}}"#);
        let level =
            |level: usize| format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(", "));
        let bomb = format!("a0: &a0 [x]\n{}", (1..10).map(level).collect::<String>());
        let (line, message) = refusal(&bomb);
        assert!(message.starts_with("more than 2000000 values"), "{message}");
        assert_eq!(line, 7);
        assert_eq!(
            refusal("a: &x [*x]").1,
            "an alias inside of what it repeats: write the value out (line 1, column 8)"
        );
    }

    #[test]
    fn nesting_is_limited_also_through_aliases() {
        let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(refusal(&nested(129)).1.starts_with("more than 128 levels"));
        assert!(read(&nested(128)).is_ok() && read(&nested(5000)).is_err() && read(&"[".repeat(5000)).is_err());
        let deep = format!("a: &x {}{}\nb: {}*x{}", "[".repeat(100), "]".repeat(100), "[".repeat(60), "]".repeat(60));
        assert!(refusal(&deep).1.starts_with("more than 128 levels"));
    }

    #[test]
    fn what_json_cannot_say_is_refused_with_its_place() {
        for (yaml, line, start) in [
            ("a: 1\na: 2", 2, "the key `a` stands twice"),
            ("a: 1\n? [x]\n: 2", 2, "a key that is no plain text"),
            ("a: &x {b: 1}\nc:\n  <<: *x", 3, "merge keys"),
            ("a: !!binary aGk=", 1, "the tag `!!binary` is not read"),
            ("a: \"\\0\"", 1, "the character U+0000"),
            ("a: [1,\nb: 2", 1, "not YAML: unclosed bracket"),
            ("a: *none", 1, "not YAML"),
        ] {
            let (at, message) = refusal(yaml);
            assert!(message.starts_with(start), "{yaml}: {message}");
            assert_eq!(at, line, "{yaml}: {message}");
        }
    }
}
