//! The line of each part of a value: a tree of the same shape, children in the value's order.

/// The line of a value, and of what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lines {
    /// The line where it starts, from 1; for a member, where its key stands.
    pub line: usize,
    /// The lines of its items or members, in order.
    pub(super) children: Vec<Lines>,
}

impl Lines {
    /// A value with nothing in it.
    pub(super) fn leaf(line: usize) -> Self {
        Self { line, children: Vec::new() }
    }

    /// The same line for a value with nothing in it.
    #[must_use]
    pub fn without_children(&self) -> Self {
        Self::leaf(self.line)
    }

    pub(super) fn child(&self, index: usize) -> Option<&Self> {
        self.children.get(index)
    }

    pub(super) fn push(&mut self, child: Self) {
        self.children.push(child);
    }

    pub(super) fn remove(&mut self, index: usize) -> Self {
        if index < self.children.len() { self.children.remove(index) } else { Self::default() }
    }

    /// How many values there are, this one included.
    pub(super) fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }

    /// How many levels of arrays and objects there are; an empty one counts like a scalar.
    pub(super) fn levels(&self) -> usize {
        self.children.iter().map(|child| 1 + child.levels()).max().unwrap_or(0)
    }

    /// The lines of a text that starts at `line` and that the JSON parser has accepted: only brackets, commas, colons, strings
    /// and line breaks matter.
    pub(super) fn of_json(text: &str, line: usize) -> Self {
        let mut open: Vec<Open> = vec![Open::default()];
        let (mut line, mut in_string, mut escaped) = (line, false, false);
        for byte in text.bytes() {
            if in_string {
                in_string = escaped || byte != b'"';
                escaped = !escaped && byte == b'\\';
                continue;
            }
            match byte {
                b'\n' => line += 1,
                b' ' | b'\t' | b'\r' => {}
                b',' => close_child(&mut open),
                b'}' | b']' => {
                    close_child(&mut open);
                    close_level(&mut open);
                }
                _ => {
                    in_string = byte == b'"';
                    if let Some(level) = open.last_mut() {
                        level.child.get_or_insert_with(|| Self::leaf(line));
                    }
                    if matches!(byte, b'{' | b'[') {
                        open.push(Open::default());
                    }
                }
            }
        }
        open.pop().and_then(|root| root.child).unwrap_or_default()
    }
}

/// A level of nesting that is being read.
#[derive(Default)]
struct Open {
    done: Vec<Lines>,
    /// The member or item that is being read: it starts with the first byte that is no blank.
    child: Option<Lines>,
}

fn close_child(open: &mut [Open]) {
    if let Some(level) = open.last_mut() {
        level.done.extend(level.child.take());
    }
}

fn close_level(open: &mut Vec<Open>) {
    if let Some(children) = open.pop().map(|level| level.done)
        && let Some(owner) = open.last_mut().and_then(|level| level.child.as_mut())
    {
        owner.children = children;
    }
}
