//! The signals that end a command, which still says what it has.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use tokio::signal::unix::{SignalKind, signal};

/// The signals that end a command, so that what was measured is kept and no program is left behind.
pub(crate) struct Signals(Arc<AtomicI32>);

impl Signals {
    pub(crate) fn watch() -> io::Result<Self> {
        let came = Arc::new(AtomicI32::new(0));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
        if io::stdout().is_terminal() {
            // Elsewhere `nohup` may have it ignored, and a handler would undo that.
            kinds.push(SignalKind::hangup());
        }
        let streams: Vec<_> = {
            let _inside = runtime.enter();
            kinds.into_iter().map(|kind| signal(kind).map(|stream| (kind, stream))).collect()
        };
        for stream in streams {
            let ((kind, mut stream), came) = (stream?, Arc::clone(&came));
            runtime.spawn(async move {
                while stream.recv().await.is_some() {
                    came.store(kind.as_raw_value(), Ordering::Relaxed);
                }
            });
        }
        let forever = std::future::pending::<()>();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(forever))?;
        Ok(Self(came))
    }

    pub(crate) fn came(&self) -> Option<u8> {
        u8::try_from(self.0.load(Ordering::Relaxed)).ok().filter(|signal| *signal > 0)
    }
}
