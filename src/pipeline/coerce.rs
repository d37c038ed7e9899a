//! What the contract's profile may change so that the arguments satisfy their schema (rules C1 to C7).

use crate::{
    json::SharedJson,
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

/// What is changed, or refused, whether the arguments satisfy the schema or not.
pub(super) fn tidied(
    tool: &Tool,
    profile: Profile,
    prepared: SharedJson,
    trace: &mut Trace,
) -> Result<SharedJson, Box<Refusal>> {
    if profile != Profile::Safe {
        return Ok(prepared);
    }
    if !tool.arguments.allow_markup
        && let Some(swallowed) = tools::swallowed_parameter(tool, &prepared)
    {
        return Err(suspect_markup(tool, &swallowed).into());
    }
    Ok(changed(tools::tidied(&tool.input, &tool.arguments, &prepared), trace).unwrap_or(prepared))
}

/// What the schema refuses, converted as far as the profile allows; `None` if nothing of it is.
pub(super) fn converted(tool: &Tool, profile: Profile, refused: &SharedJson, trace: &mut Trace) -> Option<SharedJson> {
    match profile {
        Profile::Strict | Profile::Pi => None,
        Profile::Safe => {
            let converted = changed(tools::converted(&tool.input, &tool.arguments, refused), trace)?;
            // What became an integer, or lost a member, is tidied like what came as one.
            Some(changed(tools::tidied(&tool.input, &tool.arguments, &converted), trace).unwrap_or(converted))
        }
    }
}

fn changed(changed: Option<(crate::json::Json, Vec<Repair>)>, trace: &mut Trace) -> Option<SharedJson> {
    let (value, repairs) = changed?;
    trace.repairs.extend(repairs);
    Some(value.into())
}

fn suspect_markup(tool: &Tool, swallowed: &tools::Swallowed) -> Refusal {
    let message = format!("holds the markup of the parameter `{}`", swallowed.parameter);
    let violation = Violation {
        path: swallowed.path.clone(),
        property: None,
        schema_path: crate::json::Pointer::root(),
        keyword: "",
        message,
        expected: "a text without it".to_owned(),
        actual: Some(crate::json::Kind::String),
        hint: Some(format!("send `{}` as an argument of its own", swallowed.parameter)),
    };
    let text = wording::suspect_markup(&tool.name, &swallowed.path, &swallowed.parameter);
    Refusal::new(Code::MalformedArguments, Some(Reason::SuspectMarkup), text).at(violation)
}
