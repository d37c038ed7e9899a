//! Tools that are programs: the call goes to standard input, and standard output is the result.
//!
//! A program is started from its argument list, without a shell. Its environment holds what the contract says and nothing
//! else. Standard input is the JSON of [`super::wire`] and then ends; a program need not read it. The end is taken by
//! these rules:
//!
//! - Exit code 0: standard output, as `wire` reads it. Standard error is dropped.
//! - Any other code, or a signal, with an envelope on standard output: the envelope, as an error.
//! - Any other code, or a signal: an error whose text is standard output, standard error and `exited with code N` (or
//!   `killed by signal N`), on lines of their own.
//! - A program that cannot be started was not started.
//!
//! Both outputs are read to their end and kept up to the cap. The program leads a process group of its own, and the whole
//! group is killed when the program ends or the call is given up: nothing that a call has started outlives it, except a
//! process that leaves the group on purpose.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt, io,
    os::unix::process::ExitStatusExt as _,
    process::{ExitStatus, Stdio},
    sync::Arc,
};

use tokio::process::Command;

use crate::{content::ToolOutput, ports::ExecutorError, tools::CommandSpec};

use super::{
    group::Group,
    wire::{Answer, Capped},
};

/// Runs programs.
#[derive(Clone)]
pub(super) struct Programs {
    /// What programs may inherit.
    environment: Arc<BTreeMap<OsString, OsString>>,
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An environment holds secrets.
        f.debug_struct("Programs").finish_non_exhaustive()
    }
}

impl Programs {
    /// Programs that may inherit variables of `environment`.
    pub(super) fn new(environment: BTreeMap<OsString, OsString>) -> Self {
        Self { environment: Arc::new(environment) }
    }

    /// Runs a program to its end.
    pub(super) async fn run(&self, spec: &CommandSpec, request: &str) -> Result<ToolOutput, ExecutorError> {
        let group = self.start(spec)?;
        let mut stdout = Capped::new(spec.max_output_bytes);
        let mut stderr = Capped::new(spec.max_output_bytes);
        let status = group.finish(request.as_bytes(), &mut stdout, &mut stderr).await.map_err(|error| {
            ExecutorError::Failed(format!("the end of the program could not be waited for: {error}"))
        })?;
        let stdout = Answer::new(stdout, "standard output");
        if status.success() { stdout.into_output() } else { Ok(failure(status, stdout, stderr)) }
    }

