//! Any bytes: the parser and the tolerant reader end, agree on good text, and read only what they can print.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolbooth::json::{Extent, Json, ParseLimits, parse, parse_repaired};

fuzz_target!(|text: &[u8]| {
    let limits = ParseLimits::default();
    let strict = parse(text, &limits);
    for extent in [Extent::Whole, Extent::Nested] {
        let tolerant = parse_repaired(text, &limits, extent);
        match &strict {
            Ok(Json::String(_)) if extent == Extent::Whole => {}
            Ok(value) => {
                let read = tolerant.as_ref().expect("good text is read");
                assert!(read.repairs.is_empty(), "good text is not repaired: {:?}", read.repairs);
                assert_eq!(read.value.to_text(), value.to_text());
            }
            Err(_) => {}
        }
        let Ok(read) = tolerant else { continue };
        let printed = read.value.to_text();
        assert_eq!(parse(printed.as_bytes(), &limits).as_ref(), Ok(&read.value), "what is read can be printed");
    }
});
