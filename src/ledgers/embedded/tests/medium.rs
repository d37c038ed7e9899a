//! A disk that keeps apart what was written since the last sync, as the system does: it may fail, and lose its power.

use std::{
    io,
    ops::{Bound, Range},
    sync::{Arc, Mutex, MutexGuard},
};

use redb::{BackendError, Database, StorageBackend};

use crate::ledgers::embedded::disk::{Disk, OpenError, builder, rewrite};

/// The smallest part that is written whole.
const SECTOR: usize = 512;

/// Numbers that look random, the same for the same seed.
#[derive(Debug, Clone)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((number ^ (number >> 31)) % u64::try_from(sides).unwrap()).unwrap()
    }
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    None,
    /// Nothing can be written any more.
    Full,
    /// Nothing reaches the disk, and what was to reach it is taken for written all the same.
    Sync,
    /// The power is gone.
    Cut,
}

#[derive(Debug)]
struct State {
    /// What survives.
    durable: Vec<u8>,
    /// What is read.
    current: Vec<u8>,
    /// What was changed since the last sync.
    pending: Vec<Change>,
    trouble: Trouble,
    /// Operations that are done before the power is cut.
    left: usize,
    /// Syncs that were asked for, and which of them fail on the way.
    syncs: usize,
    failing: Range<usize>,
}

#[derive(Debug)]
enum Change {
    Length(usize),
    Bytes(usize, Vec<u8>),
}

/// The disk.
#[derive(Debug, Clone)]
pub(super) struct Medium(Arc<Mutex<State>>);

impl Medium {
    /// One with this on it.
    pub(super) fn of(durable: Vec<u8>) -> Self {
        let current = durable.clone();
        let state = State {
            durable,
            current,
            pending: Vec::new(),
            trouble: Trouble::None,
            left: usize::MAX,
            syncs: 0,
            failing: 0..0,
        };
        Self(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(super) fn trouble(&self, trouble: Trouble) {
        self.state().trouble = trouble;
    }

    pub(super) fn syncs(&self) -> usize {
        self.state().syncs
    }

    /// Cuts the power after so many operations.
    pub(super) fn cut_after(&self, operations: usize) {
        self.state().left = operations;
    }

    /// Some syncs fail, and the later ones do not.
    pub(super) fn fail_syncs(&self, failing: Range<usize>) {
        self.state().failing = failing;
    }

    pub(super) fn is_cut(&self) -> bool {
        self.state().trouble == Trouble::Cut
    }

    /// Whether some of what was written, and not all of it, is in what survived.
    pub(super) fn is_torn(&self, image: &[u8]) -> bool {
        let state = self.state();
        image != state.durable && image != state.current
    }

    /// What is on it when the power comes back: what was synced, and of the rest whatever had got there, sector by sector.
    pub(super) fn survivors(&self, dice: &mut Dice) -> Vec<u8> {
        let state = self.state();
        let mut image = state.durable.clone();
        // Of some cuts nothing survives, of some all, of most some.
        let chance = [0, 1, 2, 3, 4][dice.roll(5)];
        for change in &state.pending {
            match change {
                Change::Length(length) if dice.roll(4) < chance => image.resize(*length, 0),
                Change::Length(_) => {}
                Change::Bytes(at, bytes) => {
                    for (number, sector) in bytes.chunks(SECTOR).enumerate() {
                        if dice.roll(4) < chance {
                            put(&mut image, at + number * SECTOR, sector);
                        }
                    }
                }
            }
        }
        image
    }
}

fn put(image: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if image.len() < at + bytes.len() {
        image.resize(at + bytes.len(), 0);
    }
    image[at..at + bytes.len()].copy_from_slice(bytes);
}

impl State {
    /// One more operation.
    fn step(&mut self) -> io::Result<()> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.trouble = Trouble::Cut;
        }
        if self.trouble == Trouble::Cut { Err(io::Error::other("the power is gone")) } else { Ok(()) }
    }

    fn change(&mut self, change: Change) -> io::Result<()> {
        self.step()?;
        if self.trouble == Trouble::Full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        match &change {
            Change::Length(length) => self.current.resize(*length, 0),
            Change::Bytes(at, bytes) => put(&mut self.current, *at, bytes),
        }
        self.pending.push(change);
        Ok(())
    }
}

impl StorageBackend for Medium {
    fn len(&self) -> io::Result<u64> {
        Ok(u64::try_from(self.state().current.len()).unwrap())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        if state.trouble == Trouble::Cut {
            return Err(io::Error::other("the power is gone"));
        }
        let at = usize::try_from(offset).unwrap();
        let found = state.current.get(at..at + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(found);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.state().change(Change::Length(usize::try_from(length).unwrap()))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        state.step()?;
        state.syncs += 1;
        let syncs = state.syncs;
        if state.trouble != Trouble::None || state.failing.contains(&syncs) {
            state.pending.clear();
            return Err(io::Error::from_raw_os_error(5));
        }
        let pending = std::mem::take(&mut state.pending);
        for change in pending {
            match change {
                Change::Length(length) => state.durable.resize(length, 0),
                Change::Bytes(at, bytes) => put(&mut state.durable, at, &bytes),
            }
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.state().change(Change::Bytes(usize::try_from(offset).unwrap(), data.to_vec()))
    }

    fn try_lock_range(&self, _start: Bound<u64>, _end: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }
}

impl Disk for Medium {
    fn open(&self) -> Result<Database, OpenError> {
        builder().create_with_backend(self.clone()).map_err(|error| self.damaged(error.to_string()))
    }

    fn renew(&self) -> io::Result<()> {
        rewrite(self)
    }

    fn damaged(&self, problem: String) -> OpenError {
        OpenError::Damaged { path: "medium".into(), problem }
    }
}
