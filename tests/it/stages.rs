//! Lookup to validation of one tool, in this process.

use std::{collections::BTreeMap, sync::Arc};

use toolbooth::{
    call::ToolCall,
    executors::Executors,
    json::{Json, ParseLimits, SharedJson},
    pipeline::{self, Scope},
    refusal::{Refusal, Repair},
    result::Trace,
    tools::{LoadOptions, Profile, load_document},
};

/// Arguments that are valid in the end, and what was changed on the way.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) arguments: SharedJson,
    pub(crate) repairs: Vec<Repair>,
}

/// Checks arguments of a tool `t` under profile `safe`.
pub(crate) fn check(schema: &str, arguments: &str) -> Result<Checked, Box<Refusal>> {
    check_as(schema, "", arguments)
}

/// Checks arguments of a tool `t` whose contract says this of its arguments.
pub(crate) fn check_as(schema: &str, rules: &str, arguments: &str) -> Result<Checked, Box<Refusal>> {
    check_bytes(&tool(schema, rules), arguments.as_bytes())
}

/// A scope with one tool, `t`.
pub(crate) fn tool(schema: &str, rules: &str) -> Scope {
    let contract = format!(r#"{{"name":"t","parameters":{schema},"arguments":{{{rules}}},"execute":{{"echo":{{}}}}}}"#);
    let scope = scope(&contract, Profile::default());
    assert_eq!(scope.catalog.served().count(), 1, "{schema}");
    scope
}

/// A scope with the tool of this contract, where this profile holds.
pub(crate) fn scope(contract: &str, profile: Profile) -> Scope {
    let load = LoadOptions { profile, ..LoadOptions::default() };
    Scope {
        catalog: load_document(contract.as_bytes(), &load).catalog,
        executor: Arc::new(Executors::new(BTreeMap::new())),
        hooks: Vec::new(),
        context: Arc::new(Json::empty_object()),
        parse_limits: ParseLimits::default(),
        profile,
    }
}

/// A call of the tool `t`.
pub(crate) fn call(arguments: &[u8]) -> ToolCall {
    let arguments = arguments.to_vec().into();
    ToolCall { index: 0, id: "c".into(), name: "t".into(), arguments, idempotency_key: None }
}

/// Checks any bytes.
pub(crate) fn check_bytes(scope: &Scope, arguments: &[u8]) -> Result<Checked, Box<Refusal>> {
    let mut trace = Trace::default();
    let valid = pipeline::check(scope, &call(arguments), &mut trace)?;
    assert_eq!(trace.arguments.as_ref(), Some(valid.value()));
    Ok(Checked { arguments: valid.value().clone(), repairs: trace.repairs })
}
