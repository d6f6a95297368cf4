//! Texts that were judged before: their columns, kept for as long as there is room.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use store::Column;

use crate::pool::lock;
use crate::wall::Wall;

/// The most verdicts that are kept.
const MOST: usize = 256;

/// Verdicts by text, and by what it was judged before: a verdict counts for no other wall. Only texts
/// that may run are kept. What a text does to a graph depends on nothing but the text and the server's
/// procedures, whose names the verdict is about.
#[derive(Default)]
pub(crate) struct Verdicts {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    columns: BTreeMap<(Wall, String), Arc<[Column]>>,
    order: VecDeque<(Wall, String)>,
}

impl Verdicts {
    pub(crate) fn get(&self, wall: Wall, text: &str) -> Option<Arc<[Column]>> {
        let key = (wall, text.to_owned());
        lock(&self.kept).columns.get(&key).cloned()
    }

    pub(crate) fn keep(&self, wall: Wall, text: &str, columns: Arc<[Column]>) {
        let key = (wall, text.to_owned());
        let mut kept = lock(&self.kept);
        if kept.columns.insert(key.clone(), columns).is_none() {
            kept.order.push_back(key);
        }
        if kept.order.len() > MOST
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.columns.remove(&oldest);
        }
    }

    pub(crate) fn clear(&self) {
        *lock(&self.kept) = Kept::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_counts_for_its_wall_alone_and_the_oldest_goes_first() {
        let verdicts = Verdicts::default();
        for number in 0..=MOST {
            verdicts.keep(Wall::Server, &number.to_string(), Arc::default());
        }
        assert!(verdicts.get(Wall::Server, "0").is_none());
        assert!(verdicts.get(Wall::Server, "1").is_some());
        assert!(verdicts.get(Wall::Account, "1").is_none());
        verdicts.clear();
        assert!(verdicts.get(Wall::Server, "1").is_none());
    }
}
