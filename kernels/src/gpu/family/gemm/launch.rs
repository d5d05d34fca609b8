//! How a product is launched: by the kernel variant chosen for its size.

use super::choose::choose;
use super::dispatch::Call;
use super::hopper;
use super::product::Product;
use crate::gpu::family::route;
use crate::gpu::family::stream::{Operands, check_aligned};
use crate::gpu::family::stream_k::Workspace;
use crate::gpu::{DeviceFacts, Launch, Route, Shape};

impl Product {
    /// How a device does it.
    pub fn route(self, facts: &DeviceFacts) -> Route {
        let own = || route::route(self.row().steps, facts);
        hopper::route(self, facts).unwrap_or_else(own)
    }
}

/// Y = X·Wᵀ.
pub fn launch(
    facts: &DeviceFacts,
    operands: Operands,
    product: Product,
    shape: Shape,
) -> Result<Launch, String> {
    launch_through(facts, operands, None, product, shape)
}

/// Bytes of [`Workspace::left`] and of [`Workspace::arrivals`]; `None` where blocks share no tile at this size.
pub fn workspace_bytes(facts: &DeviceFacts, product: Product, shape: Shape) -> Option<[usize; 2]> {
    let dispatch = choose(product, facts, shape, true)?;
    dispatch.stream_k(shape, facts.sms).map(|stream_k| stream_k.workspace_bytes())
}

/// The same, by blocks that may share tiles through a workspace.
pub fn launch_through(
    facts: &DeviceFacts,
    operands: Operands,
    workspace: Option<Workspace>,
    product: Product,
    shape: Shape,
) -> Result<Launch, String> {
    if let Route::Absent { why } = product.route(facts) {
        return Err(format!("{product:?} cannot be multiplied: {why}"));
    }
    let Operands { x, weights, y } = operands;
    check_aligned(&[x, weights, y])?;
    let pitch = pitch(product, shape)?;
    let dispatch = choose(product, facts, shape, workspace.is_some());
    let dispatch =
        dispatch.ok_or_else(|| format!("nothing multiplies {product:?} of this size here"))?;
    (dispatch.launch)(
        &dispatch,
        &Call { product, operands, workspace, shape, pitch, sms: facts.sms },
    )
}

/// Bytes of a row of X and of W, or why the shape cannot be.
pub(super) fn pitch(product: Product, shape: Shape) -> Result<u32, String> {
    let Shape { m, n, k, .. } = shape;
    if m == 0 || n == 0 || k == 0 {
        return Err(format!("{m}×{n}×{k} has nothing to compute"));
    }
    let multiple = product.multiple();
    if k % multiple != 0 {
        return Err(format!("k is {k}; rows of {product:?} must be multiples of {multiple}"));
    }
    let bytes = u64::from(k) * u64::from(product.row().input.bits()) / 8;
    // A slab more is counted past the end of a row.
    let most = i32::MAX as u32 - 64;
    let fits = u32::try_from(bytes).ok().filter(|bytes| *bytes <= most);
    fits.ok_or_else(|| format!("k is {k}; a row may have {most} bytes"))
}