    fn start(&self, spec: &CommandSpec) -> Result<Group, ExecutorError> {
        let [program, arguments @ ..] = spec.argv.as_slice() else {
            return Err(ExecutorError::NotStarted("the contract names no program to run".to_owned()));
        };
        let inherited = spec.inherit.iter().filter_map(|name| self.environment.get_key_value(OsStr::new(name)));
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(inherited).envs(&spec.env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = &spec.cwd {
            command.current_dir(folder);
        }
        Group::start(command).map_err(|error| ExecutorError::NotStarted(not_started(spec, program, &error)))
    }
}

/// Why a program could not be started. The kernel says "not found" of its folder, too.
fn not_started(spec: &CommandSpec, program: &str, error: &io::Error) -> String {
    match &spec.cwd {
        Some(folder) if !folder.is_dir() => {
            format!("the program `{program}` was not started: there is no folder `{}`", folder.display())
        }
        _ if error.kind() == io::ErrorKind::NotFound => format!("there is no program `{program}`"),
        _ => format!("the program `{program}` could not be started: {error}"),
    }
}

/// The result of a program that did not succeed.
fn failure(status: ExitStatus, stdout: Answer, stderr: Capped) -> ToolOutput {
    stdout.into_envelope_of_failure().unwrap_or_else(|stdout| {
        let stderr = Answer::new(stderr, "standard error");
        let end = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            (None, None) => "ended abnormally".to_owned(),
        };
        let parts = [stdout.text.trim_end(), stderr.text.trim_end(), &end];
        let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        ToolOutput { warnings: [stdout.warnings, stderr.warnings].concat(), ..ToolOutput::error(text) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = r#"{"call":{},"arguments":{"id":12345678901234567890,"rate":1.50}}"#;

    fn spec(argv: &[&str]) -> CommandSpec {
        CommandSpec {
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            cwd: None,
            env: BTreeMap::new(),
            inherit: vec!["PATH".to_owned()],
            max_output_bytes: 100_000,
        }
    }

    fn sh(script: &str) -> CommandSpec {
        spec(&["sh", "-c", script])
    }

    fn programs() -> Programs {
        let environment = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("SECRET", "s3cret"), ("SEEN", "yes")];
        Programs::new(environment.map(|(name, value)| (name.into(), value.into())).into())
    }

    async fn run(spec: &CommandSpec) -> Result<ToolOutput, ExecutorError> {
        programs().run(spec, REQUEST).await
    }

    async fn text(spec: &CommandSpec) -> String {
        match run(spec).await.unwrap().content.as_slice() {
            [crate::content::Content::Text(text)] => text.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn the_request_is_standard_input_and_numbers_survive_both_ways() {
        let output = run(&spec(&["cat"])).await.unwrap();
        assert_eq!(output.content, ToolOutput::text(REQUEST).content);
        assert_eq!(output.structured.unwrap().to_text(), REQUEST);
        let envelope = r#"printf '{"structured":{"id":12345678901234567890},"terminate":true}'"#;
        let output = run(&sh(envelope)).await.unwrap();
        assert_eq!(output.structured.unwrap().to_text(), r#"{"id":12345678901234567890}"#);
        assert_eq!(output.terminate, Some(true));
    }

    #[tokio::test]
    async fn a_shell_finds_nothing_to_expand() {
        let words = ["printf", "%s|", "$HOME", "`id`", "a;b", "*", "> f", "a b"];
        assert_eq!(text(&spec(&words)).await, "$HOME|`id`|a;b|*|> f|a b|");
    }

    #[tokio::test]
    async fn the_environment_is_what_the_contract_says() {
        let mut spec = CommandSpec { inherit: Vec::new(), ..spec(&["/usr/bin/env"]) };
        assert_eq!(run(&spec).await, Ok(ToolOutput::default()));
        spec.inherit = vec!["SEEN".to_owned(), "MISSING".to_owned()];
        spec.env = BTreeMap::from([("OWN".to_owned(), "1".to_owned())]);
        assert_eq!(text(&spec).await, "OWN=1\nSEEN=yes\n");
        spec.env.insert("SEEN".to_owned(), "overridden".to_owned());
        assert_eq!(text(&spec).await, "OWN=1\nSEEN=overridden\n");
    }

    #[tokio::test]
    async fn it_runs_in_the_folder_of_the_contract() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let spec = CommandSpec { cwd: Some(real.clone()), ..sh("pwd") };
        assert_eq!(text(&spec).await, format!("{}\n", real.display()));
    }

    #[tokio::test]
    async fn what_cannot_be_started_was_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let gone = CommandSpec { cwd: Some(folder.path().join("gone")), ..sh("true") };
        let folder = folder.path().display().to_string();
        for (spec, expected) in [
            (spec(&["no-such-program"]), "there is no program `no-such-program`".to_owned()),
            (gone, format!("the program `sh` was not started: there is no folder `{folder}/gone`")),
            (spec(&[&folder]), format!("the program `{folder}` could not be started: Permission denied (os error 13)")),
            (spec(&[]), "the contract names no program to run".to_owned()),
        ] {
            assert_eq!(run(&spec).await, Err(ExecutorError::NotStarted(expected)));
        }
    }

    #[tokio::test]
    async fn a_program_that_fails_is_an_error_with_all_it_said() {
        let failed = run(&sh("echo found nothing; echo no such user >&2; exit 3")).await;
        assert_eq!(failed, Ok(ToolOutput::error("found nothing\nno such user\nexited with code 3")));
        assert_eq!(run(&sh("exit 1")).await, Ok(ToolOutput::error("exited with code 1")));
        assert_eq!(run(&sh("kill -9 $$")).await, Ok(ToolOutput::error("killed by signal 9")));
        let envelope = run(&sh(r#"echo '{"content":"no such user"}'; echo trace >&2; exit 3"#)).await;
        assert_eq!(envelope, Ok(ToolOutput::error("no such user")));
    }

    #[tokio::test]
    async fn output_above_the_cap_is_read_and_dropped() {
        let script = "head -c 1000000 /dev/zero | tr '\\0' x; head -c 1000000 /dev/zero | tr '\\0' y >&2; exit 1";
        let output = run(&CommandSpec { max_output_bytes: 10, ..sh(script) }).await.unwrap();
        assert_eq!(output.content, ToolOutput::text("xxxxxxxxxx\nyyyyyyyyyy\nexited with code 1").content);
        let messages: Vec<_> = output.warnings.iter().map(|warning| (warning.code, warning.message.as_str())).collect();
        let out = "standard output was longer than 10 bytes: the rest was dropped";
        let err = "standard error was longer than 10 bytes: the rest was dropped";
        assert_eq!(messages, [("output_truncated", out), ("output_truncated", err)]);
    }

    #[tokio::test]
    async fn output_that_is_no_text_is_marked() {
        let output = run(&sh(r"printf 'a\377b'")).await.unwrap();
        assert_eq!(output.content, ToolOutput::text("a\u{fffd}b").content);
        assert_eq!(output.warnings[0].code, "lossy_text");
    }

    #[tokio::test]
    async fn a_program_need_not_read_its_input() {
        let large = format!(r#"{{"arguments":"{}"}}"#, "x".repeat(1_000_000));
        for script in ["echo done", "exec <&-; echo done", "sleep 0.1; echo done"] {
            assert_eq!(programs().run(&sh(script), &large).await, Ok(ToolOutput::text("done\n")), "{script}");
        }
    }
}
