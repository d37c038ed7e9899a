//! Lints: what of a contract works and will hurt later, because models trip over it, providers refuse it, or the booth cannot
//! do what was probably meant. Each finding has a stable code, a place, and says what to write instead.
//!
//! They are looked for where somebody asks for them, as `toolbooth check` does: loading stays fast and quiet.

mod codes;
mod contract;
mod descriptions;
mod findings;
mod keywords;
mod names;
mod numbers;
mod objects;
mod patterns;
mod providers;
mod recursion;
mod root;
mod secrets;
mod site;
#[cfg(test)]
mod tests;
mod texts;
mod unions;
mod words;

use super::{
    Tool,
    schema::{Compiled, each_subschema},
};
use crate::document::Note;

pub use codes::{LINTS, Lint};
use findings::Findings;
pub(super) use names::similar_tools;
pub use providers::{PROVIDER_KEYWORDS, ProviderKeyword};
use site::Site;

/// What is looked at in every schema of the parameters.
const OF_SCHEMAS: [fn(&Site<'_, '_>, &mut Findings); 20] = [
    names::property_names,
    names::similar_properties,
    descriptions::of_properties,
    objects::undeclared_required,
    objects::optional_without_default,
    objects::open,
    objects::depth,
    objects::untyped_properties,
    objects::array_without_items,
    secrets::unmarked,
    unions::without_discriminator,
    unions::text_beside_number,
    texts::enums,
    texts::formats,
    patterns::anchors,
    numbers::large,
    numbers::impossible_limits,
    keywords::passed_over,
    keywords::misspelt,
    providers::keywords,
];

/// The findings on a tool: those on the contract around the schema, whose places start at the contract, and those on its
/// parameters, whose places start at the schema, as those of other notes do.
pub(super) struct Linted {
    pub(super) contract: Vec<Note>,
    pub(super) parameters: Vec<Note>,
}

/// Looks for everything.
pub(super) fn lint(tool: &Tool) -> Linted {
    let mut of_contract = Findings::default();
    contract::lint(tool, &mut of_contract);
    let mut of_parameters = Findings::default();
    tool.input.ask(|schema| parameters(tool, schema, &mut of_parameters));
    let authored = |note: Note| Note { path: tool.input.authored_place(note.path), ..note };
    Linted {
        contract: of_contract.into_notes(),
        parameters: of_parameters.into_notes().into_iter().map(authored).collect(),
    }
}

fn parameters(tool: &Tool, schema: &Compiled, findings: &mut Findings) {
    root::lint(schema, findings);
    recursion::lint(schema, findings);
    let document = schema.document();
    each_subschema(schema.source(), &mut |keywords, place| {
        let site = Site { keywords, place, document, dialect: schema.dialect(), arguments: &tool.arguments };
        for look in OF_SCHEMAS {
            look(&site, findings);
        }
    });
}
