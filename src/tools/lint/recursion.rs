//! Finds references that lead back to what they stand in: values may be nested without end.

use std::collections::HashMap;

use super::{codes::RECURSIVE_SCHEMA, findings::Findings};
use crate::{
    json::{Json, Object, Pointer},
    tools::schema::{Compiled, Reference, each_subschema, subschemas},
};

/// How far a schema object has been followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Done,
}

/// A way from a schema object to another one: by reference, from this place, or by standing in it.
struct Way<'a> {
    to: &'a Object,
    by: Option<Pointer>,
}

/// A step of a walk that needs no stack of its own: schemas may be a chain of thousands.
enum Step<'a> {
    Enter(Way<'a>),
    Leave(&'a Object),
}

pub(super) fn lint(schema: &Compiled, findings: &mut Findings) {
    let references = references(schema);
    let Some(root) = schema.source().as_object().filter(|_| !references.is_empty()) else { return };
    let mut states: HashMap<*const Object, State> = HashMap::new();
    let mut steps = vec![Step::Enter(Way { to: root, by: None })];
    while let Some(step) = steps.pop() {
        let way = match step {
            Step::Enter(way) => way,
            Step::Leave(keywords) => {
                states.insert(std::ptr::from_ref(keywords), State::Done);
                continue;
            }
        };
        match (states.get(&std::ptr::from_ref(way.to)), way.by) {
            (Some(State::Open), Some(place)) => {
                findings.add(RECURSIVE_SCHEMA, || place, || {
                    "values may be nested without end: Anthropic's strict mode refuses that, and Gemini follows a few levels; write \
                     out as many levels as are needed"
                        .to_owned()
                });
            }
            (Some(_), _) => {}
            (None, _) => {
                states.insert(std::ptr::from_ref(way.to), State::Open);
                steps.push(Step::Leave(way.to));
                let by_reference = references.get(&std::ptr::from_ref(way.to)).into_iter().flatten();
                steps.extend(by_reference.map(|(place, to)| Step::Enter(Way { to, by: Some(place.clone()) })));
                // The last comes first: definitions, which are reached by reference, stand last in most schemas.
                let inner = subschemas(way.to).into_iter().rev().filter_map(|inner| inner.schema.as_object());
                steps.extend(inner.map(|to| Step::Enter(Way { to, by: None })));
            }
        }
    }
}

/// Where the references of each schema object stand, and what they lead to.
fn references(schema: &Compiled) -> HashMap<*const Object, Vec<(Pointer, &Object)>> {
    let document = schema.document();
    let mut found: HashMap<*const Object, Vec<(Pointer, &Object)>> = HashMap::new();
    each_subschema(schema.source(), &mut |keywords, place| {
        for (keyword, reference) in document.references(keywords) {
            let place = place.join(keyword);
            if let Reference::Found(_, target) = document.resolve_from(&place, reference)
                && let Some(target) = Json::as_object(target)
            {
                found.entry(std::ptr::from_ref(keywords)).or_default().push((place, target));
            }
        }
    });
    found
}
