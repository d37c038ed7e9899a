//! From one contract to a tool, or to the reasons why there is none.

use std::sync::Arc;

use super::{
    CONTRACT, FORMAT, blocks, executor,
    format::{Contract, Defaults},
    lints, not_in_this_build,
    remarks::Remarks,
    schemas,
};
use crate::{
    document::Note,
    json::{Json, Object, Pointer},
    tools::{
        Profile, Tool,
        executor_spec::ExecutorSpec,
        foreign::Found,
        load::Author,
        report::{ContractReport, Status},
        schema::{SchemaOptions, Schemas},
        shim::Shim,
    },
};

/// What holds for a contract beside what it says itself.
#[derive(Debug)]
pub(in crate::tools) struct Terms<'a> {
    /// What its file says for all of its tools.
    pub(in crate::tools) defaults: Defaults,
    /// That the document around its tools is broken: none of them may serve as if it were not.
    pub(in crate::tools) of_document: Option<Note>,
    /// What runs tools that name nothing.
    pub(in crate::tools) execute: &'a ExecutorSpec,
    /// The profile of tools that name none.
    pub(in crate::tools) profile: Profile,
    /// Who wrote it.
    pub(in crate::tools) author: Author,
    /// Where equal schemas are found.
    pub(in crate::tools) schemas: &'a Schemas,
    /// Whether to look for what will hurt later, too.
    pub(in crate::tools) lint: bool,
    /// The file.
    pub(in crate::tools) file: Option<&'a Arc<str>>,
}

/// Compiles a contract. The error says why the tool does not serve.
pub(in crate::tools) fn compile(found: Found, terms: &Terms<'_>) -> Result<Tool, Box<ContractReport>> {
    let mut remarks = Remarks::of(&found.contract, terms.file);
    remarks.extend(found.notes);
    let contract = FORMAT.read(CONTRACT, &found.contract.value).map_err(|notes| remarks.extend(notes));
    remarks.extend(terms.of_document.iter().cloned().collect());
    let mut tool = match contract {
        Ok(contract) if !remarks.are_fatal() => assemble(contract, &found.contract.value, found.kept, terms, remarks)?,
        Ok(_) | Err(()) => return Err(Box::new(remarks.into_report(None))),
    };
    if terms.lint {
        tool.report.lints = lints::of(&tool, &Remarks::of(&found.contract, terms.file));
    }
    Ok(tool)
}

/// What is kept for the host and not read: foreign keys, and those of the format.
fn kept(mut kept: Object, contract: &mut Contract) -> Json {
    let icons = contract.icons.take().map(|icons| Json::Array(icons.into_iter().map(|icon| icon.0.0).collect()));
    let objects = [
        ("annotations", contract.annotations.take()),
        ("_meta", contract.meta.take()),
        ("execution", contract.execution.take()),
        ("constrained_sampling", contract.constrained_sampling.take()),
    ];
    let objects = objects.into_iter().map(|(key, object)| (key, object.map(|object| object.0.0)));
    kept.extend(objects.chain([("icons", icons)]).filter_map(|(key, value)| Some((key.into(), value?))));
    kept.into()
}

