//! Equal schemas are one, and what was compiled of them is kept while it is asked, under a cap (rule V2).
//!
//! Ten thousand tools are loaded and a hundred called; the same contract is sent by the hosts of a thousand runs. So a schema is
//! found by its text before it is proven again, and a compiled form is dropped when others want its room. Nobody notices but in
//! time: it is made again from the text that was proven. No lock is held while anything is proven, compiled, judged or freed.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwapOption;

use super::{Schema, SchemaOptions, compiled::Compiled, proof, proven::Proven};
use crate::{document::Note, json::Json};

/// Bytes of compiled forms that are kept, as far as they can be told.
const CAPACITY: usize = 32 << 20;

/// The schemas of a booth. Cloning it is cheap: it is the same shelf.
#[derive(Clone)]
pub struct Schemas(Arc<Shelf>);

struct Shelf {
    hasher: ahash::RandomState,
    /// Those in use, by the hash of their text and options.
    known: Mutex<HashMap<u64, Weak<Shared>>>,
    compiled: Mutex<Kept>,
    capacity: usize,
}

/// The compiled forms, the one first that was made or looked at the longest time ago.
#[derive(Default)]
struct Kept {
    queue: VecDeque<(Weak<Shared>, usize)>,
    bytes: usize,
}

/// A proven schema that all who have it share, and its compiled form while there is one.
pub(super) struct Shared {
    pub(super) proven: Proven,
    compiled: ArcSwapOption<Compiled>,
    /// Whether the form was asked since the queue came by.
    was_asked: AtomicBool,
    hash: u64,
    shelf: Arc<Shelf>,
}

impl Default for Schemas {
    fn default() -> Self {
        Self::with_capacity(CAPACITY)
    }
}

impl Schemas {
    /// Schemas whose compiled forms may take that many bytes, as far as they can be told.
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Arc::new(Shelf {
            hasher: ahash::RandomState::new(),
            known: Mutex::default(),
            compiled: Mutex::default(),
            capacity,
        }))
    }

    /// Proves a schema, unless an equal one is in use. The paths of the notes are relative to it.
    ///
    /// # Errors
    /// The reasons to quarantine its tool.
    pub fn compile(&self, source: &Json, options: SchemaOptions) -> Result<(Schema, Vec<Note>), Vec<Note>> {
        let text = proof::bounded(source)?;
        let hash = self.0.hasher.hash_one((&text, options));
        let is_equal = |known: &Arc<Shared>| known.proven.text == text && known.proven.options == options;
        let shared = match self.0.find(hash).filter(is_equal) {
            Some(known) => known,
            None => self.0.take(hash, Proven::of(source, text, options)?),
        };
        let notes = shared.proven.notes.clone();
        Ok((Schema(shared), notes))
    }
}

impl Shelf {
    fn find(&self, hash: u64) -> Option<Arc<Shared>> {
        lock(&self.known).get(&hash).and_then(Weak::upgrade)
    }

    fn take(self: &Arc<Self>, hash: u64, proven: Proven) -> Arc<Shared> {
        let new = Arc::new(Shared {
            proven,
            compiled: ArcSwapOption::empty(),
            was_asked: AtomicBool::new(false),
            hash,
            shelf: Arc::clone(self),
        });
        lock(&self.known).insert(hash, Arc::downgrade(&new));
        new
    }

    /// Takes in a form that was made, and drops as many of the others as the capacity asks for: first those that were not asked
    /// since the last time. The new one stays, whatever its size.
    fn keep(&self, made: &Arc<Shared>) {
        let (mut asked, mut dropped) = (Vec::new(), Vec::new());
        {
            let mut kept = lock(&self.compiled);
            // Each is looked at twice at most: once to find that it was asked, and once more.
            let mut looks = 2 * kept.queue.len();
            let size = made.proven.compiled_bytes();
            kept.bytes += size;
            while kept.bytes > self.capacity && looks > 0 {
                looks -= 1;
                let Some((shared, size)) = kept.queue.pop_front() else { break };
                match shared.upgrade() {
                    Some(one) if one.was_asked.swap(false, Ordering::Relaxed) => {
                        kept.queue.push_back((shared, size));
                        asked.push(one);
                    }
                    one => {
                        kept.bytes -= size;
                        dropped.extend(one);
                    }
                }
            }
            kept.queue.push_back((Arc::downgrade(made), size));
        }
        // Only now, when the lock is free: either may be the last to be let go.
        drop(asked);
        for shared in dropped {
            shared.compiled.store(None);
        }
    }
}

impl Shared {
    /// Asks the compiled form, which is made if there is none.
    pub(super) fn ask<R>(self: &Arc<Self>, question: impl FnOnce(&Compiled) -> R) -> R {
        if let Some(compiled) = &*self.compiled.load() {
            // Written once in a while, so that cores that ask the same form do not take its line from one another.
            if !self.was_asked.load(Ordering::Relaxed) {
                self.was_asked.store(true, Ordering::Relaxed);
            }
            return question(compiled);
        }
        let made = Arc::new(Compiled::of(&self.proven));
        // Several may have made one at the same time: the first is kept.
        if self.compiled.compare_and_swap(&None::<Arc<Compiled>>, Some(Arc::clone(&made))).is_none() {
            self.shelf.keep(self);
        }
        question(&made)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut known = lock(&self.shelf.known);
        // Another one may have taken the place already.
        if known.get(&self.hash).is_some_and(|known| known.strong_count() == 0) {
            known.remove(&self.hash);
        }
    }
}

