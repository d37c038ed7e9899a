//! What the targets share: an input is a schema on its first line, and below it what a model sent.

use std::{collections::BTreeMap, sync::Arc};

use toolbooth::{
    call::ToolCall,
    executors::Executors,
    json::{Json, ParseLimits, parse},
    pipeline::{self, Scope, ValidArguments},
    refusal::Refusal,
    result::Trace,
    tools::{Entry, LoadOptions, Profile, Tool, load_document},
};

/// One call of the tool whose schema is given.
pub struct Call {
    scope: Scope,
    /// The tool.
    pub tool: Arc<Tool>,
    /// What the model sent.
    pub arguments: Vec<u8>,
}

/// What a check says.
pub struct Checked {
    /// The arguments, or why there are none.
    pub outcome: Result<ValidArguments, Box<Refusal>>,
    /// What became of them on their way.
    pub trace: Trace,
}

impl Call {
    /// The call that the input spells; `None` if its contract is broken.
    pub fn of(input: &[u8]) -> Option<Self> {
        let line_end = input.iter().position(|byte| *byte == b'\n')?;
        let (schema, arguments) = (&input[..line_end], &input[line_end + 1..]);
        let schema = parse(schema, &ParseLimits::default()).ok()?;
        let contract = Json::object([("name", "t".into()), ("parameters", schema)]).to_text();
        let catalog = load_document(contract.as_bytes(), &LoadOptions::default()).catalog;
        let tool = match catalog.get("t") {
            Some(Entry::Served(tool)) => Arc::clone(&tool),
            _ => return None,
        };
        let scope = Scope {
            catalog,
            executor: Arc::new(Executors::new(BTreeMap::new())),
            hooks: Vec::new(),
            context: Arc::new(Json::empty_object()),
            parse_limits: ParseLimits::default(),
            profile: Profile::Strict,
        };
        Some(Self { scope, tool, arguments: arguments.to_vec() })
    }

    /// Checks these arguments under the profile.
    pub fn check(&self, profile: Profile, arguments: &[u8]) -> Checked {
        let scope = Scope { profile, ..self.scope.clone() };
        let arguments = arguments.to_vec().into();
        let call = ToolCall { index: 0, id: "c".into(), name: "t".into(), arguments, idempotency_key: None };
        let mut trace = Trace::default();
        Checked { outcome: pipeline::check(&scope, &call, &mut trace), trace }
    }
}