/// Puts the tool together and finds everything that keeps it from serving.
fn assemble(
    mut contract: Contract,
    written: &Json,
    foreign: Object,
    terms: &Terms<'_>,
    mut remarks: Remarks<'_>,
) -> Result<Tool, Box<ContractReport>> {
    if contract.name.is_empty() {
        let message = "the name is empty: write what the model calls the tool by";
        remarks.add(Note::error("wrong_value", Pointer::root().join("name"), message));
    }
    if contract.rules.as_ref().is_some_and(|rules| !rules.is_empty()) {
        let instead = "it has no policy engine; check in the tool, and remove the key";
        remarks.add(not_in_this_build(Pointer::root().join("rules"), "rules", instead));
    }
    let block = contract.arguments.take().unwrap_or_default().or(terms.defaults.arguments.clone().unwrap_or_default());
    let arguments = blocks::argument_rules(block, terms.profile, &mut remarks);
    let profile = arguments.profile.unwrap_or(terms.profile);
    let options = SchemaOptions { formats: arguments.formats, normalise: profile == Profile::Safe };
    let mut schemas = schemas::Reading { written, options, shared: terms.schemas, remarks: &mut remarks };
    let input = schemas.input(&contract);
    let output = schemas.output(&contract);
    let shim = shim(&contract, &mut remarks);
    let (executor, submission) = executor::of_contract(&mut contract, terms, &mut remarks);
    let accept = blocks::acceptance(contract.accept.take(), submission, &mut remarks);
    if let (Some(accept), Some(input)) = (&accept, &input) {
        input.ask(|schema| blocks::check_key(accept, schema.source(), &mut remarks));
    }
    let (timeout, deadline) = blocks::times(contract.timeout.as_deref(), contract.deadline.as_deref(), &mut remarks);
    let max_output_bytes = blocks::output_cap(contract.output.as_ref(), &mut remarks);
    let retries = blocks::retries(&contract, &mut remarks);
    let limits = blocks::limits(&contract.limits.take().unwrap_or_default(), &mut remarks);

    let kept = kept(foreign, &mut contract);
    let report = remarks.into_report(input.as_ref().map(|schema| schema.dialect().name()));
    let (Some(input), Some(executor)) = (input, executor) else { return Err(Box::new(report)) };
    if report.status == Status::Quarantined {
        return Err(Box::new(report));
    }
    Ok(Tool {
        name: Arc::clone(&report.name),
        title: contract.title,
        description: contract.description,
        input,
        output,
        shim,
        arguments,
        terminate: contract.terminate.unwrap_or(executor == ExecutorSpec::Submit),
        accept,
        mode: contract.mode.unwrap_or_default(),
        deadline: if timeout.is_none() { deadline.or_else(|| blocks::default_deadline(&executor)) } else { deadline },
        timeout,
        executor,
        side_effect: contract.side_effect.unwrap_or(false),
        idempotent: contract.idempotent.unwrap_or(false),
        retries,
        limits,
        max_output_bytes,
        kept,
        report,
    })
}

