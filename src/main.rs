//! The program: arguments -> config -> telemetry -> subcommand -> exit code.

mod config;
mod telemetry;
mod cli;

use std::{
    io::{self, Write as _},
    process::ExitCode,
    thread,
};

use clap::Parser as _;

use cli::Cli;
use toolbooth::tools::STACK_BYTES;

/// A call is some eighty small allocations, soon freed: with the allocator of the C library they were a quarter of its cost. Huge
/// pages are off: an idle sidecar would hold 12 MiB more.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a panic of the first thread exits with.
const PANICKED: u8 = 101;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match on_a_large_stack(move || start(cli)) {
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

/// Runs the program on a thread of its own, whose stack does not depend on the system.
fn on_a_large_stack(run: impl FnOnce() -> anyhow::Result<ExitCode> + Send + 'static) -> anyhow::Result<ExitCode> {
    let thread = thread::Builder::new().name("booth".to_owned()).stack_size(STACK_BYTES).spawn(run)?;
    // The panic has already said what happened.
    thread.join().unwrap_or_else(|_| Ok(ExitCode::from(PANICKED)))
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
