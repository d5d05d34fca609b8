//! Instructions in which lanes of a warp see each other.

use super::hands::Hands;
use super::registers::{ALL, Registers, lanes_of};
use super::warp::Warp;
use crate::fault::{Done, FaultKind, Trouble};
use crate::lanes::{WARP, Words};
use crate::numerics::matrix::{self, ROW_BYTES, Row};
use crate::program::{Address, Inst, MatrixProduct, Op, Reg, Shuffle, Vote};

/// Most registers of a fragment.
const FRAGMENT: usize = 8;

impl Warp<'_> {
    /// An instruction all of whose lanes are there.
    pub(super) fn collective(&mut self, inst: &Inst, mask: u32, hands: &mut Hands<'_>) -> Done {
        match &inst.op {
            Op::MatrixProduct(product) => self.registers.multiply(product),
            Op::LoadMatrix { d, transposed, address } => {
                return self.load_matrix(d, *transposed, address, inst.line, hands);
            }
            Op::StoreMatrix { s, transposed, address } => {
                return self.store_matrix(s, *transposed, address, inst.line, hands);
            }
            Op::Transpose { d, a } => {
                let value = matrix::transpose(self.registers.word(*a));
                self.registers.set_word(*d, &value, ALL);
            }
            Op::WarpSync(_) => hands.shared.clocks.sync_warp(self.agent),
            Op::ClusterArrive(relaxed) => {
                hands.shared.clocks.sync_warp(self.agent);
                return hands.shared.arrive_in_cluster(self.agent, *relaxed);
            }
            Op::GroupFence => {
                self.products.fenced = true;
                self.registers.fence();
            }
            Op::GroupCommit => self.products.open += 1,
            Op::GroupWait(groups) => return self.wait_for_products(*groups, hands),
            op => {
                for team in self.registers.teams(op, mask) {
                    self.registers.team_up(op, team)?;
                }
            }
        }
        Ok(())
    }

    fn load_matrix(
        &mut self,
        d: &[Reg],
        transposed: bool,
        address: &Address,
        line: u32,
        hands: &mut Hands<'_>,
    ) -> Done {
        let addresses = self.registers.addresses(address);
        for (index, d) in d.iter().enumerate() {
            let mut rows: [Row; 8] = [[0; ROW_BYTES]; 8];
            for (row, bytes) in rows.iter_mut().enumerate() {
                let lane = matrix::address_lane(index, row);
                let who = self.who(lane, line, false);
                bytes.copy_from_slice(hands.shared.read(addresses[lane], ROW_BYTES, who)?);
            }
            self.registers.set_word(*d, &matrix::load(&rows, transposed), ALL);
        }
        Ok(())
    }

    fn store_matrix(
        &mut self,
        s: &[Reg],
        transposed: bool,
        address: &Address,
        line: u32,
        hands: &mut Hands<'_>,
    ) -> Done {
        let addresses = self.registers.addresses(address);
        for (index, s) in s.iter().enumerate() {
            let rows = matrix::store(self.registers.word(*s), transposed);
            for (row, bytes) in rows.iter().enumerate() {
                let lane = matrix::address_lane(index, row);
                let who = self.who(lane, line, false);
                hands.shared.write(addresses[lane], ROW_BYTES, who)?.copy_from_slice(bytes);
            }
        }
        Ok(())
    }
}