fn shim(contract: &Contract, remarks: &mut Remarks<'_>) -> Shim {
    Shim::compile(contract.prepare.as_deref().unwrap_or_default()).unwrap_or_else(|notes| {
        let base = Pointer::root().join("prepare");
        remarks.extend_below(&base, notes);
        Shim::default()
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{
        call::Mode,
        json::Pointer,
        tools::{
            Accept, ContractReport, Entry, ExecutorSpec, InDoubt, LoadOptions, Loaded, OncePer, Profile, Received,
            Status, load_document,
        },
    };

    fn load(contract: &str) -> Loaded {
        load_document(contract.as_bytes(), &LoadOptions::default())
    }

    fn tool(contract: &str) -> std::sync::Arc<crate::tools::Tool> {
        let loaded = load(contract);
        assert_eq!(loaded.reports.len(), 1);
        match loaded.catalog.iter().next() {
            Some((_, Entry::Served(tool))) => std::sync::Arc::clone(tool),
            _ => panic!("{:?}", loaded.reports),
        }
    }

    fn remarks(report: &ContractReport) -> Vec<String> {
        report.notes.iter().map(|note| format!("{} {}: {}", note.code, note.path, note.message)).collect()
    }

    /// The remarks on a quarantined tool `t` that says this beside its name and parameters.
    fn quarantine(more: &str) -> Vec<String> {
        let loaded = load(&format!(r#"{{"name":"t","parameters":{{"type":"object"}},{more}}}"#));
        assert_eq!(loaded.reports[0].status, Status::Quarantined, "{more}");
        assert!(matches!(loaded.catalog.get("t"), Some(Entry::Quarantined(_))));
        remarks(&loaded.reports[0])
    }

    #[test]
    fn a_contract_that_says_little_gets_the_defaults() {
        let tool = tool(r#"{"name":"t","parameters":{"type":"object"}}"#);
        assert_eq!((tool.executor.name(), tool.mode, tool.terminate), ("host", Mode::Parallel, false));
        assert_eq!((tool.accept.clone(), tool.timeout, tool.deadline), (None, None, None));
        assert_eq!(
            (tool.side_effect, tool.idempotent, tool.retries, tool.max_output_bytes),
            (false, false, 0, 1 << 18)
        );
        assert!(tool.arguments.formats && tool.shim.is_empty());
        assert_eq!((tool.kept.to_text(), tool.report.status), ("{}".to_owned(), Status::Accepted));
    }

    #[test]
    fn every_key_that_is_said_is_kept_to() {
        let tool = tool(
            r#"{"name":"t","title":"T","description":"D","inputSchema":{"type":"object","x":1.50},"outputSchema":{"type":"array"},
                "arguments":{"profile":"strict","formats":false,"allow_nul":true,"sensitive":["/a/b"],"received":"omit"},
                "prepare":[{"drop":{"at":"/x"}}],"accept":{"once_per":{"argument":"/id"},"in_doubt":"retry"},"mode":"sequential",
                "timeout":"30s","deadline":"2m","side_effect":true,"idempotent":true,"terminate":true,"output":{"max_bytes":9},
                "execute":{"command":{"argv":["x","y"],"env":{"A":"b"}}},"annotations":{"n":1.0},"constrained_sampling":{"strict":"prefer"}}"#,
        );
        assert_eq!((tool.title.as_deref(), tool.description.as_deref()), (Some("T"), Some("D")));
        assert_eq!(tool.input.text(), r#"{"type":"object","x":1.50}"#);
        assert!(tool.output.is_some() && !tool.shim.is_empty());
        assert!(!tool.arguments.formats && tool.arguments.allow_nul);
        assert_eq!(tool.arguments.sensitive, [Pointer::root().join("a").join("b")]);
        assert_eq!(tool.arguments.received, Received::Omit);
        let once_per = OncePer::Argument(Pointer::root().join("id"));
        assert_eq!(tool.accept, Some(Accept { once_per, in_doubt: InDoubt::Retry }));
        assert_eq!(tool.timeout.zip(tool.deadline), Some((Duration::from_secs(30), Duration::from_mins(2))));
        assert!(tool.side_effect && tool.idempotent && tool.terminate && tool.mode == Mode::Sequential);
        assert_eq!(tool.retries, 2);
        assert_eq!(tool.max_output_bytes, 9);
        let ExecutorSpec::Command(command) = &tool.executor else { panic!("{:?}", tool.executor) };
        assert_eq!(
            (command.argv.as_slice(), command.inherit.as_slice()),
            (["x", "y"].map(str::to_owned).as_slice(), ["PATH".to_owned()].as_slice())
        );
        assert_eq!(tool.kept.to_text(), r#"{"annotations":{"n":1.0},"constrained_sampling":{"strict":"prefer"}}"#);
    }

    #[test]
    fn a_submission_is_accepted_once_and_says_terminate() {
        let run = Some(Accept { once_per: OncePer::Run, in_doubt: InDoubt::Refuse });
        let task = Some(Accept { once_per: OncePer::Task, in_doubt: InDoubt::Refuse });
        for (said, accept, terminate) in [
            (r#""submit":{}"#, &run, true),
            (r#""submit":{"once_per":"task"}"#, &task, true),
            (r#""execute":{"submit":{"once_per":"task"}}"#, &task, true),
            (r#""execute":{"submit":{}},"accept":{"once_per":"task"},"terminate":false"#, &task, false),
            (r#""execute":{"host":{}},"accept":{"once_per":"run"}"#, &run, false),
            (r#""accept":{}"#, &run, false),
        ] {
            let tool = tool(&format!(r#"{{"name":"t","parameters":{{}},{said}}}"#));
            assert_eq!((&tool.accept, tool.terminate), (accept, terminate), "{said}");
        }
    }

    #[test]
    fn what_this_build_lacks_is_refused_by_name_and_all_of_it_at_once() {
        assert_eq!(
            quarantine(r#""rules":[{"deny":"true"}],"execute":{"grpc":{"address":"x"}}"#),
            [
                "not_in_this_build /rules: `rules` is not in this build: it has no policy engine; check in the tool, and remove the key",
                "not_in_this_build /execute/grpc: `execute: {grpc: ...}` is not in this build: it has `host`, `http`, `command`, \
                 `submit` and `echo`",
            ]
        );
        let off = r#""rules":[],"arguments":{"defaults":false,"drop_empty":false}"#;
        tool(&format!(r#"{{"name":"t","parameters":{{}},{off}}}"#));
    }

    #[test]
    fn c6_under_strict_defaults_do_nothing_and_say_so() {
        let on = r#"{"name":"t","parameters":{"type":"object"},"arguments":{"defaults":true,"profile":"strict"}}"#;
        let report = &tool(on).report;
        assert_eq!(report.status, Status::Accepted);
        let notes: Vec<_> = report.notes.iter().map(|note| (note.code, note.path.to_string())).collect();
        assert_eq!(notes, [("no_effect", "/arguments/defaults".to_owned())]);
    }

    #[test]
    fn s1_a_key_that_may_be_missing_is_warned_of() {
        let keyed = |required: &str| {
            let text = format!(
                r#"{{"name":"t","parameters":{{"type":"object","properties":{{"id":{{}}}},"required":[{required}]}},
                    "accept":{{"once_per":{{"argument":"/id"}}}}}}"#
            );
            tool(&text).report.notes.iter().map(|note| note.code).collect::<Vec<_>>()
        };
        assert_eq!(keyed(""), ["optional_key"]);
        assert!(keyed(r#""id""#).is_empty());
    }

    #[test]
    fn contradictions_and_impossible_values_are_refused() {
        for (said, start) in [
            (r#""submit":{},"execute":{"host":{}}"#, "conflicting_keys /submit"),
            (r#""submit":{"once_per":"run"},"accept":{"once_per":"run"}"#, "conflicting_keys /accept/once_per"),
            (
                r#""input_schema":{"type":"object","title":"x"}"#,
                "conflicting_keys /input_schema: `parameters` and `input_schema`",
            ),
            (r#""timeout":"0s""#, "wrong_value /timeout: `0s` is no time"),
            (r#""timeout":"soon""#, "wrong_value /timeout: `soon` is no duration"),
            (r#""deadline":"31days""#, "wrong_value /deadline: `31days` is longer than 30 days"),
            (
                r#""accept":{"once_per":{"argument":"id"}}"#,
                "wrong_value /accept/once_per/argument: `id` is no JSON Pointer",
            ),
            (r#""arguments":{"sensitive":["/a","b"]}"#, "wrong_value /arguments/sensitive/1"),
            (r#""output":{"max_bytes":0}"#, "wrong_value /output/max_bytes"),
            (r#""prepare":[{"drop":{"at":"x"}}]"#, "wrong_value /prepare/0/drop/at"),
            (r#""execute":{"command":{"argv":[]}}"#, "wrong_value /execute/command/argv"),
            (r#""execute":{"command":{"argv":["x"],"inherit":["A=B"]}}"#, "wrong_value /execute/command/inherit"),
            (r#""execute":{"http":{"url":"ftp://x"}}"#, "wrong_value /execute/http/url"),
            (r#""execute":{"http":{"url":"http://x","headers":{"a b":"c"}}}"#, "wrong_value /execute/http/headers/a b"),
            (r#""outputSchema":{"properties":{"a":{"$ref":"x"}}}"#, "remote_reference /outputSchema/properties/a/$ref"),
            (r#""timout":"1s""#, "unknown_key /timout: unknown key `timout`; did you mean `timeout`?"),
        ] {
            let notes = quarantine(said);
            assert_eq!(notes.len(), 1, "{said}: {notes:?}");
            assert!(notes[0].starts_with(start), "{said}: {notes:?}");
        }
    }

    #[test]
    fn equal_schemas_under_two_names_are_one() {
        tool(r#"{"name":"t","parameters":{"a":1},"inputSchema":{"a":1.0}}"#);
    }

    #[test]
    fn a_root_that_is_no_object_is_refused_at_its_place_in_the_schema() {
        for (schema, path) in
            [(r#"{"type":"string"}"#, "/type"), (r#"{"type":["string","null"]}"#, "/type"), ("true", "")]
        {
            let loaded = load(&format!(r#"{{"name":"t","parameters":{schema}}}"#));
            let note = &loaded.reports[0].notes[0];
            assert_eq!((note.code, note.path.to_string()), ("root_not_object", path.to_owned()), "{schema}");
        }
        tool(r#"{"name":"t","parameters":{"type":["object","null"]}}"#);
    }

    #[test]
    fn v6_foreign_schemas_are_judged_under_the_profile_of_their_contract_or_else_of_the_booth() {
        let status = |own: &str, profile: Profile| {
            let text = format!(r#"{{"name":"t","parameters":{{"type":"OBJECT"}},"arguments":{{{own}}}}}"#);
            load_document(text.as_bytes(), &LoadOptions { profile, ..LoadOptions::default() }).reports[0].status
        };
        for (own, of_booth, expected) in [
            ("", Profile::Strict, Status::Quarantined),
            ("", Profile::Safe, Status::AcceptedWithWarning),
            ("", Profile::Pi, Status::Quarantined),
            (r#""profile":"strict""#, Profile::Safe, Status::Quarantined),
            (r#""profile":"safe""#, Profile::Strict, Status::AcceptedWithWarning),
            (r#""profile":"pi""#, Profile::Safe, Status::Quarantined),
        ] {
            assert_eq!(status(own, of_booth), expected, "{own} {of_booth:?}");
        }
    }

    #[test]
    fn v2_a_root_that_is_no_object_hides_no_other_fault() {
        let report =
            &load(r#"{"name":"t","parameters":{"type":"string","properties":{"a":{"pattern":"("}}}}"#).reports[0];
        let found: Vec<_> = report.notes.iter().map(|note| note.path.to_string()).collect();
        assert_eq!(found, ["/type", "/properties/a/pattern"]);
    }

    #[test]
    fn a_default_that_breaks_its_own_schema_is_a_warning_at_its_place() {
        let schema = r##"{"properties":{"a":{"type":"integer","default":"ten"},"b":{"$ref":"#/$defs/B","default":5},
            "c":{"items":{"anyOf":[{"type":"string","default":1},{"type":"null","default":null}]}},"default":{"type":"string"}},
            "$defs":{"B":{"type":"string"}}}"##;
        let report = &load(&format!(r#"{{"name":"t","parameters":{schema}}}"#)).reports[0];
        let found: Vec<_> = report.notes.iter().map(|note| format!("{} {}", note.code, note.path)).collect();
        assert_eq!(
            found,
            [
                "broken_default /properties/a/default",
                "broken_default /properties/b/default",
                "broken_default /properties/c/items/anyOf/0/default"
            ]
        );
        assert_eq!(report.status, Status::AcceptedWithWarning);
    }

    #[test]
    fn a_contract_without_name_or_parameters() {
        assert_eq!(load(r#"{"name":"","parameters":{}}"#).reports[0].notes[0].code, "wrong_value");
        assert_eq!(load(r#"{"parameters":{}}"#).reports[0].notes[0].code, "missing_key");
        assert_eq!(load(r#"{"name":"t","parameters":{}}"#).reports[0].notes[0].code, "nothing_checked");
        assert_eq!(load(r#"{"name":"t"}"#).reports[0].notes[0].code, "no_parameters");
        assert_eq!(load("[1]").reports[0].notes[0].message, "expected object, got number");
        assert_eq!(load("7").reports[0].notes[0].code, "wrong_type");
    }
}
