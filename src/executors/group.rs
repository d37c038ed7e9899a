//! A running program with all that it has started: the process group that it leads.
//!
//! Whatever way a call comes to its end, the group is killed: when its leader ends, and when it is dropped.

use std::{io, pin::pin, process::ExitStatus, time::Duration};

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{ChildStdin, Command},
    runtime::Handle,
    time::timeout,
};

use super::wire::Capped;

/// How long outputs stay open for reading once their program has ended. They end with the group, unless a process that
/// left the group holds them.
const AFTERGLOW: Duration = Duration::from_millis(500);

/// A running program and all that it has started.
#[derive(Debug)]
pub(super) struct Group(Option<Box<dyn ChildWrapper>>);

impl Group {
    /// Starts a program as the leader of a new group.
    pub(super) fn start(command: Command) -> io::Result<Self> {
        CommandWrap::from(command).wrap(ProcessGroup::leader()).spawn().map(|leader| Self(Some(leader)))
    }

    /// Feeds the program and reads what it says until it ends; then ends what it has left behind.
    pub(super) async fn finish(
        mut self,
        request: &[u8],
        stdout: &mut Capped,
        stderr: &mut Capped,
    ) -> io::Result<ExitStatus> {
        let leader = self.leader()?;
        let pipes = (leader.stdin().take(), leader.stdout().take(), leader.stderr().take());
        let mut talk =
            pin!(async { tokio::join!(feed(pipes.0, request), drain(pipes.1, stdout), drain(pipes.2, stderr)) });
        // Declared after its pipes, and so dropped before them: a program that is given up is killed before its input ends, or it
        // could take what it has got of its request for all of it.
        let mut group = self;
        let leader = group.leader()?;
        let mut silent = false;
        let status = loop {
            tokio::select! {
                // The leader alone: to wait for all of the group would be to wait for what it has left behind.
                status = leader.inner_mut().wait() => break status?,
                _ = &mut talk, if !silent => silent = true,
            }
        };
        group.kill();
        if !silent {
            drop(timeout(AFTERGLOW, talk).await);
        }
        Ok(status)
    }

    fn leader(&mut self) -> io::Result<&mut Box<dyn ChildWrapper>> {
        self.0.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn kill(&mut self) {
        let Some(mut leader) = self.0.take() else { return };
        // The only error is that nobody is left.
        drop(leader.start_kill());
        // Where the booth is the first process of a container, the orphans are its children: they must be waited for. On
        // a runtime that shuts down, there is nobody to do that, and no need.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { leader.wait().await });
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Writes the request, then ends the input. A program that does not want it may close it.
async fn feed(pipe: Option<ChildStdin>, request: &[u8]) {
    if let Some(mut pipe) = pipe {
        drop(pipe.write_all(request).await);
    }
}

/// Reads an output to its end, so that the program never has to wait for a reader.
async fn drain(pipe: Option<impl AsyncRead + Unpin>, kept: &mut Capped) {
    let Some(mut pipe) = pipe else { return };
    let mut chunk = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        kept.push(chunk.get(..count).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, process::Stdio};

    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::executors::wire::Answer;

    /// Runs a script and returns what it said.
    async fn run(script: &str) -> String {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut stdout, mut stderr) = (Capped::new(100), Capped::new(100));
        let status = Group::start(command).unwrap().finish(b"", &mut stdout, &mut stderr).await.unwrap();
        assert!(status.success());
        Answer::new(stdout, "standard output").text
    }

    /// Whether something still writes to the file.
    async fn grows(file: &Path) -> bool {
        let length = || std::fs::metadata(file).map_or(0, |file| file.len());
        let before = length();
        sleep(Duration::from_millis(300)).await;
        length() > before
    }

    /// A script that leaves behind a process which ignores every polite signal and writes to the file for ever.
    fn stubborn(file: &Path) -> String {
        let file = file.display();
        format!("(trap '' TERM HUP INT; while :; do echo x >> {file}; sleep 0.02; done) &")
    }

    #[tokio::test]
    async fn a_call_that_is_given_up_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let (child, parent) = (folder.path().join("child"), folder.path().join("parent"));
        let script =
            format!("trap '' TERM; {} while :; do echo x >> {}; sleep 0.02; done", stubborn(&child), parent.display());
        {
            let mut call = pin!(run(&script));
            while !(child.exists() && parent.exists()) {
                assert!(timeout(Duration::from_millis(20), &mut call).await.is_err());
            }
        }
        assert!(!grows(&child).await);
        assert!(!grows(&parent).await);
    }

    #[tokio::test]
    async fn a_program_that_ends_takes_along_what_it_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("beat");
        let script = format!("{} while [ ! -e {} ]; do sleep 0.01; done; echo done", stubborn(&file), file.display());
        assert_eq!(run(&script).await, "done\n");
        assert!(!grows(&file).await);
    }

    #[tokio::test]
    async fn a_process_that_left_the_group_does_not_hold_up_the_result() {
        let started = Instant::now();
        assert_eq!(run("setsid sleep 5 & sleep 0.1; echo done").await, "done\n");
        assert!(started.elapsed() < Duration::from_secs(4));
    }

    #[tokio::test]
    async fn a_program_that_is_given_up_does_not_see_its_input_end() {
        let folder = tempfile::tempdir().unwrap();
        let ended = folder.path().join("ended");
        let script = format!("echo began; cat > /dev/null; echo x >> {}", ended.display());
        // More than a pipe holds, so that some of it is still to come.
        let request = vec![b' '; 64 << 20];
        for _ in 0..50 {
            let mut command = Command::new("sh");
            command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let (mut stdout, mut stderr) = (Capped::new(100), Capped::new(100));
            let call = Group::start(command).unwrap().finish(&request, &mut stdout, &mut stderr);
            assert!(timeout(Duration::from_millis(10), call).await.is_err());
        }
        sleep(Duration::from_millis(100)).await;
        assert!(!ended.exists());
    }
}