impl Registers<'_> {
    fn multiply(&mut self, product: &MatrixProduct) {
        let mut fragments = [[[0; WARP]; FRAGMENT]; 3];
        for (fragment, registers) in fragments.iter_mut().zip([&product.a, &product.b, &product.c])
        {
            for (value, register) in fragment.iter_mut().zip(registers) {
                *value = *self.word(*register);
            }
        }
        let [a, b, c] = &fragments;
        let mut d = [[0; WARP]; FRAGMENT];
        let form = product.form;
        form.run(&a[..form.a], &b[..form.b], &c[..form.c], &mut d[..form.d]);
        for (register, value) in product.d.iter().zip(&d) {
            self.set_word(*register, value, ALL);
        }
    }

    /// The lanes of a group by the mask they name: each set does the instruction by itself.
    fn teams(&self, op: &Op, group: u32) -> Vec<u32> {
        let (Op::Shuffle { mask, .. }
        | Op::Vote { mask, .. }
        | Op::MatchAny { mask, .. }
        | Op::MatchAll { mask, .. }
        | Op::Reduce { mask, .. }
        | Op::Elect { mask, .. }) = op
        else {
            return vec![group];
        };
        let masks = self.word(*mask);
        let mut named: Vec<u32> = lanes_of(group).map(|lane| masks[lane]).collect();
        named.sort_unstable();
        named.dedup();
        let of = |mask: u32| lanes_of(group).filter(move |lane| masks[*lane] == mask);
        named.into_iter().map(|mask| of(mask).fold(0, |team, lane| team | 1 << lane)).collect()
    }

    fn team_up(&mut self, op: &Op, team: u32) -> Done {
        match *op {
            Op::Shuffle { mode, d, found, s, .. } => return self.shuffle(mode, d, found, s, team),
            Op::Vote { kind, d, test, .. } => {
                let yes = self.test(test) & team;
                let held = match kind {
                    Vote::Ballot => {
                        self.set_word(d, &[yes; WARP], team);
                        return Ok(());
                    }
                    Vote::All => yes == team,
                    Vote::Any => yes != 0,
                    Vote::Uniform => yes == 0 || yes == team,
                };
                self.set_predicate(d, if held { ALL } else { 0 }, team);
            }
            Op::MatchAny { d, a, .. } => {
                let value = self.wide(a);
                let like = |lane: usize| {
                    let same = lanes_of(team).filter(|other| value[*other] == value[lane]);
                    same.fold(0, |mask, other| mask | 1 << other)
                };
                self.set_word(d, &std::array::from_fn(like), team);
            }
            Op::MatchAll { d, found, a, .. } => {
                let value = self.wide(a);
                let first = value[team.trailing_zeros() as usize & 31];
                let all = lanes_of(team).all(|lane| value[lane] == first);
                self.set_word(d, &[if all { team } else { 0 }; WARP], team);
                if let Some(found) = found {
                    self.set_predicate(found, if all { ALL } else { 0 }, team);
                }
            }
            Op::Reduce { f, d, a, .. } => {
                let value = self.word(a);
                let reduced = lanes_of(team).map(|lane| value[lane]).reduce(f).unwrap_or_default();
                self.set_word(d, &[reduced; WARP], team);
            }
            Op::Elect { d, chosen, .. } => {
                let leader = team.trailing_zeros();
                if let Some(d) = d {
                    self.set_word(d, &[leader; WARP], team);
                }
                self.set_predicate(chosen, 1u32.wrapping_shl(leader), team);
            }
            _ => {}
        }
        Ok(())
    }

    /// PTX ISA 8.8, 9.7.9.6, `shfl.sync`: its pseudocode.
    fn shuffle(
        &mut self,
        mode: Shuffle,
        d: Reg,
        found: Option<Reg>,
        s: [Reg; 3],
        team: u32,
    ) -> Done {
        let [a, b, c] = s.map(|register| *self.word(register));
        let mut value: Words = [0; WARP];
        let mut inside = 0;
        for lane in lanes_of(team) {
            let (index, by, segment) = (lane as u32, b[lane] & 31, c[lane] >> 8 & 31);
            let most = index & segment | c[lane] & 31 & !segment;
            let least = index & segment;
            let (from, holds) = match mode {
                Shuffle::Up => (index.wrapping_sub(by), index >= by && index - by >= most),
                Shuffle::Down => (index + by, index + by <= most),
                Shuffle::Butterfly => (index ^ by, index ^ by <= most),
                Shuffle::Index => {
                    let from = least | by & !segment;
                    (from, from <= most)
                }
            };
            let from = if holds { from as usize } else { lane };
            if team >> from & 1 == 0 {
                let what = format!("takes the value of lane {from}, which takes no part");
                return Err(Trouble::at(FaultKind::Divergence, lane, what));
            }
            value[lane] = a[from];
            inside |= u32::from(holds) << lane;
        }
        self.set_word(d, &value, team);
        if let Some(found) = found {
            self.set_predicate(found, inside, team);
        }
        Ok(())
    }
}