/// What the locks guard is never left half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Schemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schemas").field("known", &lock(&self.0.known).len()).finish_non_exhaustive()
    }
}

impl PartialEq for Schemas {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Schemas {}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::tools::{LoadOptions, load_document, schema::tests::json};

    fn schema(schemas: &Schemas, text: &str) -> Arc<Shared> {
        schemas.compile(&json(text), SchemaOptions::default()).unwrap().0.0
    }

    fn known(schemas: &Schemas) -> usize {
        lock(&schemas.0.known).len()
    }

    /// Which of them have a compiled form.
    fn compiled(shared: &[Arc<Shared>]) -> Vec<bool> {
        shared.iter().map(|shared| shared.compiled.load().is_some()).collect()
    }

    /// One for each number: valid is only the number itself.
    fn numbers(schemas: &Schemas, count: usize) -> Vec<Arc<Shared>> {
        (0..count).map(|number| schema(schemas, &format!(r#"{{"const":{number},"pattern":"^a"}}"#))).collect()
    }

    fn accepts(shared: &Arc<Shared>, number: usize) -> bool {
        let value = json(&number.to_string());
        shared.ask(|compiled| compiled.is_valid(&value))
    }

    #[test]
    fn v2_equal_schemas_are_one_and_are_freed_with_the_last_who_has_them() {
        let schemas = Schemas::default();
        let one = schema(&schemas, r#"{"type":"object","x":1.0}"#);
        assert!(Arc::ptr_eq(&one, &schema(&schemas, r#"{ "type": "object", "x": 1.0 }"#)));
        // The order of keys is that of the violations, and a number is shown as it was spelled.
        for other in [r#"{"x":1.0,"type":"object"}"#, r#"{"type":"object","x":1}"#] {
            assert!(!Arc::ptr_eq(&one, &schema(&schemas, other)), "{other}");
        }
        let loose =
            schemas.compile(&json(r#"{"type":"object","x":1.0}"#), SchemaOptions { formats: false, normalise: true });
        assert!(!Arc::ptr_eq(&one, &loose.unwrap().0.0));
        assert_eq!(known(&schemas), 1);
        drop(one);
        assert_eq!(known(&schemas), 0);
    }

    #[test]
    fn v2_whoever_sends_an_equal_contract_reads_the_same_remarks() {
        let options = LoadOptions::default();
        let contract = r#"{"name":"t","parameters":{"properties":{"a":{"type":"string","default":1,"pattern":"(?=a)"},
            "b":{"items":[{}]}}}}"#;
        let loaded: Vec<_> = (0..100).map(|_| load_document(contract.as_bytes(), &options)).collect();
        let codes: Vec<_> = loaded[0].reports[0].notes.iter().map(|note| note.code).collect();
        assert_eq!(codes, ["older_dialect", "broken_default", "backtracking_pattern"]);
        assert!(loaded.iter().all(|another| another.reports == loaded[0].reports));
        assert_eq!(known(&options.schemas), 1);
    }

    #[test]
    fn f10_what_was_compiled_to_be_proven_is_not_kept() {
        let schemas = Schemas::default();
        assert_eq!(compiled(&numbers(&schemas, 3)), [false; 3]);
    }

    #[test]
    fn f10_compiled_forms_stay_under_their_cap_and_judge_the_same_when_they_are_made_again() {
        let schemas = Schemas::with_capacity(0);
        let all = numbers(&schemas, 5);
        for _ in 0..3 {
            for (number, shared) in all.iter().enumerate() {
                assert!(accepts(shared, number) && !accepts(shared, number + 1));
                assert_eq!(compiled(&all).iter().filter(|is_there| **is_there).count(), 1, "the last one stays");
            }
        }
    }

    #[test]
    fn f10_a_schema_that_is_asked_stays_while_others_come_and_go() {
        let size = numbers(&Schemas::default(), 1)[0].proven.compiled_bytes();
        let schemas = Schemas::with_capacity(5 * size - 1);
        let all = numbers(&schemas, 100);
        for (number, shared) in all.iter().enumerate() {
            assert!(accepts(&all[0], 0) && accepts(shared, number));
            assert!(accepts(&all[0], 0));
        }
        let kept: Vec<_> =
            compiled(&all).iter().enumerate().filter(|(_, is_there)| **is_there).map(|(at, _)| at).collect();
        assert_eq!((kept.len(), kept[0], kept[3]), (4, 0, 99), "{kept:?}");
    }

    #[test]
    fn f10_schemas_that_are_gone_leave_their_room_to_others() {
        let schemas = Schemas::default();
        for _ in 0..1_000 {
            assert!(accepts(&numbers(&schemas, 1)[0], 0));
        }
        let kept = lock(&schemas.0.compiled);
        let counted: usize = kept.queue.iter().map(|(_, size)| size).sum();
        assert!(kept.bytes <= CAPACITY && kept.bytes == counted, "{} of {counted}", kept.bytes);
        assert!(kept.queue.len() < 1_000, "{}", kept.queue.len());
    }

    #[test]
    fn v2_threads_that_ask_while_forms_are_dropped_are_answered_right() {
        let schemas = Schemas::with_capacity(0);
        let all = numbers(&schemas, 20);
        thread::scope(|scope| {
            for start in 0..4 {
                let all = &all;
                scope.spawn(move || {
                    for turn in 0..50 {
                        let number = (start * 7 + turn * 3) % all.len();
                        assert!(accepts(&all[number], number) && !accepts(&all[number], number + 1));
                    }
                });
            }
        });
        drop(all);
        assert_eq!(known(&schemas), 0);
    }
}
