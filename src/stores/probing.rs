//! Asking a store who it is, once for all who want to know at the same time: each question costs a
//! connection of its own, and a client may ask as often as it likes.

use std::future::Future;
use std::sync::Arc;

use store::{Code, Error, Probe};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

/// The last answer, and whoever is asking.
#[derive(Clone, Default)]
pub(super) struct Probing {
    last: Arc<Mutex<Option<Answered>>>,
}

struct Answered {
    at: Instant,
    said: Result<Probe, Error>,
}

impl Probing {
    /// Asks by `ask`, or takes over the answer to a question that was being asked meanwhile.
    pub(super) async fn ask<F>(&self, deadline: Instant, ask: F) -> Result<Probe, Error>
    where
        F: Future<Output = Result<Probe, Error>>,
    {
        let begun = Instant::now();
        let Ok(mut last) = timeout_at(deadline, self.last.lock()).await else {
            return Err(
                Error::new(Code::Timeout, "the store is still being asked who it is")
                    .with_hint("call again later"),
            );
        };
        if let Some(answered) = last.as_ref().filter(|answered| answered.at >= begun) {
            return answered.said.clone();
        }
        let said = ask.await;
        *last = Some(Answered {
            at: Instant::now(),
            said: said.clone(),
        });
        said
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn those_who_ask_together_cost_one_question_and_later_ones_another() {
        let probing = Probing::default();
        let asked = AtomicUsize::new(0);
        let question = || async {
            asked.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            Err(Error::new(Code::StoreUnreachable, "down"))
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        let together = (0..100).map(|_| probing.ask(deadline, question()));
        let answers = futures::future::join_all(together).await;
        assert!(answers.iter().all(|answer| answer.is_err()));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        let _ = probing.ask(deadline, question()).await;
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }
}
