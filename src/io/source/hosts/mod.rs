//! Other machines, through the system's own ssh: its configuration, agents and jumps, and its judgement of host keys.
//!
//! One ssh process per host. Over there runs `warpscope stream`, or a loop around `nvidia-smi` where warpscope is not at hand; what comes
//! back is the one format of frames. Everything ends with the connection, and nothing listens. All hosts share one thread; another hands
//! frames on, since who takes them may block.

mod backoff;
mod connection;
mod name;
mod nvidia_smi;
pub mod script;
mod watch;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::{mpsc, watch as changing};

pub use self::connection::{PATIENCE, Ssh, Trouble};
pub use self::name::HostName;
use self::watch::Watch;
use super::{Control, FrameSink, Source};

/// Frames that may wait for whoever takes them.
const QUEUE: usize = 16;

/// Machines that are reached through ssh.
pub struct HostsSource {
    hosts: Vec<HostName>,
    ssh: Ssh,
    build: String,
    interval: Duration,
}

impl HostsSource {
    /// Reads each host once per `interval`. `build` names the program as it is kept where it was sent.
    pub fn new(hosts: Vec<HostName>, ssh: Ssh, build: String, interval: Duration) -> Self {
        Self { hosts, ssh, build, interval }
    }
}

impl Source for HostsSource {
    fn start(self: Box<Self>, sink: FrameSink) -> Box<dyn Control> {
        let Self { hosts, ssh, build, interval } = *self;
        let (interval, changes) = changing::channel(interval);
        let (frames, mut inbox) = mpsc::channel(QUEUE);
        let watch = move || {
            // Without a runtime no frame ever comes; a dashboard says so by itself.
            let Ok(runtime) = Builder::new_current_thread().enable_io().enable_time().build()
            else {
                return;
            };
            let ssh = Arc::new(ssh);
            runtime.block_on(async {
                let watches: Vec<_> = hosts
                    .into_iter()
                    .map(|host| {
                        Watch::new(host, Arc::clone(&ssh), &build, changes.clone(), frames.clone())
                    })
                    .map(|watch| tokio::spawn(watch.run()))
                    .collect();
                drop(frames);
                for watch in watches {
                    watch.await.ok();
                }
            });
        };
        spawn("hosts", watch);
        spawn("frames", move || {
            while let Some(frame) = inbox.blocking_recv() {
                if !sink(frame) {
                    break;
                }
            }
        });
        Box::new(HostsControl { interval })
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    // As with the runtime above.
    drop(thread::Builder::new().name(name.to_owned()).stack_size(1 << 20).spawn(work));
}

struct HostsControl {
    interval: changing::Sender<Duration>,
}

impl Control for HostsControl {
    fn set_interval(&mut self, interval: Duration) {
        self.interval.send_replace(interval);
    }
}

#[cfg(test)]
mod tests;
