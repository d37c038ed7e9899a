//! The stores, and what is put into them.

use std::{any::Any, fmt::Debug, ops::Deref, sync::Arc, time::Duration};

use toolbooth::{
    content::ToolOutput,
    json::{Json, SharedJson},
    ledgers::{EmbeddedLedger, MemoryLedger},
    ports::{Claim, KeyScope, Ledger, OnceKey, Record, Reservation, Reserved, Retention},
    tools::InDoubt,
};

use super::server::Server;

/// How long a test waits for what must come: no speed is meant by it.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// A ledger, and where it is kept.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    ledger: Arc<dyn Ledger>,
    _home: Arc<dyn Home>,
}

trait Home: Any + Debug + Send + Sync {}
impl<T: Any + Debug + Send + Sync> Home for T {}

impl Deref for Kept {
    type Target = dyn Ledger;

    fn deref(&self) -> &Self::Target {
        &*self.ledger
    }
}

pub(super) fn memory() -> Kept {
    Kept { ledger: Arc::new(MemoryLedger::default()), _home: Arc::new(()) }
}

pub(super) fn embedded() -> Kept {
    let home = tempfile::tempdir().unwrap();
    Kept { ledger: Arc::new(EmbeddedLedger::open(home.path()).unwrap()), _home: Arc::new(home) }
}

/// `None` where PostgreSQL is not installed.
pub(super) async fn postgres() -> Option<Kept> {
    let server = Server::start()?;
    Some(Kept { ledger: Arc::new(server.ledger().await), _home: Arc::new(server) })
}

/// The key of a submission.
pub(super) fn key(task: &str, tool: &str, key: &str) -> OnceKey {
    OnceKey { task: task.into(), scope: KeyScope::Submission(tool.into()), key: key.into() }
}

/// A key of a host.
pub(super) fn host_key(task: &str, key: &str) -> OnceKey {
    OnceKey { task: task.into(), scope: KeyScope::Call, key: key.into() }
}

pub(super) fn claim(keys: &[OnceKey], idempotency_key: &str) -> Claim {
    Claim { keys: keys.to_vec(), in_doubt: InDoubt::Refuse, idempotency_key: idempotency_key.into() }
}

pub(super) fn retrying(keys: &[OnceKey], idempotency_key: &str) -> Claim {
    Claim { in_doubt: InDoubt::Retry, ..claim(keys, idempotency_key) }
}

/// Reserves what must be free.
pub(super) async fn held(ledger: &dyn Ledger, claim: &Claim) -> Reservation {
    let told = reserved(ledger, claim).await;
    let Reserved::Free(reservation) = told else { panic!("{told:?}") };
    reservation
}

/// What becomes of a claim, within the patience.
pub(super) async fn reserved(ledger: &dyn Ledger, claim: &Claim) -> Reserved {
    tokio::time::timeout(PATIENCE, ledger.reserve(claim)).await.expect("an answer").unwrap()
}

/// The record under a key that must be taken.
pub(super) async fn taken(ledger: &dyn Ledger, own: &OnceKey) -> Record {
    let told = reserved(ledger, &claim(std::slice::from_ref(own), "again")).await;
    let Reserved::Taken(key, record) = told else { panic!("{told:?}") };
    assert_eq!(key, *own);
    *record
}

/// A record that says what it was called.
pub(super) fn record(keys: &[OnceKey], name: &str) -> Record {
    Record {
        keys: keys.to_vec(),
        tool: "tool".into(),
        run: "run".into(),
        call_id: name.into(),
        raw_arguments: format!("{{ \"name\": \"{name}\" }}").into(),
        arguments: SharedJson::from(Json::object([("name", Json::from(name))])),
        recorded_at_ms: 1_000,
        output: ToolOutput { terminate: Some(true), ..ToolOutput::text(name) },
    }
}

/// Reserves and records.
pub(super) async fn put(ledger: &dyn Ledger, keys: &[OnceKey], name: &str) {
    let reservation = held(ledger, &claim(keys, name)).await;
    ledger.record(reservation, record(keys, name)).await.unwrap();
}

/// Forgets everything that is older than the moment.
pub(super) const NOTHING: Retention = Retention { submissions: Some(Duration::ZERO), calls: Some(Duration::ZERO) };
