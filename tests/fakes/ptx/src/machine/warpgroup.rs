//! Warpgroups: four warps that multiply together, asynchronously.
//!
//! A product is computed when all four warps have come to it. Its accumulators may not be touched until they are waited for, and what it reads of
//! shared memory counts as being read until all four have waited. Between other instructions that touch its registers and a product there must be a
//! `wgmma.fence`, as PTX ISA 8.8 says of it.

use std::ops::Range;

use super::block::Block;
use super::descriptor::{Descriptor, rows};
use super::engine::{CHUNK, Reading};
use super::hands::Hands;
use super::registers::ALL;
use super::shared::{Shared, Who};
use super::warp::Warp;
use crate::fault::{Done, FaultKind, Trouble};
use crate::lanes::WARP;
use crate::numerics::mma::{Accumulators, OperandRow, ROWS, rows_of_registers};
use crate::program::{GroupProduct, MatrixA, Op, Reg};

/// Warps of a warpgroup.
pub(super) const GROUP: usize = 4;

/// What a warp's products need.
#[derive(Clone, Debug, Default)]
pub(super) struct Products {
    /// Groups committed.
    pub(super) open: u32,
    /// Whether there was a `wgmma.fence`.
    pub(super) fenced: bool,
}

/// What the products of a warpgroup may still read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    readings: Vec<Reading>,
    /// How many groups each warp has waited for.
    over: [u32; GROUP],
}

impl Block<'_> {
    /// Goes on with a warpgroup all of whose warps have come to an instruction for all of them.
    pub(super) fn act_together(&mut self, group: usize, hands: &mut Hands<'_>) -> Done {
        let all = GROUP * group..(GROUP * group + GROUP).min(self.warps.len());
        let warps = &self.warps[all.clone()];
        if warps.len() < GROUP || warps.iter().any(|warp| warp.live() != ALL) {
            let what = "a warpgroup is four whole warps";
            return Err(Trouble::new(FaultKind::Divergence, what));
        }
        let at = warps[0].at;
        if let Some(other) = warps.iter().find(|warp| warp.at != at) {
            let line = self.program.code[other.at as usize].line;
            let what = format!("warp {} of the warpgroup is in line {line}", other.number);
            return Err(Trouble::new(FaultKind::Divergence, what));
        }
        let inst = &self.program.code[at as usize];
        if let Op::GroupProduct(product) = &inst.op {
            self.multiply(product, all.clone(), inst.line, hands)?;
        }
        self.warps[all].iter_mut().for_each(Warp::pass);
        Ok(())
    }

    fn multiply(
        &mut self,
        product: &GroupProduct,
        all: Range<usize>,
        line: u32,
        hands: &mut Hands<'_>,
    ) -> Done {
        let warps = &mut self.warps[all];
        let open = warps[0].products.open;
        let a_held = match &product.a {
            MatrixA::Registers(list) => &list[..],
            MatrixA::Shared(..) => &[],
        };
        let mut held = product.d.iter().chain(a_held);
        let unordered =
            |warp: &Warp<'_>, held: Reg| !warp.products.fenced || warp.registers.is_unordered(held);
        if held.any(|held| warps.iter().any(|warp| unordered(warp, *held))) {
            let what = "no wgmma.fence orders the registers before wgmma.mma_async";
            return Err(Trouble::new(FaultKind::Race, what));
        }
        if warps.iter().any(|warp| warp.products.open != open) {
            let what = "warps of the warpgroup have committed different groups";
            return Err(Trouble::new(FaultKind::Divergence, what));
        }
        let (first, group) = (warps[0].agent, warps[0].number / GROUP);
        let who = Who { warp: first, lane: 0, line, strong: false };
        let mut shared = |bits: u64, count: usize, turned: bool| -> Done<Vec<OperandRow>> {
            let parts = Descriptor::decode(bits)?.parts(count, turned)?;
            hands.shared.begin_product(parts.clone(), (group, first..first + GROUP), open, who)?;
            let shared = &*hands.shared;
            Ok(rows(&parts, count, turned, |at| shared.peek(at.into(), CHUNK)))
        };
        let a = match &product.a {
            MatrixA::Shared(bits, turned) => shared(uniform(warps, *bits)?, ROWS, *turned)?,
            MatrixA::Registers(list) => rows_of_registers(std::array::from_fn(|warp| {
                std::array::from_fn(|r| *warps[warp].registers.fragment(list[r]))
            })),
        };
        let b = shared(uniform(warps, product.b.0)?, product.columns, product.b.1)?;
        let adds = uniform_test(warps, product)?;
        let mut sums: Accumulators = std::array::from_fn(|warp| {
            let held = |d: &Reg| *warps[warp].registers.fragment(*d);
            product.d.iter().map(|d| if adds { held(d) } else { [0; WARP] }).collect()
        });
        product.form.run(&a, &b, &mut sums, product.negate);
        for (warp, sums) in warps.iter_mut().zip(&sums) {
            if let MatrixA::Registers(list) = &product.a {
                list.iter().for_each(|register| warp.registers.freeze(*register, open));
            }
            for (d, sum) in product.d.iter().zip(sums) {
                warp.registers.set_fragment(*d, sum);
                warp.registers.freeze(*d, open);
            }
        }
        Ok(())
    }
}

