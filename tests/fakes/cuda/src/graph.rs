//! Graphs: work that was captured, to be done again as often as one likes.

use crate::codes::INVALID_VALUE;
use crate::driver::{Answer, Driver};
use crate::stream::Work;
use crate::table::Handle;

/// Captured work, in order. Every node depends on the one before: there is one stream behind it.
pub(crate) struct Graph {
    pub(crate) work: Vec<Work>,
}

/// A graph made ready in a context.
pub(crate) struct Executable {
    work: Vec<Work>,
    board: usize,
}

impl Graph {
    /// How many nodes it has. Events are recorded and waited for without one, except as the programming guide says external.
    pub(crate) fn nodes(&self) -> usize {
        self.work.iter().filter(|work| work.is_node()).count()
    }
}

impl Driver {
    /// Makes a graph ready.
    pub(crate) fn instantiate(&mut self, graph: Handle) -> Result<Handle, u32> {
        let (_, board) = self.current()?;
        let work = self.graphs.get(graph)?.work.clone();
        Ok(self.executables.insert(Executable { work, board }))
    }

    /// Does a graph's work in a stream.
    ///
    /// # Safety
    ///
    /// Host memory that was named while it was captured must still be there.
    pub(crate) unsafe fn launch_graph(&mut self, executable: Handle, stream: Handle) -> Answer {
        self.check_stream(stream)?;
        let (_, board) = self.current()?;
        let ready = self.executables.get(executable)?;
        if ready.board != board {
            return Err(INVALID_VALUE);
        }
        for work in ready.work.clone() {
            // SAFETY: passed on from the caller. While the stream is captured the work is collected again.
            unsafe { self.submit(stream, work)? };
            if self.boards[board].broken.is_some() {
                break;
            }
        }
        Ok(())
    }
}

impl Work {
    fn is_node(&self) -> bool {
        !matches!(self, Self::Record { .. } | Self::Wait)
    }
}
