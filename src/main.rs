//! The program: arguments -> config -> telemetry -> subcommand -> exit code.

mod config;
mod telemetry;
mod cli;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::Parser as _;

use cli::Cli;

fn main() -> ExitCode {
    match start(Cli::parse()) {
        Ok(code) => code,
        // Whoever reads the output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell if standard error is gone, too.
            drop(writeln!(io::stderr().lock(), "toolbooth: {error:#}"));
            ExitCode::from(cli::CANNOT_START)
        }
    }
}

fn start(cli: Cli) -> anyhow::Result<ExitCode> {
    telemetry::start(cli.log()?, cli.default_level())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(cli.run(&mut io::stdout().lock()));
    // A read of standard input that is still waiting must not keep the program from ending.
    runtime.shutdown_background();
    code
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()));
    kinds.into_iter().any(|kind| kind == io::ErrorKind::BrokenPipe)
}
