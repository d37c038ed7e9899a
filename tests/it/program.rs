//! The real program, run with files of its own.

use std::{
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A folder of files for one test.
pub(crate) struct Folder(TempDir);

/// How the program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            fs::create_dir_all(folder.path(name).parent().unwrap()).unwrap();
            fs::write(folder.path(name), text).unwrap();
        }
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs the program in the folder.
    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolbooth"))
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("TOOLBOOTH_LOG")
            .env_remove("TOOLBOOTH_LOG_FORMAT")
            .env_remove("TOOLBOOTH_POSTGRES")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that does not read its input may be gone by now.
        drop(child.stdin.take().unwrap().write_all(input));
        let output = child.wait_with_output().unwrap();
        Ended {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Pipes lines through the tools of the folder `tools`: what came out, and the exit code.
    pub(crate) fn pipe(&self, lines: &[&str]) -> (Vec<Value>, i32) {
        let ended = self.run(&["pipe", "--tools", "tools"], lines.join("\n").as_bytes());
        (ended.lines(), ended.code)
    }
}

impl Ended {
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
