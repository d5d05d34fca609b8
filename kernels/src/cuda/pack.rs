//! Parameters of a launch, as the driver wants them: a pointer to each.

use std::ffi::c_void;

use super::tensor::Encoded;
use crate::gpu::{Arg, MachineError, Slot, TensorMap};

/// More parameters than any kernel here has. The driver follows as many pointers as the kernel declares parameters, so
/// there are always this many.
pub(super) const MOST: usize = 64;

/// Parameters in eight bytes each, and beside them the tensor maps, each with its number; a device of another byte order than its host's does not exist.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Packed {
    values: [[u8; 8]; MOST],
    maps: Vec<(usize, Encoded)>,
    sizes: Vec<usize>,
}

impl Packed {
    /// Packs parameters; `address` turns a place into an address, or says why it is none, and `encode` makes a tensor map of
    /// what begins there.
    pub(super) fn new(
        args: &[Arg],
        address: impl Fn(Slot) -> Result<u64, MachineError>,
        encode: impl Fn(&TensorMap, u64) -> Result<Encoded, MachineError>,
    ) -> Result<Self, MachineError> {
        if args.len() > MOST {
            return Err(MachineError::refused(format!(
                "{} parameters are more than {MOST}",
                args.len()
            )));
        }
        let sizes = Vec::with_capacity(args.len());
        let mut packed = Self { values: [[0; 8]; MOST], maps: Vec::new(), sizes };
        for (at, (value, arg)) in packed.values.iter_mut().zip(args).enumerate() {
            let bytes: &[u8] = match arg {
                Arg::Slot(slot) => &address(*slot)?.to_ne_bytes(),
                Arg::U32(number) => &number.to_ne_bytes(),
                Arg::U64(number) => &number.to_ne_bytes(),
                Arg::F32(number) => &number.to_ne_bytes(),
                Arg::TensorMap(map) => {
                    packed.maps.push((at, encode(map, address(map.slot)?)?));
                    packed.sizes.push(size_of::<Encoded>());
                    continue;
                }
            };
            value[..bytes.len()].copy_from_slice(bytes);
            packed.sizes.push(bytes.len());
        }
        Ok(packed)
    }

    /// Whether a kernel with parameters of these sizes may have them; yes where the driver does not tell its sizes, or tells of none at all: every
    /// kernel here has some, and the launch itself says better what is wrong.
    pub(super) fn fits(&self, declared: Option<&[usize]>) -> Result<(), MachineError> {
        match declared {
            Some(declared) if !declared.is_empty() && declared != self.sizes => {
                Err(MachineError::refused(format!(
                    "parameters of {declared:?} bytes were given as {:?}",
                    self.sizes
                )))
            }
            _ => Ok(()),
        }
    }

    /// A pointer to each of [`MOST`] values, valid as long as this one stays where it is.
    pub(super) fn pointers(&mut self) -> [*mut c_void; MOST] {
        let mut pointers = self.values.each_mut().map(|value| value.as_mut_ptr().cast());
        for (at, map) in &mut self.maps {
            pointers[*at] = (&raw mut *map).cast();
        }
        pointers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::BufferId;

    /// Says by its bytes where the matrix began.
    fn encode(_: &TensorMap, address: u64) -> Result<Encoded, MachineError> {
        Ok(Encoded::of(address as u8))
    }

    fn packed(args: &[Arg]) -> Packed {
        let address = |slot: Slot| Ok(0x7000_0000_0000 + slot.offset);
        Packed::new(args, address, encode).expect("packs")
    }

    #[test]
    fn every_parameter_has_its_bytes_in_order() {
        let slot = Slot { buffer: BufferId(3), offset: 256 };
        let packed = packed(&[slot.into(), 17_u32.into(), Arg::U64(u64::MAX - 1), Arg::F32(-1.5)]);
        assert_eq!(packed.sizes, [8, 4, 8, 4]);
        let read = |at: usize| u64::from_ne_bytes(packed.values[at]);
        assert_eq!(read(0), 0x7000_0000_0100);
        assert_eq!(&packed.values[1][..4], 17_u32.to_ne_bytes());
        assert_eq!(read(2), u64::MAX - 1);
        assert_eq!(&packed.values[3][..4], (-1.5_f32).to_ne_bytes());
    }

    fn matrix(slot: Slot) -> TensorMap {
        let element = crate::gpu::TensorElement::F16;
        TensorMap { slot, element, size: [64, 8], row_bytes: 128, tile: [64, 8], swizzled: true }
    }

    #[test]
    fn tensor_maps_lie_whole_where_their_pointers_show() {
        let slot = Slot { buffer: BufferId(3), offset: 0x42 };
        let mut packed = packed(&[7_u32.into(), matrix(slot).into(), matrix(slot.plus(1)).into()]);
        assert_eq!(packed.sizes, [4, 128, 128]);
        let pointers = packed.pointers();
        assert!(pointers[1..3].iter().all(|pointer| pointer.addr() % 64 == 0));
        let shown: Vec<_> =
            packed.maps.iter_mut().map(|(at, map)| (*at, (&raw mut *map).addr())).collect();
        assert_eq!(shown, [(1, pointers[1].addr()), (2, pointers[2].addr())]);
        assert_eq!(packed.maps[0].1, Encoded::of(0x42));
        assert_eq!(packed.maps[1].1, Encoded::of(0x43));
    }

    #[test]
    fn there_is_a_pointer_for_every_parameter_a_kernel_may_have() {
        let mut packed = packed(&[5_u32.into()]);
        let pointers = packed.pointers();
        assert_eq!(pointers.len(), MOST);
        let distinct: std::collections::BTreeSet<_> = pointers.iter().collect();
        assert_eq!(distinct.len(), MOST);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let args = packed(&[5_u32.into(), Arg::U64(1)]);
        assert_eq!((args.fits(None), args.fits(Some(&[]))), (Ok(()), Ok(())));
        assert_eq!(args.fits(Some(&[4, 8])), Ok(()));
        for declared in [&[4, 4][..], &[4], &[4, 8, 4]] {
            assert!(args.fits(Some(declared)).is_err(), "{declared:?}");
        }
        assert!(Packed::new(&[Arg::U32(0); MOST + 1], |_| Ok(0), encode).is_err());
        let why = || MachineError::refused("gone");
        let slot = Slot { buffer: BufferId(0), offset: 0 };
        assert_eq!(Packed::new(&[slot.into()], |_| Err(why()), encode), Err(why()));
        let map = [matrix(slot).into()];
        assert_eq!(Packed::new(&map, |_| Err(why()), encode), Err(why()));
        assert_eq!(Packed::new(&map, |_| Ok(0), |_, _| Err(why())), Err(why()));
    }
}
