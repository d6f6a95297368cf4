//! Texts that were judged before: their columns, kept for as long as there is room.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use store::Column;

use crate::pool::lock;

/// The most verdicts that are kept.
const MOST: usize = 256;

/// Verdicts by text. Only texts that may run are kept. What a text does to a graph depends on nothing
/// but the text and the server's procedures, whose names the verdict is about.
#[derive(Default)]
pub(crate) struct Verdicts {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    columns: BTreeMap<String, Arc<[Column]>>,
    order: VecDeque<String>,
}

impl Verdicts {
    pub(crate) fn get(&self, text: &str) -> Option<Arc<[Column]>> {
        lock(&self.kept).columns.get(text).cloned()
    }

    pub(crate) fn keep(&self, text: &str, columns: Arc<[Column]>) {
        let mut kept = lock(&self.kept);
        if kept.columns.insert(text.to_owned(), columns).is_none() {
            kept.order.push_back(text.to_owned());
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