/// A number that all lanes of a warpgroup must have.
fn uniform(warps: &[Warp<'_>], register: Reg) -> Done<u64> {
    let first = warps[0].registers.long(register)[0];
    for warp in warps {
        if let Some(lane) = warp.registers.long(register).iter().position(|bits| *bits != first) {
            let number = warp.number;
            let what = format!("lane {lane} of warp {number} has another matrix descriptor");
            return Err(Trouble::at(FaultKind::Divergence, lane, what));
        }
    }
    Ok(first)
}

fn uniform_test(warps: &[Warp<'_>], product: &GroupProduct) -> Done<bool> {
    let held: Vec<u32> = warps.iter().map(|warp| warp.registers.test(product.adds)).collect();
    match held[0] {
        first @ (0 | ALL) if held.iter().all(|held| *held == first) => Ok(first == ALL),
        _ => {
            let what = "lanes of the warpgroup disagree on whether to add";
            Err(Trouble::new(FaultKind::Divergence, what))
        }
    }
}

impl Warp<'_> {
    /// `wgmma.wait_group`
    pub(super) fn wait_for_products(&mut self, groups: u32, hands: &mut Hands<'_>) -> Done {
        let over = self.products.open.saturating_sub(groups);
        self.registers.thaw(over);
        let last = hands.shared.end_products(self.number, over)?;
        let agents = hands.shared.clocks.agents;
        if agents.engines && last {
            let reader = agents.reader(hands.shared.rank, self.number / GROUP);
            hands.shared.clocks.learn(self.agent, reader);
        }
        Ok(())
    }
}

impl Shared {
    /// Products of a warpgroup of the running block read parts of shared memory from now on.
    fn begin_product(
        &mut self,
        parts: Vec<u32>,
        (group, warps): (usize, Range<usize>),
        open: u32,
        who: Who,
    ) -> Done {
        let reading = self.begin_reading(parts, (group, warps), open, who)?;
        let slot = self.rank * self.clocks.agents.groups() + group;
        self.products[slot].readings.push(reading);
        Ok(())
    }

    /// A warp of the running block has waited for so many groups of products. Whether all of its warpgroup have: only then nobody reads for them any more.
    fn end_products(&mut self, warp: usize, over: u32) -> Done<bool> {
        let (group, place) = (warp / GROUP, warp % GROUP);
        let slot = self.rank * self.clocks.agents.groups() + group;
        let Some(products) = self.products.get_mut(slot) else { return Ok(true) };
        products.over[place] = over;
        let all = products.over.iter().copied().min().unwrap_or(over);
        let ended: Vec<_> =
            products.readings.extract_if(.., |reading| reading.group < all).collect();
        ended.iter().try_for_each(|reading| self.end_reading(reading, group))?;
        Ok(all == over)
    }
}
