//! Any schema and any value that breaks it: the explanation names places of the value, stays short and forges nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolbooth::tools::Profile;
use toolbooth_fuzz::Call;

/// About 4 KiB (rule E3): the header and the marks of what was left out come on top.
const MAX_TEXT: usize = 5 << 10;

fuzz_target!(|input: &[u8]| {
    let Some(call) = Call::of(input) else { return };
    for profile in [Profile::Strict, Profile::Safe] {
        let checked = call.check(profile, &call.arguments);
        let Err(refusal) = checked.outcome else { continue };
        assert!(refusal.text.len() <= MAX_TEXT, "{} bytes: {}", refusal.text.len(), refusal.text);
        // U+007F does nothing in a line, and JSON text may hold it as it is.
        let is_control = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\u{7f}');
        let is_forging = |letter: char| is_control(letter) || matches!(letter, '\u{2028}' | '\u{2029}');
        assert!(!refusal.text.contains(is_forging), "{:?}", refusal.text);
        assert!(refusal.violations.len() <= refusal.violation_count);
        let Some(received) = checked.trace.received.filter(|_| profile == Profile::Strict) else { continue };
        let explanation = call.tool.input.explain(&received);
        assert!(explanation.count >= 1 && !explanation.violations.is_empty(), "{}", refusal.text);
        for violation in &explanation.violations {
            assert!(violation.path.find(&received).is_some(), "{violation:?} is in {}", received.text());
        }
    }
});
