//! The one bounded channel into the owner thread. Of frames only the newest is kept.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use warpscope_probes::Frame;

use super::Event;

/// The sending end; clones share one slot for the newest frame.
#[derive(Clone)]
pub(super) struct Post {
    events: SyncSender<Event>,
    newest: Arc<Mutex<Option<Box<Frame>>>>,
}

/// The receiving end.
pub(super) struct Mailbox {
    events: Receiver<Event>,
    newest: Arc<Mutex<Option<Box<Frame>>>>,
}

/// A channel for `capacity` events and one frame.
pub(super) fn mailbox(capacity: usize) -> (Post, Mailbox) {
    let (sender, events) = sync_channel(capacity);
    let newest = Arc::new(Mutex::new(None));
    (Post { events: sender, newest: Arc::clone(&newest) }, Mailbox { events, newest })
}

impl Post {
    /// Sends an event; waits while the owner is behind. False: the owner is gone.
    pub(super) fn send(&self, event: Event) -> bool {
        self.events.send(event).is_ok()
    }

    /// Leaves a frame; one that nobody has taken yet is replaced. False: the owner is gone.
    pub(super) fn frame(&self, frame: Frame) -> bool {
        let mut slot = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = slot.replace(Box::new(frame)).is_some();
        drop(slot);
        waiting || self.send(Event::FrameReady)
    }
}

impl Mailbox {
    /// The next event, or `None` when `patience` is over.
    pub(super) fn wait(&self, patience: Duration) -> Result<Option<Event>, ()> {
        match self.events.recv_timeout(patience) {
            Ok(event) => Ok(Some(event)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(()),
        }
    }

    /// An event that is already there.
    pub(super) fn next(&self) -> Option<Event> {
        self.events.try_recv().ok()
    }

    /// The newest frame, if none has taken it yet.
    pub(super) fn take_frame(&self) -> Option<Box<Frame>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_frames_the_newest_is_seen_once() {
        let (post, mailbox) = mailbox(4);
        for seq in 1..=100 {
            assert!(post.frame(Frame { seq, ..Frame::default() }));
        }
        assert!(matches!(mailbox.next(), Some(Event::FrameReady)));
        assert_eq!(mailbox.take_frame().map(|frame| frame.seq), Some(100));
        assert!(mailbox.next().is_none() && mailbox.take_frame().is_none());
    }

    #[test]
    fn senders_learn_that_the_owner_is_gone() {
        let (post, mailbox) = mailbox(4);
        drop(mailbox);
        assert!(!post.send(Event::FrameReady));
        assert!(!post.frame(Frame::default()));
    }
}
