//! Work that is spread over the cores of the machine: nobody is answered before all contracts are read.

use std::{
    num::NonZero,
    panic::resume_unwind,
    sync::{Mutex, PoisonError},
    thread,
};

use crate::tools::schema::STACK_BYTES;

/// So few items are done sooner than a thread starts.
const FEW: usize = 16;

/// The results of `work` on each item, in the order of the items.
pub(super) fn on_all_cores<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let shares = items.len() / FEW;
    // The cores are counted for many items only: that takes longer than a few of them.
    let helpers = if shares < 2 { 0 } else { thread::available_parallelism().map_or(1, NonZero::get).min(shares) - 1 };
    if helpers == 0 {
        return items.into_iter().map(work).collect();
    }
    let queue = Mutex::new(items.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let share = || {
        let mut done = Vec::new();
        while let Some((position, item)) = next() {
            done.push((position, work(item)));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let start = || thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, share);
        // A thread that the system refuses leaves its share to the others.
        let helpers: Vec<_> = (0..helpers).filter_map(|_| start().ok()).collect();
        let mut done = share();
        for helper in helpers {
            done.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(position, _)| *position);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn results_stand_in_the_order_of_their_items_whoever_made_them() {
        let is_alone = thread::available_parallelism().map_or(1, NonZero::get) == 1;
        let channels: [_; 2] = std::array::from_fn(|_| {
            let (tell, told) = channel();
            (Mutex::new(tell), Mutex::new(told))
        });
        // Whoever has the first item is held until another one is far ahead, and then goes on among the last ones.
        let results = on_all_cores((0..1_000).collect(), |item: usize| {
            match item {
                0 | 501 if !is_alone => channels[item / 501].1.lock().unwrap().recv().unwrap(),
                500 | 502 => channels[item / 502].0.lock().unwrap().send(()).unwrap(),
                _ => {}
            }
            item * 2
        });
        assert_eq!(results, (0..1_000).map(|item| item * 2).collect::<Vec<_>>());
    }

    #[test]
    #[should_panic(expected = "item 40")]
    fn a_panic_is_passed_on() {
        on_all_cores((0..100).collect(), |item: usize| assert!(item != 40, "item {item}"));
    }
}
