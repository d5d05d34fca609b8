//! The one bounded queue into the owner thread. Of the frames of a machine only the newest is kept.
//!
//! A queue of its own rather than a channel of the standard library: that wakes the receiver while it
//! still holds a lock the receiver needs, so that one event in six wakes the owner twice.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use warpscope_probes::Frame;

use super::Event;
use crate::features::Msg;
use crate::shell::hosts::name;

struct Shared {
    capacity: usize,
    queue: Mutex<Queue>,
    /// The owner waits for an event.
    posted: Condvar,
    /// A sender waits for room.
    taken: Condvar,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    /// One of each machine.
    newest: VecDeque<Box<Frame>>,
    owner_gone: bool,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending end.
#[derive(Clone)]
pub(crate) struct MailboxSender(Arc<Shared>);

/// The receiving end.
pub(crate) struct Mailbox(Arc<Shared>);

/// A queue for `capacity` events and one frame.
pub(crate) fn mailbox(capacity: usize) -> (MailboxSender, Mailbox) {
    let shared = Arc::new(Shared {
        capacity,
        queue: Mutex::default(),
        posted: Condvar::new(),
        taken: Condvar::new(),
    });
    (MailboxSender(Arc::clone(&shared)), Mailbox(shared))
}

impl MailboxSender {
    /// Sends an event; waits while the owner is behind. False: the owner is gone.
    pub(crate) fn send(&self, event: Event) -> bool {
        let full = |queue: &mut Queue| !queue.owner_gone && queue.events.len() >= self.0.capacity;
        let room = self.0.taken.wait_while(self.0.queue(), full);
        let mut queue = room.unwrap_or_else(PoisonError::into_inner);
        if queue.owner_gone {
            return false;
        }
        queue.events.push_back(event);
        drop(queue);
        self.0.posted.notify_one();
        true
    }

    /// Sends a message for the update. False: the owner is gone.
    pub(crate) fn tell(&self, msg: impl Into<Msg>) -> bool {
        self.send(Event::Msg(msg.into()))
    }

    /// Leaves a frame; one that nobody has taken yet is replaced. False: the owner is gone.
    pub(crate) fn frame(&self, frame: Frame) -> bool {
        let mut queue = self.0.queue();
        if queue.owner_gone {
            return false;
        }
        let same = |other: &&mut Box<Frame>| name(other) == name(&frame);
        let waiting = match queue.newest.iter_mut().find(same) {
            Some(before) => {
                **before = frame;
                true
            }
            None => {
                queue.newest.push_back(Box::new(frame));
                false
            }
        };
        drop(queue);
        waiting || self.send(Event::FrameReady)
    }
}

impl Mailbox {
    /// The next event, or `None` when `patience` is over.
    pub(crate) fn wait(&self, patience: Duration) -> Option<Event> {
        let empty = |queue: &mut Queue| queue.events.is_empty();
        let woken = self.0.posted.wait_timeout_while(self.0.queue(), patience, empty);
        self.take(woken.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// An event that is already there.
    pub(crate) fn next(&self) -> Option<Event> {
        self.take(self.0.queue())
    }

    fn take(&self, mut queue: MutexGuard<'_, Queue>) -> Option<Event> {
        let was_full = queue.events.len() >= self.0.capacity;
        let event = queue.events.pop_front();
        drop(queue);
        if was_full {
            self.0.taken.notify_all();
        }
        event
    }

    /// The newest frame, if none has taken it yet.
    pub(crate) fn take_frame(&self) -> Option<Box<Frame>> {
        self.0.queue().newest.pop_front()
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        self.0.queue().owner_gone = true;
        self.0.taken.notify_all();
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
    fn a_sender_that_finds_no_room_goes_on_when_there_is_or_the_owner_is_gone() {
        let (post, mailbox) = mailbox(1);
        let sender = std::thread::spawn(move || {
            (post.send(Event::End(1)), post.send(Event::End(2)), post.send(Event::End(3)))
        });
        let patience = Duration::from_secs(60);
        assert!(matches!(mailbox.wait(patience), Some(Event::End(1))));
        assert!(matches!(mailbox.wait(patience), Some(Event::End(2))));
        assert!(matches!(mailbox.wait(patience), Some(Event::End(3))));
        assert_eq!(sender.join().expect("ends"), (true, true, true));
        assert!(mailbox.wait(Duration::ZERO).is_none());
    }

    #[test]
    fn senders_learn_that_the_owner_is_gone() {
        let (post, mailbox) = mailbox(4);
        drop(mailbox);
        assert!(!post.send(Event::FrameReady));
        assert!(!post.frame(Frame::default()));
    }
}
