//! Waiting for a writer's lock. SQLite's own wait cannot be stopped, this one ends with its ticket.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::ticket::Ticket;

/// The longest nap between two tries.
const NAP: Duration = Duration::from_millis(20);

thread_local! {
    // A connection never leaves its thread, and SQLite calls back on the thread that waits.
    static WAIT: RefCell<Option<(Arc<Ticket>, Duration)>> = const { RefCell::new(None) };
    static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Makes every wait on this connection ask [`wait_under`]'s ticket.
pub(crate) fn install(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(try_again))
}

/// From now on, waits on this thread last at most `longest` and end with `ticket`.
pub(crate) fn wait_under(ticket: &Arc<Ticket>, longest: Duration) {
    WAIT.with_borrow_mut(|wait| *wait = Some((Arc::clone(ticket), longest)));
}

fn try_again(tries: i32) -> bool {
    WAIT.with_borrow(|wait| {
        let Some((ticket, longest)) = wait else {
            return false;
        };
        let now = Instant::now();
        if tries == 0 {
            SINCE.set(Some(now));
        }
        let waited = SINCE.get().map_or(Duration::ZERO, |since| now - since);
        let Some(left) = longest.checked_sub(waited).filter(|left| !left.is_zero()) else {
            return false;
        };
        if ticket.is_over() {
            return false;
        }
        let growing = Duration::from_millis(1 + u64::from(tries.unsigned_abs()));
        std::thread::sleep(growing.min(NAP).min(left));
        true
    })
}
