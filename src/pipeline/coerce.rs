//! What the contract's profile may change so that the arguments satisfy their schema (rules C1 to C7).

use crate::{
    json::{Json, Kind, Pointer, SharedJson},
    refusal::{Code, Reason, Refusal, Repair, Violation},
    result::Trace,
    tools::{self, Profile, Tool},
    wording,
};

/// Takes a wrapper off that the model has put around the arguments.
pub(super) fn unwrapped(tool: &Tool, profile: Profile, received: SharedJson, trace: &mut Trace) -> SharedJson {
    match profile {
        Profile::Safe => changed(tools::open_envelope(tool, &received), trace).unwrap_or(received),
        Profile::Strict | Profile::Pi => received,
    }
}

/// Refuses what no conversion can help: a text that has swallowed another parameter.
pub(super) fn suspect(tool: &Tool, profile: Profile, prepared: &SharedJson) -> Result<(), Box<Refusal>> {
    let is_looked_for = profile == Profile::Safe && !tool.arguments.allow_markup && prepared.may_hold_tags();
    if is_looked_for && let Some(swallowed) = tools::swallowed_parameter(tool, prepared) {
        return Err(suspect_markup(tool, &swallowed).into());
    }
    Ok(())
}

/// What the schema refuses, converted as far as the profile allows.
pub(super) fn converted(tool: &Tool, profile: Profile, refused: SharedJson, trace: &mut Trace) -> SharedJson {
    let converted = match profile {
        Profile::Strict => None,
        // What would be left as a wrapper has two readings: as it is, and without it.
        Profile::Safe => tools::converted(&tool.input, &tool.arguments, &refused)
            .filter(|(value, _)| tools::open_envelope(tool, value).is_none()),
        Profile::Pi => tools::converted_as_pi(&tool.input, &refused),
    };
    changed(converted, trace).unwrap_or(refused)
}

/// Integers spelled as such, and defaults filled in: the changes that valid arguments take, too.
pub(super) fn tidied(tool: &Tool, profile: Profile, value: SharedJson, trace: &mut Trace) -> SharedJson {
    if profile == Profile::Strict || !(tool.arguments.defaults || value.may_hold_fractions()) {
        return value;
    }
    changed(tools::tidied(&tool.input, &tool.arguments, &value), trace).unwrap_or(value)
}

fn changed(changed: Option<(Json, Vec<Repair>)>, trace: &mut Trace) -> Option<SharedJson> {
    let (value, repairs) = changed?;
    trace.repairs.extend(repairs);
    Some(value.into())
}

fn suspect_markup(tool: &Tool, swallowed: &tools::Swallowed) -> Refusal {
    let message = format!("holds the markup of the parameter `{}`", swallowed.parameter);
    let violation = Violation {
        path: swallowed.path.clone(),
        property: None,
        schema_path: Pointer::root(),
        keyword: "",
        message,
        expected: "a text without it".to_owned(),
        actual: Some(Kind::String),
        hint: Some(format!("send `{}` as an argument of its own", swallowed.parameter)),
    };
    let text = wording::suspect_markup(&tool.name, &swallowed.path, &swallowed.parameter);
    Refusal::new(Code::MalformedArguments, Some(Reason::SuspectMarkup), text).at(violation)
}
