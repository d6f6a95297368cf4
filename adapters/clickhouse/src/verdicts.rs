//! Texts that were judged before: their columns, kept for as long as there is room.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use crate::wrap::Described;

/// The most verdicts that are kept.
const MOST: usize = 256;

/// What the server said of a text: it may run, and answers these columns.
pub(crate) type Verdict = Arc<[Described]>;

/// Verdicts by text and parameters. Only texts that may run are kept; whatever runs is checked
/// against its verdict by the header of its answer.
#[derive(Default)]
pub(crate) struct Verdicts {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    verdicts: BTreeMap<String, Verdict>,
    order: VecDeque<String>,
}

impl Verdicts {
    pub(crate) fn get(&self, key: &str) -> Option<Verdict> {
        self.kept.lock().ok()?.verdicts.get(key).cloned()
    }

    pub(crate) fn keep(&self, key: String, verdict: Verdict) {
        let Ok(mut kept) = self.kept.lock() else {
            return;
        };
        if kept.verdicts.insert(key.clone(), verdict).is_none() {
            kept.order.push_back(key);
        }
        if kept.order.len() > MOST
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.verdicts.remove(&oldest);
        }
    }

    pub(crate) fn forget(&self, key: &str) {
        if let Ok(mut kept) = self.kept.lock() {
            kept.verdicts.remove(key);
            kept.order.retain(|known| known != key);
        }
    }

    pub(crate) fn clear(&self) {
        if let Ok(mut kept) = self.kept.lock() {
            *kept = Kept::default();
        }
    }
}
