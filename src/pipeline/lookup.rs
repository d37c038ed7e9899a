//! Stage 1: the tool of that name, exactly (rule P2). A near name is never run; in profile `safe` a name may be repaired.

use std::sync::Arc;

use super::Scope;
use crate::{
    refusal::{Code, Refusal, Repair},
    tools::{Catalog, Entry, Resolved, Tool},
    wording,
};

/// Names that an error lists.
const MAX_NEAREST: usize = 20;

/// Finds the tool, or refuses.
pub(super) fn find(scope: &Scope, name: &str, repairs: &mut Vec<Repair>) -> Result<Arc<Tool>, Box<Refusal>> {
    match scope.catalog.get(name) {
        Some(Entry::Served(tool)) => Ok(Arc::clone(tool)),
        Some(Entry::Quarantined(report)) => {
            let mut refusal = Refusal::new(Code::ToolQuarantined, None, wording::tool_quarantined(name));
            let notes: Vec<&str> = report.notes.iter().map(|note| note.message.as_str()).collect();
            refusal.developer = Some(notes.join("; "));
            Err(Box::new(refusal))
        }
        None => {
            let Resolved { tool, repairs: made } =
                scope.catalog.resolve(name, scope.profile).ok_or_else(|| not_found(&scope.catalog, name))?;
            repairs.extend(made);
            Ok(tool)
        }
    }
}

fn not_found(catalog: &Catalog, name: &str) -> Refusal {
    let nearest = catalog.nearest(name, MAX_NEAREST);
    let text = wording::tool_not_found(name, &nearest, catalog.served().count());
    Refusal::new(Code::ToolNotFound, None, text)
}
