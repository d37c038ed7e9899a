//! The ledger of a command: which one is meant, and how it is opened.

use std::{convert::Infallible, fmt, fs, path::PathBuf, str::FromStr, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use clap::Args;
use toolbooth::{
    ledgers::{EmbeddedLedger, MemoryLedger, PostgresAddress, PostgresLedger},
    ports::{Clock as _, Ledger, Retention, SystemClock},
};
use tracing::{info, warn};

use crate::config::{State, Store, postgres_of_environment};

/// Where it is kept what was executed once.
#[derive(Debug, Args)]
pub(super) struct StateFlags {
    /// Folder for a ledger in a file, which outlives this process: what was accepted stays accepted
    #[arg(long, value_name = "DIR", conflicts_with = "postgres")]
    state: Option<PathBuf>,
    /// PostgreSQL for a ledger that booths share.
    #[arg(
        help = "PostgreSQL for a ledger that booths share [env: TOOLBOOTH_POSTGRES, where no other user sees the password]",
        long,
        value_name = "URL"
    )]
    postgres: Option<Secret>,
}

/// An address with a password in it, which is not repeated to anybody, not even as a mistake.
#[derive(Clone)]
struct Secret(String);

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl StateFlags {
    /// The store that flags name, or else the environment.
    pub(super) fn store(&self) -> Result<Option<Store>> {
        if let Some(folder) = &self.state {
            return Ok(Some(Store::Folder(folder.clone())));
        }
        match &self.postgres {
            Some(Secret(address)) => Ok(Some(Store::Postgres(address.parse().context("--postgres")?))),
            None => match postgres_of_environment() {
                Some(address) => Ok(Some(Store::Postgres(address.parse().context("TOOLBOOTH_POSTGRES")?))),
                None => Ok(None),
            },
        }
    }

    /// What they say where there is no settings file.
    pub(super) fn state(&self) -> Result<State> {
        Ok(State { store: self.store()?.unwrap_or_default(), ..State::default() })
    }
}

impl State {
    /// Opens a ledger that must be there, to look at it.
    pub(super) async fn existing_ledger(&self) -> Result<Arc<dyn Ledger>> {
        match &self.store {
            Store::Folder(folder) => Ok(Arc::new(EmbeddedLedger::open_existing(folder)?)),
            Store::Memory | Store::Postgres(_) | Store::PostgresFile(_) => self.ledger().await,
        }
    }

    /// Opens the ledger.
    pub(super) async fn ledger(&self) -> Result<Arc<dyn Ledger>> {
        let address = match &self.store {
            Store::Memory => {
                info!(ledger = "memory", "what is accepted is forgotten when the process ends");
                return Ok(Arc::new(MemoryLedger::default()));
            }
            Store::Folder(folder) => {
                let ledger = EmbeddedLedger::open(folder)?;
                info!(ledger = "file", folder = %folder.display(), "what is accepted outlives the process");
                return Ok(Arc::new(ledger));
            }
            Store::Postgres(address) => address.clone(),
            Store::PostgresFile(file) => {
                let file = file.display();
                let address = fs::read_to_string(file.to_string()).with_context(|| {
                    format!("{file}: the address of PostgreSQL cannot be read: check that the file exists and who may read it")
                })?;
                address.parse::<PostgresAddress>().with_context(|| file.to_string())?
            }
        };
        let ledger = PostgresLedger::open(&address, self.lease).await?;
        info!(ledger = "postgres", %address, lease = %humantime::format_duration(self.lease), "what is accepted is shared");
        Ok(Arc::new(ledger))
    }
}

/// How often it is looked for what need not be remembered any more.
const TIDY: Duration = Duration::from_hours(1);

/// Forgets what need not be remembered any more, again and again.
pub(super) async fn tidy(ledger: Arc<dyn Ledger>, retention: Retention) {
    loop {
        match ledger.forget(retention, SystemClock.unix_ms()).await {
            Ok(0) => {}
            Ok(forgotten) => info!(forgotten, "what need not be remembered any more was forgotten"),
            Err(error) => warn!(%error, "nothing could be forgotten; it is tried again in an hour"),
        }
        tokio::time::sleep(TIDY).await;
    }
}
