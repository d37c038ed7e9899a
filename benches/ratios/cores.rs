//! Where a server runs. Left to itself the system moves a client and its server together and apart, and to wake another core takes
//! a virtual machine many times as long as a call: the same case has two figures then, and the ratio of two cases any.

use std::fs;

use anyhow::{Context as _, Result};
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// Whether a server has a core of its own.
#[derive(Clone, Copy)]
pub(crate) enum Core {
    /// It shares that of the driver: what is measured is the work of both, and no wake-up of a core.
    Shared,
    /// It has another one, if there is one: both can work at once.
    Own,
}

/// The driver, held on one core. It may run anywhere again when this is dropped.
pub(crate) struct Held {
    all: CpuSet,
    cores: Vec<usize>,
}

impl Held {
    /// Holds the driver. What it starts is held with it.
    pub(crate) fn on_one_core() -> Result<Self> {
        let all = sched_getaffinity(None)?;
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).collect();
        let held = Self { all, cores };
        sched_setaffinity(None, &held.set(Core::Shared)?)?;
        Ok(held)
    }

    /// Puts a process, all its threads, on a core.
    pub(crate) fn place(&self, process: u32, core: Core) -> Result<()> {
        let set = self.set(core)?;
        for thread in fs::read_dir(format!("/proc/{process}/task"))? {
            let thread = thread?.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
            sched_setaffinity(thread, &set)?;
        }
        Ok(())
    }

    fn set(&self, core: Core) -> Result<CpuSet> {
        let core = match core {
            Core::Shared => self.cores.first(),
            Core::Own => self.cores.last(),
        };
        let mut set = CpuSet::new();
        set.set(*core.context("a process runs somewhere")?);
        Ok(set)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // It was allowed before.
        let _allowed = sched_setaffinity(None, &self.all);
    }
}
