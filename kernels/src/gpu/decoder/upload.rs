//! Weights of M0, generated on the host as every storage keeps them.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::layout::{Layer, Layout, Matrix, Weights};
use super::path::Storage;
use crate::gpu::family::nf4;
use crate::gpu::family::w4::{self, awq};
use crate::gpu::{Element, Machine, MachineError};
use crate::model::{Grid, MATRICES, NORMS, Profile, TensorId};

/// Numbers as they are stored, rounded to nearest.
pub(super) fn encode(element: Element, values: &[f32]) -> Vec<u8> {
    let bytes = |bits: Vec<u16>| bits.into_iter().flat_map(u16::to_le_bytes).collect();
    match element {
        Element::F16 => {
            let mut stored = vec![f16::ZERO; values.len()];
            stored.convert_from_f32_slice(values);
            bytes(stored.into_iter().map(f16::to_bits).collect())
        }
        Element::Bf16 => {
            let mut stored = vec![bf16::ZERO; values.len()];
            stored.convert_from_f32_slice(values);
            bytes(stored.into_iter().map(bf16::to_bits).collect())
        }
        _ => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    }
}

/// Zero point of every group: codes are integers and this.
pub(super) const ZERO: u8 = 8;

/// Integers and scales of a matrix.
fn int4_of(grid: &Grid) -> (Vec<i8>, Vec<f16>) {
    let q = (0..grid.groups()).flat_map(|group| grid.group(group)).collect();
    (q, (0..grid.groups()).map(|group| f16::from_f32(grid.scale(group))).collect())
}

/// Codes and maxima of a matrix in NF4.
fn nf4_of(weights: &[f32]) -> (Vec<u8>, Vec<f32>) {
    let blocks = weights.chunks_exact(nf4::BLOCK).map(nf4::quantize);
    let (codes, maxima): (Vec<Vec<u8>>, Vec<f32>) = blocks.unzip();
    (codes.concat(), maxima)
}

/// The numbers a storage keeps of some weights; only NF4 changes any.
pub(super) fn kept(storage: Storage, weights: Vec<f32>) -> Vec<f32> {
    if storage != Storage::Nf4 {
        return weights;
    }
    let (codes, maxima) = nf4_of(&weights);
    let value = |(i, code): (usize, &u8)| nf4::CODE[usize::from(*code)] * maxima[i / nf4::BLOCK];
    codes.iter().enumerate().map(value).collect()
}

/// Writes a matrix.
fn write_matrix(
    machine: &mut dyn Machine,
    matrix: &Matrix,
    grid: &Grid,
    element: Element,
) -> Result<(), MachineError> {
    match matrix.weights {
        Weights::Dense(slot) => {
            machine.write(slot, &encode(element, &grid.weights().collect::<Vec<_>>()))
        }
        Weights::Int4(at) => {
            let (q, scales) = int4_of(grid);
            let packed =
                w4::pack(grid.rows, grid.cols, &q, &scales).map_err(MachineError::refused)?;
            machine.write(at.words, &packed.words)?;
            machine.write(at.scales, &packed.scales)
        }
        Weights::Int4Zero(at) => {
            let (q, scales) = int4_of(grid);
            let codes: Vec<u8> = q.iter().map(|q| q.wrapping_add(ZERO as i8) as u8).collect();
            let zeros = vec![ZERO; scales.len()];
            let packed = awq::pack(&codes, &scales, &zeros).map_err(MachineError::refused)?;
            machine.write(at.words, &packed.words)?;
            machine.write(at.scales, &packed.scales)?;
            machine.write(at.zeros, &packed.zeros)
        }
        Weights::Nf4(at) => {
            let (codes, maxima) = nf4_of(&grid.weights().collect::<Vec<_>>());
            machine.write(at.codes, &nf4::pack(&codes))?;
            machine.write(at.maxima, &encode(Element::F32, &maxima))
        }
    }
}

fn write_layer(
    machine: &mut dyn Machine,
    (l, layer): (usize, &Layer),
    profile: Profile,
    element: Element,
) -> Result<(), MachineError> {
    for tensor in MATRICES {
        let grid = TensorId::Layer(l, tensor).grid(profile);
        write_matrix(machine, layer.matrix(tensor), &grid, element)?;
    }
    for tensor in NORMS {
        let gains = TensorId::Layer(l, tensor).norm_gains(profile);
        machine.write(layer.norm(tensor), &encode(Element::F32, &gains))?;
    }
    Ok(())
}

/// Writes all weights of M0 under a profile.
pub(super) fn weights(
    machine: &mut dyn Machine,
    layout: &Layout,
    profile: Profile,
    element: Element,
) -> Result<(), MachineError> {
    for layer in layout.layers.iter().enumerate() {
        write_layer(machine, layer, profile, element)?;
    }
    let dense =
        |tensor: TensorId| encode(element, &tensor.grid(profile).weights().collect::<Vec<_>>());
    machine.write(layout.embedding, &dense(TensorId::Embedding))?;
    write_matrix(machine, &layout.head, &TensorId::Head.grid(profile), element)?;
    let gains = TensorId::FinalNorm.norm_gains(profile);
    machine.write(layout.final_norm, &encode(Element::F32, &gains))?;
    let table = layout.shape.rope_table().into_iter().flat_map(|(c, s)| [c as f32, s as f32]);
    machine.write(layout.kept.rope, &encode(Element::F32, &table.collect::<Vec<_>>()))
}
