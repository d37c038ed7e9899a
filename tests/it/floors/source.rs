//! Reads Rust sources as far as the floors need it: which paths does a file name, and on which line?
//!
//! A scan of tokens, not a parser: it knows comments, literals, `use` groups and inline modules, and takes macro bodies for
//! what they look like.

use std::{fs, path::Path};

/// A source file.
pub(crate) struct Source {
    /// Where it lies, from the root of the crate: `src/tools/note.rs`.
    pub(super) name: String,
    /// What it says.
    pub(crate) text: String,
}

/// A path of two or more segments, as in `use std::fmt`, from `crate` on if it is one of this crate's.
#[derive(Debug, PartialEq)]
pub(super) struct Named {
    /// The line, from 1.
    pub(super) line: usize,
    /// Its segments.
    pub(super) segments: Vec<String>,
}

/// Every Rust file in a folder and the folders below it, in the order of their names. None if there is no such folder.
pub(crate) fn sources(folder: impl AsRef<Path>) -> Vec<Source> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.to_str().unwrap().to_owned();
            found.push(Source { text: fs::read_to_string(path).unwrap(), name });
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

impl Source {
    /// The module that the file is, from the root on: `["tools", "note"]`. Empty for the root itself.
    pub(super) fn module(&self) -> Vec<&str> {
        let inner = self.name.trim_start_matches("src/").trim_end_matches(".rs");
        if matches!(inner, "lib" | "main") { Vec::new() } else { inner.split('/').collect() }
    }

    /// The paths that its code names.
    pub(super) fn paths(&self) -> Vec<Named> {
        let code = code(&self.text);
        let mut tokens = Tokens { all: tokens(&code), next: 0 };
        let mut module: Vec<String> = self.module().into_iter().map(str::to_owned).collect();
        let mut depth = 0_usize;
        // Where each inline module that is open was opened.
        let mut inline = Vec::new();
        let mut found = Vec::new();
        while let Some(token) = tokens.peek() {
            if token == "{" {
                depth += 1;
            } else if token == "}" {
                depth = depth.saturating_sub(1);
                if inline.last() == Some(&depth) {
                    inline.pop();
                    module.pop();
                }
            } else if token == "mod" && tokens.after(2) == Some("{") {
                inline.push(depth);
                module.extend(tokens.after(1).map(str::to_owned));
            } else if is_word(token) {
                let mut here = Vec::new();
                tokens.path(&[], &mut here);
                found.extend(here.into_iter().map(|path| path.rooted(&module)));
                continue;
            }
            tokens.next += 1;
        }
        found.retain(|path| path.segments.len() > 1);
        found
    }
}

impl Named {
    /// `self` and `super` followed, from the module where the path stands.
    fn rooted(self, module: &[String]) -> Self {
        let ups = self.segments.iter().take_while(|segment| *segment == "super").count();
        let own = self.segments.first().is_some_and(|first| first == "self");
        if ups == 0 && !own {
            return self;
        }
        let kept = module.iter().take(module.len().saturating_sub(ups)).cloned();
        let rest = self.segments.into_iter().skip(ups.max(1));
        Self { line: self.line, segments: ["crate".to_owned()].into_iter().chain(kept).chain(rest).collect() }
    }
}

struct Tokens<'a> {
    all: Vec<(usize, &'a str)>,
    next: usize,
}

