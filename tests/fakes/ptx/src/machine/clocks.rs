//! Who knows what of whom: vector clocks of the warps of a cluster, and of the engines that work beside them.
//!
//! Agents are the warps of all blocks, then the engines: what multiplies for each warpgroup and what stores for each block read shared memory, and
//! the copies of each `mbarrier` write it. A row says up to when its warp is in step with every agent; a second half of it says up to when what an
//! agent wrote is also seen by the asynchronous proxy, which takes a `fence.proxy.async`.

use std::ops::Range;

/// A row: what is known at some moment.
pub(crate) type Known = Vec<u32>;

/// `mbarrier`s of a block that are told apart.
pub(crate) const BARRIERS: usize = 64;

/// The agents of a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agents {
    pub(crate) blocks: usize,
    /// Warps of a block.
    pub(crate) warps: usize,
    /// Whether there are engines.
    pub(crate) engines: bool,
}

impl Agents {
    /// Warps of all blocks.
    fn all_warps(self) -> usize {
        self.blocks * self.warps
    }

    /// Warpgroups of a block that multiply.
    pub(crate) fn groups(self) -> usize {
        if self.engines { self.warps.div_ceil(4) } else { 0 }
    }

    /// Engines of a block that read shared memory: of its warpgroups, and the one that stores.
    #[inline]
    pub(crate) fn readers(self) -> usize {
        if self.engines { self.groups() + 1 } else { 0 }
    }

    /// The warps of a block.
    pub(crate) fn warps_of(self, rank: usize) -> Range<usize> {
        rank * self.warps..(rank + 1) * self.warps
    }

    /// The engine of a block that reads: of a warpgroup, or behind all of them the one that stores.
    pub(crate) fn reader(self, rank: usize, number: usize) -> usize {
        self.all_warps() + rank * self.readers() + number
    }

    /// The copies of a block's `mbarrier`.
    pub(crate) fn copies(self, rank: usize, number: usize) -> usize {
        self.all_warps() + self.blocks * self.readers() + rank * BARRIERS + number
    }

    /// Whether it is an engine's number.
    pub(crate) fn is_engine(self, agent: usize) -> bool {
        agent >= self.all_warps()
    }

    pub(crate) fn count(self) -> usize {
        let copies = if self.engines { self.blocks * BARRIERS } else { 0 };
        self.all_warps() + self.blocks * self.readers() + copies
    }
}

/// What a warp knows now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    /// Up to when it is in step with every agent.
    pub(crate) known: &'a [u32],
    /// The least of that among those who read.
    pub(crate) least: u32,
    pub(crate) now: u32,
}

/// Clocks of a cluster.
#[derive(Debug)]
pub(crate) struct Clocks {
    pub(crate) agents: Agents,
    /// How many agents there are, and how much a row holds.
    count: usize,
    width: usize,
    now: u32,
    rows: Vec<u32>,
    /// The least of what a warp knows of those who read.
    least: Vec<u32>,
    /// When a thread last executed a proxy fence that its whole warp did not.
    fenced: Vec<u32>,
}

impl Clocks {
    pub(crate) fn new(agents: Agents) -> Self {
        let count = agents.count();
        let width = count * if agents.engines { 2 } else { 1 };
        let warps = agents.all_warps();
        let threads = if agents.engines { 32 * warps } else { 0 };
        Self {
            agents,
            count,
            width,
            now: 1,
            rows: vec![1; width * warps],
            least: vec![1; warps],
            fenced: vec![0; threads],
        }
    }

    /// As a new cluster finds them.
    pub(crate) fn clear(&mut self) {
        self.now = 1;
        self.rows.fill(1);
        self.least.fill(1);
        self.fenced.fill(0);
    }

    #[inline]
    pub(crate) fn now(&self) -> u32 {
        self.now
    }

    /// Time goes on; gives the new time.
    pub(crate) fn tick(&mut self) -> u32 {
        self.now += 1;
        self.now
    }

    /// Up to when a warp is in step with every agent.
    #[inline]
    pub(crate) fn row(&self, warp: usize) -> &[u32] {
        &self.rows[warp * self.width..][..self.count]
    }

