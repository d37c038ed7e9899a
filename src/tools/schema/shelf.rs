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
    fn with_capacity(capacity: usize) -> Self {
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
        let shelf = Arc::clone(self);
        let shared =
            Shared { proven, compiled: ArcSwapOption::empty(), was_asked: AtomicBool::new(false), hash, shelf };
        let shared = Arc::new(shared);
        lock(&self.known).insert(hash, Arc::downgrade(&shared));
        shared
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
        dropped.into_iter().for_each(|shared| shared.compiled.store(None));
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
