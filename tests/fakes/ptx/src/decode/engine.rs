//! What works beside the warps: `mbarrier`s, bulk copies, clusters.

use super::{Decoder, Line};
use crate::error::PtxError;
use crate::lanes::File;
use crate::parse::syntax::{Operand, Space};
use crate::program::{Address, BarrierAct, BarrierWait, BulkCopy, BulkPart, Op, Place, Reg};

const SHARED: &[&str] = &["shared", "shared::cta", "shared::cluster"];
const ORDERS: &[&str] = &["release", "acquire", "relaxed"];
const SCOPES: &[&str] = &["cta", "cluster"];

impl<'a> Decoder<'a> {
    fn barrier_address(
        &mut self,
        line: &mut Line<'a>,
        operand: &Operand<'a>,
    ) -> Result<Address, PtxError> {
        let space = line.modifiers.take_any(SHARED).map_or(Space::Generic, |_| Space::Shared);
        self.address(operand, space)
    }

    /// `mbarrier.init.shared.b64 [a], n`, `mbarrier.arrive.expect_tx.shared.b64 _, [a], n`, `mbarrier.try_wait.parity.shared.b64 p, [a], n`
    pub(super) fn mbarrier(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let what = line.modifiers.first().unwrap_or_default();
        line.modifiers.drop(SCOPES, &[]);
        line.modifiers.drop(ORDERS, &[]);
        match what {
            "init" | "inval" => self.barrier_made(line, what),
            "arrive" => self.barrier_arrive(line),
            "expect_tx" | "complete_tx" => self.barrier_bytes(line, what),
            "test_wait" | "try_wait" => self.barrier_wait(line),
            _ => Err(self.unknown(line)),
        }
    }

    fn barrier_made(&mut self, line: &mut Line<'a>, what: &str) -> Result<(), PtxError> {
        let (at, act) = match (what, line.operands) {
            ("init", [at, count]) => (at, BarrierAct::Init(self.source(count, File::Word, 32)?)),
            ("inval", [at]) => (at, BarrierAct::Invalidate),
            _ => return Err(self.unknown(line)),
        };
        self.emit_mbarrier(line, at, act)
    }

    fn emit_mbarrier(
        &mut self,
        line: &mut Line<'a>,
        at: &Operand<'a>,
        act: BarrierAct,
    ) -> Result<(), PtxError> {
        let address = self.barrier_address(line, at)?;
        if line.modifiers.last() != Some("b64") {
            return Err(self.unknown(line));
        }
        self.finish(line)?;
        self.emit(Op::MBarrier(address, act));
        Ok(())
    }

    fn barrier_arrive(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let announces = line.modifiers.take("expect_tx");
        line.modifiers.take("noComplete");
        let (state, at, number) = match line.operands {
            [at @ Operand::Address(..)] => (None, at, None),
            [at @ Operand::Address(..), number] => (None, at, Some(number)),
            [state, at] => (Some(state), at, None),
            [state, at, number] => (Some(state), at, Some(number)),
            _ => return Err(self.unknown(line)),
        };
        let state = match state {
            None | Some(Operand::Name("_", false)) => None,
            Some(state) => Some(self.destination(state, File::Long)?),
        };
        let number = number.map(|number| self.source(number, File::Word, 32)).transpose()?;
        let (none, one) = (self.word(0)?, self.word(1)?);
        let (count, bytes) = match (announces, number) {
            (true, Some(bytes)) => (one, bytes),
            (true, None) => return Err(self.unknown(line)),
            (false, count) => (count.unwrap_or(one), none),
        };
        self.emit_mbarrier(line, at, BarrierAct::Arrive { count, bytes, state })
    }

    fn barrier_bytes(&mut self, line: &mut Line<'a>, what: &str) -> Result<(), PtxError> {
        let [at, bytes] = self.exactly(line)?;
        let bytes = self.source(bytes, File::Word, 32)?;
        let act = match what {
            "expect_tx" => BarrierAct::Expect(bytes),
            _ => BarrierAct::Complete(bytes),
        };
        self.emit_mbarrier(line, at, act)
    }

