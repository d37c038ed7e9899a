//! The lints that there are. `docs/lints.md` tells what each means and what to do.

use crate::document::Severity;

/// A lint: what it is called, and how bad what it finds is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lint {
    /// Stable word.
    pub code: &'static str,
    /// A warning: calls fail, are refused by a provider, or are not checked as was meant. Else worth knowing.
    pub severity: Severity,
}

const fn warning(code: &'static str) -> Lint {
    Lint { code, severity: Severity::Warning }
}

const fn info(code: &'static str) -> Lint {
    Lint { code, severity: Severity::Info }
}

/// All of them, in the order in which they are told.
pub const LINTS: [Lint; 36] = [
    TOOL_NAME,
    SIMILAR_TOOL_NAMES,
    NO_TOOL_DESCRIPTION,
    LONG_TOOL_DESCRIPTION,
    SIDE_EFFECT_DIFFERS,
    IDEMPOTENT_DIFFERS,
    LARGE_SCHEMA,
    ROOT_WITHOUT_TYPE,
    ROOT_COMBINED,
    PROPERTY_NAME,
    SIMILAR_PROPERTY_NAMES,
    UNDECLARED_REQUIRED,
    UNMARKED_SECRET,
    ARRAY_WITHOUT_ITEMS,
    SIMILAR_ENUM_VALUES,
    EMPTY_ENUM_VALUE,
    LARGE_NUMBER,
    IMPOSSIBLE_LIMITS,
    PARTLY_ANCHORED_PATTERN,
    MISSPELT_KEYWORD,
    KEYWORD_OF_ANOTHER_DIALECT,
    KEYWORD_OF_ANOTHER_TYPE,
    IGNORED_BESIDE_REFERENCE,
    NO_PROPERTY_DESCRIPTION,
    LONG_DESCRIPTION,
    OPTIONAL_WITHOUT_DEFAULT,
    OPEN_OBJECT,
    RECURSIVE_SCHEMA,
    DEEP_SCHEMA,
    UNTYPED_PROPERTY,
    UNION_WITHOUT_DISCRIMINATOR,
    TEXT_BESIDE_NUMBER,
    LARGE_ENUM,
    UNKNOWN_FORMAT,
    UNANCHORED_PATTERN,
    PROVIDER_KEYWORD,
];

pub(super) const TOOL_NAME: Lint = warning("tool_name");
pub(super) const SIMILAR_TOOL_NAMES: Lint = warning("similar_tool_names");
pub(super) const NO_TOOL_DESCRIPTION: Lint = warning("no_tool_description");
pub(super) const LONG_TOOL_DESCRIPTION: Lint = warning("long_tool_description");
pub(super) const SIDE_EFFECT_DIFFERS: Lint = warning("side_effect_differs");
pub(super) const IDEMPOTENT_DIFFERS: Lint = warning("idempotent_differs");
pub(super) const LARGE_SCHEMA: Lint = warning("large_schema");
pub(super) const ROOT_WITHOUT_TYPE: Lint = warning("root_without_type");
pub(super) const ROOT_COMBINED: Lint = warning("root_combined");
pub(super) const PROPERTY_NAME: Lint = warning("property_name");
pub(super) const SIMILAR_PROPERTY_NAMES: Lint = warning("similar_property_names");
pub(super) const UNDECLARED_REQUIRED: Lint = warning("undeclared_required");
pub(super) const UNMARKED_SECRET: Lint = warning("unmarked_secret");
pub(super) const ARRAY_WITHOUT_ITEMS: Lint = warning("array_without_items");
pub(super) const SIMILAR_ENUM_VALUES: Lint = warning("similar_enum_values");
pub(super) const EMPTY_ENUM_VALUE: Lint = warning("empty_enum_value");
pub(super) const LARGE_NUMBER: Lint = warning("large_number");
pub(super) const IMPOSSIBLE_LIMITS: Lint = warning("impossible_limits");
pub(super) const PARTLY_ANCHORED_PATTERN: Lint = warning("partly_anchored_pattern");
pub(super) const MISSPELT_KEYWORD: Lint = warning("misspelt_keyword");
pub(super) const KEYWORD_OF_ANOTHER_DIALECT: Lint = warning("keyword_of_another_dialect");
pub(super) const KEYWORD_OF_ANOTHER_TYPE: Lint = warning("keyword_of_another_type");
pub(super) const IGNORED_BESIDE_REFERENCE: Lint = warning("ignored_beside_reference");
pub(super) const NO_PROPERTY_DESCRIPTION: Lint = info("no_property_description");
pub(super) const LONG_DESCRIPTION: Lint = info("long_description");
pub(super) const OPTIONAL_WITHOUT_DEFAULT: Lint = info("optional_without_default");
pub(super) const OPEN_OBJECT: Lint = info("open_object");
pub(super) const RECURSIVE_SCHEMA: Lint = info("recursive_schema");
pub(super) const DEEP_SCHEMA: Lint = info("deep_schema");
pub(super) const UNTYPED_PROPERTY: Lint = info("untyped_property");
pub(super) const UNION_WITHOUT_DISCRIMINATOR: Lint = info("union_without_discriminator");
pub(super) const TEXT_BESIDE_NUMBER: Lint = info("text_beside_number");
pub(super) const LARGE_ENUM: Lint = info("large_enum");
pub(super) const UNKNOWN_FORMAT: Lint = info("unknown_format");
pub(super) const UNANCHORED_PATTERN: Lint = info("unanchored_pattern");
pub(super) const PROVIDER_KEYWORD: Lint = info("provider_keyword");
