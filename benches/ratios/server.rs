//! The servers under test, as processes of their own: started, looked at through the operating system, and killed.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Lines},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};
use toolbooth::grpc::proto::tool_execution_service_client::ToolExecutionServiceClient;

use super::figures::microseconds;

/// How the benches call a server.
pub(crate) type Client = ToolExecutionServiceClient<Channel>;

/// The first argument that makes this program the bare echo.
pub(crate) const ECHO: &str = "serve-echo";

/// The socket's name in the server's folder.
const SOCKET: &str = "socket";

/// A server on a Unix socket in a folder of its own. It is killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    folder: TempDir,
}

impl Server {
    /// The bare echo: this program again.
    pub(crate) fn echo() -> Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.arg(ECHO);
        Self::start(command)
    }

    /// A booth that serves `count` tools, as users start it: release build, default log level.
    pub(crate) fn booth(tools: &Path, count: u32) -> Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolbooth"));
        command.arg("serve").arg("--tools").arg(tools).arg("--socket");
        let mut booth = Self::start(command)?;
        let served = format!("tools: {count} served, 0 quarantined");
        ensure!(booth.says(&served)?, "the booth does not say `{served}`");
        Ok(booth)
    }

    /// Starts it; its last argument is the socket.
    fn start(mut command: Command) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        // Log lines are written to a file, as a container's runtime would do it.
        let log = fs::File::create(folder.path().join("log"))?;
        let mut child = command.arg(folder.path().join(SOCKET)).stdout(Stdio::piped()).stderr(log).spawn()?;
        let lines = BufReader::new(child.stdout.take().context("the server has a standard output")?).lines();
        let mut server = Self { child, lines, folder };
        ensure!(server.says("listening on unix://")?, "{command:?} does not listen");
        Ok(server)
    }

    /// Waits for a line that begins with this.
    fn says(&mut self, beginning: &str) -> Result<bool> {
        for line in self.lines.by_ref() {
            if line?.starts_with(beginning) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Where it listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
    }

    /// A connection of its own.
    pub(crate) async fn connect(&self) -> Result<Client> {
        let endpoint = Endpoint::try_from(format!("unix://{}", self.socket().display()))?;
        Ok(Client::new(endpoint.connect().await?).max_decoding_message_size(usize::MAX))
    }

    /// Its number.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// CPU time of all its threads so far, in microseconds.
    pub(crate) fn cpu(&self) -> Result<f64> {
        cpu_of(&self.child.id().to_string())
    }

    /// Memory that it has now, in megabytes (10^6 bytes).
    pub(crate) fn resident(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("a process has a VmRSS")?;
        let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kibibytes * 1024.0 / 1e6)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// CPU time of all threads of a process (a number, or `self`) so far, in microseconds. The kernel counts it to the nanosecond
/// here, not in ticks.
pub(crate) fn cpu_of(process: &str) -> Result<f64> {
    let mut total = Duration::ZERO;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread that has ended in between takes its time with it.
        let Ok(statistics) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        let on_cpu = statistics.split(' ').next().unwrap_or_default();
        total += Duration::from_nanos(on_cpu.parse().context("schedstat has a number of nanoseconds")?);
    }
    Ok(microseconds(total))
}