    fn barrier_wait(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let parity = line.modifiers.take("parity");
        // A fourth operand hints at how long to wait.
        let ([d, at, phase] | [d, at, phase, _]) = line.operands else {
            return Err(self.unknown(line));
        };
        let address = self.barrier_address(line, at)?;
        if line.modifiers.last() != Some("b64") {
            return Err(self.unknown(line));
        }
        self.finish(line)?;
        let d = self.destination(d, File::Predicate)?;
        let (parity, state) = match parity {
            true => (Some(self.source(phase, File::Word, 32)?), None),
            false => (None, Some(self.source(phase, File::Long, 64)?)),
        };
        self.emit(Op::MBarrierWait(Box::new(BarrierWait { address, d, parity, state })));
        Ok(())
    }

    /// `cp.async.mbarrier.arrive.noinc.shared.b64 [a]`
    pub(super) fn copies_arrive(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        if line.modifiers.first() != Some("arrive") {
            return Err(self.unknown(line));
        }
        let counted = line.modifiers.take("noinc");
        let [at] = self.exactly(line)?;
        self.emit_mbarrier(line, at, BarrierAct::ArriveCopies { counted })
    }

    /// `barrier.cluster.arrive.release.aligned`, `barrier.cluster.wait`
    pub(super) fn cluster_barrier(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let what = line.modifiers.first();
        line.modifiers.take("aligned");
        let order = line.modifiers.take_any(ORDERS);
        self.finish(line)?;
        let [] = self.exactly(line)?;
        let op = match (what, order) {
            (Some("arrive"), None | Some("release")) => Op::ClusterArrive(false),
            (Some("arrive"), Some("relaxed")) => Op::ClusterArrive(true),
            (Some("wait"), None | Some("acquire")) => Op::ClusterWait,
            _ => return Err(self.unknown(line)),
        };
        self.emit(op);
        Ok(())
    }

    /// Fences order nothing that is not ordered by who waits for whom, except towards the asynchronous proxy.
    pub(super) fn fence(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let shared = !line.modifiers.take("global");
        let proxy = line.modifiers.take("proxy");
        let op = match line.modifiers.first() {
            Some("async") if proxy && shared => Op::FenceProxy,
            Some("mbarrier_init") => Op::FenceBarriers,
            _ => Op::Nothing,
        };
        self.emit(op);
        Ok(())
    }

    /// `mapa.shared::cluster.u32 d, a, rank`, `mapa.u64 d, a, rank`
    pub(super) fn map_address(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let generic = !line.modifiers.take("shared::cluster");
        let file = match line.modifiers.last() {
            Some("u32") => File::Word,
            Some("u64") => File::Long,
            _ => return Err(self.unknown(line)),
        };
        self.finish(line)?;
        let [d, a, rank] = self.exactly(line)?;
        let a = self.source(a, file, 64)?;
        let rank = self.source(rank, File::Word, 32)?;
        let d = self.destination(d, file)?;
        let place = |register| match file {
            File::Long => Place::Long(register),
            _ => Place::Word(register),
        };
        let (d, a) = (place(d), place(a));
        self.emit(Op::MapAddress { d, a, rank, generic });
        Ok(())
    }

