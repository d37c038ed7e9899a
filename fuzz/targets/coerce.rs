//! Any schema and any text under `safe`: what comes out is valid and final, and what was valid is left alone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolbooth::{refusal::Reason, tools::Profile};
use toolbooth_fuzz::Call;

fuzz_target!(|input: &[u8]| {
    let Some(call) = Call::of(input) else { return };
    let strict = call.check(Profile::Strict, &call.arguments);
    let safe = call.check(Profile::Safe, &call.arguments);
    let repairs = &safe.trace.repairs;
    match (&strict.outcome, &safe.outcome) {
        (Ok(_), Err(refusal)) => assert_eq!(refusal.reason, Some(Reason::SuspectMarkup), "{}", refusal.text),
        (Ok(sent), Ok(valid)) => {
            let is_unwrapped = repairs.iter().any(|repair| repair.op == "unwrap_envelope");
            assert!(is_unwrapped || sent.value() == valid.value(), "valid arguments are left alone: {repairs:?}");
        }
        (Err(_), _) => {}
    }
    let Ok(valid) = safe.outcome else { return };
    assert!(call.tool.input.is_valid(valid.value()), "the arguments are valid: {}", valid.value().text());
    if strict.outcome.is_err() {
        assert!(!repairs.is_empty(), "what was changed is listed");
    }
    let again = call.check(Profile::Safe, valid.value().bytes());
    let settled = again.outcome.expect("what came out goes in");
    assert_eq!(settled.value().text(), valid.value().text(), "{:?}", again.trace.repairs);
    assert!(again.trace.repairs.is_empty(), "nothing is left to repair: {:?}", again.trace.repairs);
});
