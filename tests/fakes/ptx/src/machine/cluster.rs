//! A cluster: its blocks by turns.

use super::block::Block;
use super::hands::Hands;
use super::shared::Shared;
use crate::fault::{FaultKind, Trouble};

/// How often waits may end without what they wait for when nothing else can go on; hardware ends them after a while, too.
const PATIENCE: u32 = 8;

/// Runs the blocks of a cluster until they have ended, or wait for the launch in front: whether they have ended. A fault comes with the rank of its block.
pub(super) fn run(
    blocks: &mut [Block<'_>],
    hands: &mut Hands<'_>,
) -> Result<bool, (usize, Box<Trouble>)> {
    let (mut patience, mut before) = (PATIENCE, hands.shared.changes);
    loop {
        let mut ran = false;
        for (rank, block) in blocks.iter_mut().enumerate() {
            hands.shared.rank = rank;
            ran |= block.round(hands).map_err(|trouble| (rank, trouble))?;
        }
        if ran {
            continue;
        }
        if blocks.iter().all(Block::has_ended) {
            return Ok(true);
        }
        if blocks.iter().any(Block::awaits_predecessor) {
            return Ok(false);
        }
        patience = if hands.shared.changes == before { patience - 1 } else { PATIENCE };
        before = hands.shared.changes;
        let mut woken = false;
        for block in &mut *blocks {
            woken |= block.hurry();
        }
        if !woken || patience == 0 {
            return Err(stuck(blocks, hands));
        }
    }
}

#[cold]
fn stuck(blocks: &mut [Block<'_>], hands: &Hands<'_>) -> (usize, Box<Trouble>) {
    let several = blocks.len() > 1;
    let mut found: Option<(usize, Box<Trouble>)> = None;
    for (rank, block) in blocks.iter_mut().enumerate() {
        let Some(trouble) = block.stuck(hands) else { continue };
        match &mut found {
            None => found = Some((rank, trouble)),
            Some((_, first)) => first.what += &format!("; in block {rank} {}", trouble.what),
        }
    }
    let nobody = || (0, Trouble::new(FaultKind::Barrier, "nothing goes on"));
    let (rank, mut trouble) = found.unwrap_or_else(nobody);
    if several {
        trouble.what = format!("block {rank} of the cluster: {}", trouble.what);
    }
    (rank, trouble)
}

/// Makes the blocks of a cluster new.
pub(super) fn restart(blocks: &mut [Block<'_>], shared: &mut Shared) {
    shared.clear();
    blocks.iter_mut().for_each(Block::restart);
}