    /// `cp.async.bulk…`, `async` and `bulk` taken.
    pub(super) fn bulk(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        if line.modifiers.take("prefetch") {
            return self.bulk_prefetch(line);
        }
        match line.modifiers.take_any(&["commit_group", "wait_group"]) {
            Some("commit_group") => {
                self.finish(line)?;
                let [] = self.exactly(line)?;
                self.emit(Op::BulkCommit);
                return Ok(());
            }
            Some(_) => {
                line.modifiers.take("read");
                self.finish(line)?;
                let [Operand::Integer(groups)] = line.operands else {
                    return Err(self.unknown(line));
                };
                self.emit(Op::BulkWait(*groups as u32));
                return Ok(());
            }
            None => {}
        }
        let hint = line.modifiers.take("L2::cache_hint");
        let tensor = line.modifiers.take("tensor");
        if tensor && !line.modifiers.take("2d") {
            return Err(self.error(format!("`{}`: only tensors of 2 dimensions", line.mnemonic)));
        }
        line.modifiers.take("tile");
        let operands = match line.operands {
            [rest @ .., _] if hint => rest,
            all => all,
        };
        let copy = match line.modifiers.first() {
            Some("shared::cluster" | "shared::cta") => self.bulk_load(line, operands, tensor)?,
            Some("global") => self.bulk_store(line, operands, tensor)?,
            _ => return Err(self.unknown(line)),
        };
        self.finish(line)?;
        self.emit(Op::BulkCopy(Box::new(copy)));
        Ok(())
    }

    /// `cp.async.bulk.prefetch.L2.global [at], bytes`
    fn bulk_prefetch(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let known = line.modifiers.take("L2") && line.modifiers.take("global");
        let [at, bytes] = line.operands else { return Err(self.unknown(line)) };
        if !known {
            return Err(self.unknown(line));
        }
        self.finish(line)?;
        let part = self.bytes(at, bytes)?;
        self.emit(Op::BulkPrefetch(Box::new(part)));
        Ok(())
    }

    fn bulk_load(
        &mut self,
        line: &mut Line<'a>,
        operands: &'a [Operand<'a>],
        tensor: bool,
    ) -> Result<BulkCopy, PtxError> {
        let known =
            line.modifiers.take("global") && line.modifiers.take("mbarrier::complete_tx::bytes");
        let several = line.modifiers.take("multicast::cluster");
        let (operands, blocks) = match operands {
            [rest @ .., mask] if several => (rest, Some(self.source(mask, File::Word, 16)?)),
            all => (all, None),
        };
        let (to, part, at) = match operands {
            [to, map, at] if tensor && known => (to, self.tile(map)?, at),
            [to, from, bytes, at] if !tensor && known => (to, self.bytes(from, bytes)?, at),
            _ => return Err(self.unknown(line)),
        };
        let shared = self.address(to, Space::Shared)?;
        let barrier = Some(self.address(at, Space::Shared)?);
        Ok(BulkCopy { part, shared, barrier, blocks })
    }

    fn bulk_store(
        &mut self,
        line: &mut Line<'a>,
        operands: &'a [Operand<'a>],
        tensor: bool,
    ) -> Result<BulkCopy, PtxError> {
        let known = line.modifiers.take("shared::cta") && line.modifiers.take("bulk_group");
        let (part, from) = match operands {
            [map, from] if tensor && known => (self.tile(map)?, from),
            [to, from, bytes] if !tensor && known => (self.bytes(to, bytes)?, from),
            _ => return Err(self.unknown(line)),
        };
        let shared = self.address(from, Space::Shared)?;
        Ok(BulkCopy { part, shared, barrier: None, blocks: None })
    }

    fn bytes(&mut self, at: &Operand<'a>, bytes: &Operand<'a>) -> Result<BulkPart, PtxError> {
        let bytes = self.source(bytes, File::Word, 32)?;
        Ok(BulkPart::Bytes(self.address(at, Space::Global)?, bytes))
    }

    fn tile(&mut self, operand: &Operand<'a>) -> Result<BulkPart, PtxError> {
        let Operand::Tile(map, at) = operand else {
            return Err(self.error(format!("a tensor map expected, found {operand:?}")));
        };
        let [x, y] = &at[..] else {
            return Err(self.error(format!("{} coordinates, not 2", at.len())));
        };
        let at: [Reg; 2] = [self.source(x, File::Word, 32)?, self.source(y, File::Word, 32)?];
        let map = self.address(&Operand::Name(map, false), Space::Generic)?;
        Ok(BulkPart::Tile(map, at))
    }
}