impl<'a> Tokens<'a> {
    fn after(&self, count: usize) -> Option<&'a str> {
        self.all.get(self.next + count).map(|(_, token)| *token)
    }

    fn peek(&self) -> Option<&'a str> {
        self.after(0)
    }

    fn eat(&mut self, token: &str) -> bool {
        let there = self.peek() == Some(token);
        self.next += usize::from(there);
        there
    }

    /// Reads a path, or the group it ends in: `a::b`, `a::{b, c::d}`.
    fn path(&mut self, before: &[String], found: &mut Vec<Named>) {
        let mut segments = before.to_vec();
        let mut line = 0;
        while let Some((at, word)) = self.all.get(self.next).filter(|(_, token)| is_word(token)) {
            line = *at;
            segments.push((*word).to_owned());
            self.next += 1;
            if !self.eat("::") {
                break;
            }
            if self.eat("{") {
                return self.group(&segments, found);
            }
        }
        found.push(Named { line, segments });
    }

    fn group(&mut self, before: &[String], found: &mut Vec<Named>) {
        while let Some(token) = self.peek().filter(|token| *token != "}") {
            if token == "as" {
                self.next += 2;
            } else if is_word(token) {
                self.path(before, found);
            } else {
                self.next += 1;
            }
        }
        self.next += 1;
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Words, `::` and single characters, each with its line.
fn tokens(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut rest = code;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(rest.len());
        let length = if word > 0 {
            word
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        if !first.is_whitespace() {
            found.push((line, token));
        }
        line += usize::from(first == '\n');
        rest = after;
    }
    found
}

/// The text without comments and literals, line for line.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after_word = code.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let (blank, after) = rest.split_at(blank(rest, after_word));
        if blank.is_empty() {
            code.push(first);
            rest = rest.split_at(first.len_utf8()).1;
        } else {
            code.push(' ');
            code.extend(blank.chars().filter(|next| *next == '\n'));
            rest = after;
        }
    }
    code
}

/// How much of the text, at its beginning, is a comment or a literal.
fn blank(text: &str, after_word: bool) -> usize {
    let length = if text.starts_with("//") {
        text.find('\n')
    } else if text.starts_with("/*") {
        text.find("*/").map(|at| at + 2)
    } else if text.starts_with('"') {
        quoted(text)
    } else if text.starts_with('\'') {
        return character(text);
    } else if !after_word && text.starts_with(['r', 'b', 'c']) {
        return raw_string(text).unwrap_or(0);
    } else {
        return 0;
    };
    length.unwrap_or(text.len())
}

fn quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, next) in text.char_indices().skip(1) {
        if next == '"' && !escaped {
            return Some(at + 1);
        }
        escaped = next == '\\' && !escaped;
    }
    None
}

/// A character literal, or nothing where the quote begins a lifetime.
fn character(text: &str) -> usize {
    let mut next = text.char_indices().skip(1);
    let escape = next.next().is_some_and(|(_, first)| first == '\\');
    let close = if escape {
        next.skip(1).find(|(_, next)| *next == '\'')
    } else {
        next.next().filter(|(_, next)| *next == '\'')
    };
    close.map_or(0, |(at, _)| at + 1)
}

fn raw_string(text: &str) -> Option<usize> {
    let hashes_on = text.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let inside = hashes_on.trim_start_matches('#').strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes_on.len() - inside.len() - 1));
    let end = inside.find(&close)?;
    Some(text.len() - inside.len() + end + close.len())
}

#[test]
fn a_group_of_imports_is_each_of_them() {
    reads(
        "use crate::{\n    json::{Json, parse as read},\n    run,\n};",
        &["2 crate::json::Json", "2 crate::json::parse", "3 crate::run"],
    );
}

#[test]
fn a_path_in_the_middle_of_code_counts() {
    reads(
        "fn f<'a>(x: &'a str) -> crate::run::Run<'a> { ::std::env::var(x) }",
        &["1 crate::run::Run", "1 std::env::var"],
    );
}

#[test]
fn a_path_in_a_comment_or_a_literal_does_not_count() {
    reads(
        "// crate::run\n/* crate::run */ let x = (\"\\\" crate::run\", '\"', r#\"\" crate::run\"#, b'\\'');\nc::d()",
        &["3 c::d"],
    );
}

#[test]
fn a_path_upwards_is_followed_to_the_root() {
    reads(
        "use super::super::run;\nmod tests { use super::super::Note; use self::x; }\nuse super::Tool;",
        &["1 crate::run", "2 crate::tools::Note", "2 crate::tools::note::tests::x", "3 crate::tools::Tool"],
    );
}

/// What the scan finds in a text, were it `src/tools/note.rs`.
fn reads(text: &str, expected: &[&str]) {
    let file = Source { name: "src/tools/note.rs".to_owned(), text: text.to_owned() };
    let found: Vec<_> = file.paths().iter().map(|path| format!("{} {}", path.line, path.segments.join("::"))).collect();
    assert_eq!(found, expected);
}