    fn whole(&mut self, warp: usize) -> &mut [u32] {
        &mut self.rows[warp * self.width..][..self.width]
    }

    /// What a warp that accesses memory must know.
    #[inline]
    pub(crate) fn view(&self, warp: usize) -> View<'_> {
        View { known: self.row(warp), least: self.least[warp], now: self.now }
    }

    /// Whether the asynchronous proxy, told to work by a warp, sees what an agent wrote at a time; `thread` is who wrote it.
    pub(crate) fn proxy_sees(&self, warp: usize, agent: usize, thread: u16, time: u32) -> bool {
        let seen = &self.rows[warp * self.width + self.count..];
        time < seen[agent]
            || self.fenced.get(usize::from(thread)).is_some_and(|fenced| time < *fenced)
    }

    /// The lanes of a warp are in step with each other.
    pub(crate) fn sync_warp(&mut self, warp: usize) {
        let now = self.tick();
        self.whole(warp)[warp] = now;
        self.note_least(warp);
    }

    /// What a warp knows, and that everything it did is over, for others to take over.
    pub(crate) fn release(&mut self, warp: usize) -> Known {
        let now = self.tick();
        let mut known = self.whole(warp).to_vec();
        known[warp] = now;
        known
    }

    /// A warp takes over what others knew.
    pub(crate) fn acquire(&mut self, warp: usize, known: &[u32]) {
        merge(self.whole(warp), known);
        self.note_least(warp);
    }

    /// A warp knows that an agent is done up to now, also what it did through the asynchronous proxy.
    pub(crate) fn learn(&mut self, warp: usize, agent: usize) {
        let (now, count) = (self.tick(), self.count);
        let row = self.whole(warp);
        (row[agent], row[count + agent]) = (now, now);
        self.note_least(warp);
    }

    /// What a row must hold for it to be known that an agent is done up to a time.
    pub(crate) fn note(&self, known: &mut [u32], agent: usize, time: u32) {
        let both = [agent, self.count + agent];
        both.into_iter().for_each(|at| known[at] = known[at].max(time));
    }

    /// A row that says nothing.
    pub(crate) fn nothing(&self) -> Known {
        vec![0; self.width]
    }

    /// Warps leave a barrier knowing what all knew who arrived.
    pub(crate) fn leave(&mut self, arrived: &[Known], waiting: impl Iterator<Item = usize>) {
        let now = self.tick();
        for warp in waiting {
            for known in arrived {
                merge(self.whole(warp), known);
            }
            self.whole(warp)[warp] = now;
            self.note_least(warp);
        }
    }

    /// All warps of a block have met: nothing they did before can race.
    pub(crate) fn meet(&mut self, rank: usize) {
        let now = self.tick();
        let warps = self.agents.warps_of(rank);
        let mut all = self.nothing();
        if all.len() > warps.len() {
            for warp in warps.clone() {
                merge(&mut all, &self.rows[warp * self.width..][..self.width]);
            }
        }
        all[warps.clone()].fill(now);
        for warp in warps {
            self.whole(warp).copy_from_slice(&all);
            self.note_least(warp);
        }
    }

    /// A warp makes what it knows to have been written visible to the asynchronous proxy; some of its lanes only their own writes.
    pub(crate) fn fence_proxy(
        &mut self,
        warp: usize,
        lanes: impl Iterator<Item = usize>,
        whole: bool,
    ) {
        let (now, count) = (self.tick(), self.count);
        for lane in lanes {
            if let Some(fenced) = self.fenced.get_mut(32 * warp + lane) {
                *fenced = now;
            }
        }
        if !self.agents.engines {
            return;
        }
        let row = self.whole(warp);
        let own = row[count + warp];
        let (generic, proxy) = row.split_at_mut(count);
        merge(proxy, generic);
        proxy[warp] = if whole { now } else { own };
    }

    fn note_least(&mut self, warp: usize) {
        let readers = self.agents.all_warps() + self.agents.blocks * self.agents.readers();
        self.least[warp] = self.row(warp)[..readers].iter().copied().min().unwrap_or_default();
    }
}

fn merge(mine: &mut [u32], theirs: &[u32]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine = (*mine).max(*theirs);
    }
}
