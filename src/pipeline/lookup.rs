//! Stage 1: the tool of that name, exactly (rule P2). A near name is never run.

use std::sync::Arc;

use crate::{
    refusal::{Code, Refusal},
    tools::{Catalog, Entry, Tool},
    wording,
};

/// Names that an error lists.
const MAX_NEAREST: usize = 20;

/// Finds the tool, or refuses.
pub(super) fn find(catalog: &Catalog, name: &str) -> Result<Arc<Tool>, Box<Refusal>> {
    match catalog.get(name) {
        Some(Entry::Served(tool)) => Ok(Arc::clone(tool)),
        Some(Entry::Quarantined(report)) => {
            let mut refusal = Refusal::new(Code::ToolQuarantined, None, wording::tool_quarantined(name));
            let notes: Vec<&str> = report.notes.iter().map(|note| note.message.as_str()).collect();
            refusal.developer = Some(notes.join("; "));
            Err(Box::new(refusal))
        }
        None => {
            let nearest = catalog.nearest(name, MAX_NEAREST);
            let text = wording::tool_not_found(name, &nearest, catalog.served().count());
            Err(Box::new(Refusal::new(Code::ToolNotFound, None, text)))
        }
    }
}
