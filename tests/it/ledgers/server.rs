//! A PostgreSQL of a test's own: in a temporary folder, on a Unix socket only, as a user without rights, and gone with the test.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;
use toolbooth::ledgers::{LEASE, PostgresAddress, PostgresLedger};

/// How long the server may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    folder: TempDir,
    programs: PathBuf,
    child: Option<Child>,
}

impl Server {
    /// Starts one; `None` where PostgreSQL is not installed, which is said, and is a failure where tests must be whole.
    pub(crate) fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            let told =
                "PostgreSQL is missing, so nothing is shown of the ledger in it: install it (postgresql on Debian)";
            assert!(std::env::var_os("CI").is_none(), "{told}");
            eprintln!("SKIPPED: {told}");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let home = folder.path().join("home");
        let template = template(&programs);
        run(Command::new("cp").arg("-R").arg(&template).arg(&home));
        own(&home);
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
        let socket = folder.path().join("socket");
        fs::create_dir(&socket).unwrap();
        own(&socket);
        let mut server = Self { folder, programs, child: None };
        server.again();
        Some(server)
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("postgres://booth@localhost/postgres?host={}", self.folder.path().join("socket").display())
    }

    pub(crate) fn address(&self) -> PostgresAddress {
        self.url().parse().unwrap()
    }

    pub(crate) async fn ledger(&self) -> PostgresLedger {
        self.leased(LEASE).await
    }

    pub(crate) async fn leased(&self, lease: Duration) -> PostgresLedger {
        PostgresLedger::open(&self.address(), lease).await.unwrap()
    }

    /// Runs a statement: what it prints, without a frame.
    pub(crate) fn sql(&self, statement: &str) -> String {
        let output = Command::new(self.programs.join("psql"))
            .args(["-U", "booth", "-d", "postgres", "-qAt", "-c", statement, "-h"])
            .arg(self.folder.path().join("socket"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            Command::new("kill").args(["-QUIT", &child.id().to_string()]).status().unwrap();
            child.wait().unwrap();
        }
    }

    /// Starts it after a stop.
    pub(crate) fn again(&mut self) {
        let home = self.folder.path().join("home");
        let socket = self.folder.path().join("socket");
        let log = fs::OpenOptions::new().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        // It ends with whoever has started it.
        let mut child = unprivileged(&["--pdeathsig", "QUIT"])
            .arg(self.programs.join("postgres"))
            .arg("-D")
            .arg(&home)
            .arg("-k")
            .arg(&socket)
            .args(["-c", "listen_addresses=", "-c", "shared_buffers=16MB", "-c", "max_connections=60"])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let ready = || {
            let mut asked = Command::new(self.programs.join("pg_isready"));
            asked.args(["-q", "-U", "booth", "-d", "postgres", "-h"]).arg(&socket).status().unwrap().success()
        };
        let started = Instant::now();
        while !ready() {
            let said = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(child.try_wait().unwrap().is_none() && started.elapsed() < PATIENCE, "{}", said());
            std::thread::yield_now();
        }
        self.child = Some(child);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The newest PostgreSQL of this machine.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let newest = versions.map(|version| version.path().join("bin")).filter(|path| path.join("initdb").exists()).max();
    newest.or_else(|| Some(PathBuf::from("/usr/local/pgsql/bin")).filter(|path| path.join("initdb").exists()))
}

/// An empty database, which is made once and copied: making it takes seconds.
fn template(programs: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let version = programs.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let template = root.join(format!("postgres-{version}"));
    let lock = fs::File::create(root.join("postgres.lock")).unwrap();
    lock.lock().unwrap();
    if !template.exists() {
        let made = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        fs::set_permissions(made.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let home = made.path().join("home");
        fs::create_dir(&home).unwrap();
        own(&home);
        let initdb = programs.join("initdb");
        let mut initdb = {
            let mut command = unprivileged(&[]);
            command.arg(initdb);
            command
        };
        run(initdb
            .args(["-U", "booth", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=1", "-D"])
            .arg(&home));
        let aside = root.join("postgres.new");
        drop(fs::remove_dir_all(&aside));
        run(Command::new("cp").arg("-R").arg(&home).arg(&aside));
        fs::rename(&aside, &template).unwrap();
    }
    template
}

/// PostgreSQL refuses to run as root: there it gets the user that its package has made, or the one who is nobody.
fn unprivileged(options: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(options);
    if let Some((user, group)) = servant() {
        command.args(["--reuid", &user.to_string(), "--regid", &group.to_string(), "--clear-groups"]);
    }
    command.current_dir("/tmp").env_remove("CI");
    command
}

fn own(path: &Path) {
    if let Some((user, group)) = servant() {
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                own(&entry.unwrap().path());
            }
        }
        chown(path, Some(user), Some(group)).unwrap();
    }
}

/// Who runs it in place of root.
fn servant() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let number = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    };
    number("postgres").or_else(|| number("nobody"))
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
