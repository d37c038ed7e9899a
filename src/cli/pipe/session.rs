//! What the lines of one `pipe` have in common: the booth, and the run that is open.

use std::{collections::HashSet, sync::Arc};

use toolbooth::{
    booth::{Booth, OpenRun, Opened},
    call::Batch,
    json::Json,
};

use super::ask::{Ask, AskBatch};
use crate::cli::{in_process, shown};

/// The booth and its current run.
pub(super) struct Session {
    booth: Booth,
    current: Option<Current>,
}

/// A run that is open.
struct Current {
    opened: Opened,
    batches: u32,
    /// The ids of its batches.
    used: HashSet<Arc<str>>,
}

impl Session {
    pub(super) fn new(booth: Booth) -> Self {
        Self { booth, current: None }
    }

    /// What is printed for a line, or why it is not understood.
    pub(super) async fn answer(&mut self, line: &[u8]) -> Result<Vec<Json>, String> {
        match Ask::read(line)? {
            Ask::Open(open) => {
                let request = open.request()?;
                // The new run may have the id of the old one, which ends here.
                self.current = None;
                self.open(request)?;
                Ok(Vec::new())
            }
            Ask::Batch(batch) => Ok(vec![self.batch(batch).await?]),
            Ask::Register(contract) => self.register(&contract.0),
        }
    }

    fn open(&mut self, request: OpenRun) -> Result<&mut Current, String> {
        let opened = self.booth.open(request).map_err(|error| error.to_string())?;
        Ok(self.current.insert(Current { opened, batches: 0, used: HashSet::new() }))
    }

    async fn batch(&mut self, asked: AskBatch) -> Result<Json, String> {
        let (id, mode, finish) = (asked.id.clone(), asked.mode, asked.finish());
        let calls = asked.calls()?;
        let current = match self.current.take() {
            Some(current) => self.current.insert(current),
            None => self.open(OpenRun::default())?,
        };
        current.batches += 1;
        let id: Arc<str> = id.unwrap_or_else(|| format!("b{}", current.batches)).into();
        let batch = Batch { id: current.unused(&id), calls, finish, mode };
        let (results, verdict) = in_process::run_batch(current.opened.lease.run(), batch).await;
        Ok(shown::batch(&id, &results, &verdict))
    }

    /// The tools serve from now on, in the run that is open, too. A name that is taken stays with its tool.
    fn register(&mut self, contract: &Json) -> Result<Vec<Json>, String> {
        let (catalog, reports) = self.booth.with_contracts(&[contract.to_text().into_bytes()]);
        if reports.is_empty() {
            // Whoever waits for a line must not wait for ever.
            return Err("there is no contract in it".to_owned());
        }
        if let Some(current) = &self.current {
            current.opened.lease.run().serve(catalog.clone());
        }
        self.booth.catalog = catalog;
        Ok(reports.iter().map(shown::registered).collect())
    }
}

impl Current {
    /// A script may give all its batches one id. Within the run they are told apart all the same: calls of different batches
    /// must not share an idempotency key.
    fn unused(&mut self, id: &Arc<str>) -> Arc<str> {
        let own = if self.used.contains(id) { format!("{id}#{}", self.batches).into() } else { Arc::clone(id) };
        self.used.insert(Arc::clone(&own));
        own
    }
}
