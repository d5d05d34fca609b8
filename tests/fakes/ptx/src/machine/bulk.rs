//! Bulk copies: `cp.async.bulk` of bytes, and of boxes of a tensor.

use super::access::{check_aligned, stray};
use super::engine::CHUNK;
use super::hands::Hands;
use super::registers::lanes_of;
use super::warp::Warp;
use crate::decode::{generic_base, space_of_address};
use crate::fault::{Done, FaultKind, Trouble};
use crate::parse::syntax::Space;
use crate::program::{Address, BulkCopy, BulkPart};
use crate::tensor::{TENSOR_MAP_ALIGNMENT, TENSOR_MAP_BYTES, Tensor, round_to_tf32, swizzled};

/// Alignment in shared memory of a box.
const BOX_ALIGNMENT: u64 = 128;

/// Where a bulk copy's bytes lie in device memory: a part of its bytes each.
struct Piece {
    address: u64,
    range: std::ops::Range<usize>,
}

/// A bulk copy of a lane.
struct Plan {
    bytes: usize,
    swizzle: u32,
    tf32: bool,
    pieces: Vec<Piece>,
}

impl Warp<'_> {
    pub(super) fn bulk_copy(
        &mut self,
        copy: &BulkCopy,
        active: u32,
        line: u32,
        hands: &mut Hands<'_>,
    ) -> Done {
        for lane in lanes_of(active) {
            let plan = self.plan(&copy.part, lane, hands)?;
            let shared = self.registers.addresses(&copy.shared)[lane];
            let alignment =
                if matches!(copy.part, BulkPart::Tile(..)) { BOX_ALIGNMENT } else { 16 };
            if !shared.is_multiple_of(alignment) {
                let what = format!(
                    "a bulk copy at byte {shared} of shared memory, not at a multiple of {alignment}"
                );
                return Err(Trouble::at(FaultKind::Misaligned, lane, what));
            }
            match copy.barrier {
                Some(barrier) => {
                    let barrier = self.registers.addresses(&barrier)[lane];
                    let blocks = copy.blocks.map(|blocks| self.registers.word(blocks)[lane]);
                    self.bulk_load(&plan, (shared, barrier), blocks, (lane, line), hands)?;
                }
                None => self.bulk_store(&plan, shared, (lane, line), hands)?,
            }
        }
        Ok(())
    }

    /// Nothing moves, but what is asked for must be there.
    pub(super) fn bulk_prefetch(&self, part: &BulkPart, active: u32, hands: &Hands<'_>) -> Done {
        for lane in lanes_of(active) {
            for Piece { address, range } in self.plan(part, lane, hands)?.pieces {
                let (memory, size) = (&*hands.memory, range.len());
                if memory.bytes(address, size).is_none() {
                    return Err(stray(memory, address, size, lane, "fetches"));
                }
            }
        }
        Ok(())
    }

    fn plan(&self, part: &BulkPart, lane: usize, hands: &Hands<'_>) -> Done<Plan> {
        match part {
            BulkPart::Bytes(address, bytes) => {
                let address = self.registers.addresses(address)[lane];
                let bytes = self.registers.word(*bytes)[lane] as usize;
                check_aligned(address, 16, lane)?;
                check_aligned(bytes as u64, 16, lane)?;
                let pieces = vec![Piece { address, range: 0..bytes }];
                Ok(Plan { bytes, swizzle: 0, tf32: false, pieces })
            }
            BulkPart::Tile(map, at) => {
                let tensor = self.tensor(map, lane, hands)?;
                let at = at.map(|register| self.registers.word(register)[lane].cast_signed());
                let piece = |row: u32| {
                    let (address, range) = tensor.inside(at, row)?;
                    let start = row as usize * tensor.box_row();
                    Some(Piece { address, range: start + range.start..start + range.end })
                };
                let pieces = (0..tensor.tile[1]).filter_map(piece).collect();
                let (bytes, swizzle, tf32) = (tensor.box_bytes(), tensor.swizzle, tensor.tf32);
                Ok(Plan { bytes, swizzle, tf32, pieces })
            }
        }
    }

    /// The tensor map at an address, which lies among the parameters or in device memory.
    fn tensor(&self, map: &Address, lane: usize, hands: &Hands<'_>) -> Done<Tensor> {
        let address = self.registers.addresses(map)[lane];
        check_aligned(address, TENSOR_MAP_ALIGNMENT, lane)?;
        let bytes = match space_of_address(address) {
            Space::Param => {
                let at = (address - generic_base(Space::Param)) as usize;
                hands.params.get(at..).and_then(|rest| rest.get(..TENSOR_MAP_BYTES))
            }
            Space::Global => hands.memory.bytes(address, TENSOR_MAP_BYTES),
            _ => None,
        };
        let none = || {
            let what = format!("there is no tensor map at 0x{address:x}");
            Trouble::at(FaultKind::Bounds, lane, what)
        };
        bytes.and_then(Tensor::decode).ok_or_else(none)
    }

    fn bulk_load(
        &mut self,
        plan: &Plan,
        (to, barrier): (u64, u64),
        blocks: Option<u32>,
        (lane, line): (usize, u32),
        hands: &mut Hands<'_>,
    ) -> Done {
        let mut bytes = vec![0; plan.bytes];
        for piece in &plan.pieces {
            let size = piece.range.len();
            let memory = &*hands.memory;
            let source = memory.bytes(piece.address, size);
            let source =
                source.ok_or_else(|| stray(memory, piece.address, size, lane, "copies"))?;
            bytes[piece.range.clone()].copy_from_slice(source);
        }
        if plan.tf32 {
            round_to_tf32(&mut bytes);
        }
        let (who, shared) = (self.who(lane, line, false), &mut *hands.shared);
        let ((rank, at), (_, barrier_at)) = (shared.split(to), shared.split(barrier));
        let bytes = permuted(&bytes, at, plan.swizzle);
        let Some(blocks) = blocks else {
            return shared.deliver((rank, at), &bytes, barrier, who);
        };
        let count = shared.windows.len();
        if blocks == 0 || blocks >> count != 0 {
            let what = format!("a copy to blocks {blocks:#b} of a cluster of {count}");
            return Err(Trouble::at(FaultKind::Bounds, lane, what));
        }
        for rank in lanes_of(blocks) {
            let barrier = shared.mapped(barrier_at, rank as u64);
            shared.deliver((rank, at), &bytes, barrier, who)?;
        }
        Ok(())
    }

    fn bulk_store(
        &mut self,
        plan: &Plan,
        from: u64,
        (lane, line): (usize, u32),
        hands: &mut Hands<'_>,
    ) -> Done {
        let who = self.who(lane, line, false);
        let group = self.stores[lane].open;
        let chunks = (0..plan.bytes).step_by(CHUNK).map(|at| (from as usize + at) as u32).collect();
        let engine = (hands.shared.clocks.agents.groups(), who.warp..who.warp + 1);
        let reading = hands.shared.begin_reading(chunks, engine, group, who)?;
        let bytes = permuted(hands.shared.peek(from, plan.bytes), from, plan.swizzle);
        self.stores[lane].all.push(reading);
        for piece in &plan.pieces {
            let size = piece.range.len();
            match hands.memory.writable(piece.address, size) {
                Some(place) => place.copy_from_slice(&bytes[piece.range.clone()]),
                None => return Err(stray(hands.memory, piece.address, size, lane, "copies")),
            }
        }
        Ok(())
    }

    pub(super) fn bulk_commit(&mut self, active: u32) {
        for lane in lanes_of(active) {
            self.stores[lane].open += 1;
        }
    }

    /// Stores have read shared memory whose group is not among the last so many committed.
    pub(super) fn bulk_wait(&mut self, groups: u32, active: u32, hands: &mut Hands<'_>) -> Done {
        let agents = hands.shared.clocks.agents;
        let engine = agents.groups();
        for lane in lanes_of(active) {
            let stores = &mut self.stores[lane];
            let over = stores.open.saturating_sub(groups);
            for reading in stores.all.extract_if(.., |reading| reading.group < over) {
                hands.shared.end_reading(&reading, engine)?;
            }
            if agents.engines {
                let reader = agents.reader(hands.shared.rank, engine);
                hands.shared.clocks.learn(self.agent, reader);
            }
        }
        Ok(())
    }
}

/// Bytes in the other order of chunks; the permutation is its own inverse.
fn permuted(bytes: &[u8], at: u64, swizzle: u32) -> Vec<u8> {
    if swizzle == 0 {
        return bytes.to_vec();
    }
    let mut out = vec![0; bytes.len()];
    let (from, _) = bytes.as_chunks::<CHUNK>();
    // A box begins at a multiple of 128 bytes, so that no chunk leaves it.
    for (index, chunk) in from.iter().enumerate() {
        let place = (swizzled(at + (CHUNK * index) as u64, swizzle) - at) as usize;
        out[place..place + CHUNK].copy_from_slice(chunk);
    }
    out
}
