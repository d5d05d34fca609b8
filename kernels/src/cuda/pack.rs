//! Parameters of a launch, as the driver wants them: a pointer to each.

use std::ffi::c_void;

use crate::gpu::{Arg, MachineError, Slot};

/// More parameters than any kernel here has. The driver follows as many pointers as the kernel declares parameters, so
/// there are always this many.
pub(super) const MOST: usize = 64;

/// Parameters in eight bytes each; a device of another byte order than its host's does not exist.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Packed {
    values: [[u8; 8]; MOST],
    sizes: Vec<usize>,
}

impl Packed {
    /// Packs parameters; `address` turns a place into an address, or says why it is none.
    pub(super) fn new(
        args: &[Arg],
        address: impl Fn(Slot) -> Result<u64, MachineError>,
    ) -> Result<Self, MachineError> {
        if args.len() > MOST {
            let why = format!("{} parameters are more than {MOST}", args.len());
            return Err(MachineError::Refused { why });
        }
        let mut packed = Self { values: [[0; 8]; MOST], sizes: Vec::with_capacity(args.len()) };
        for (value, arg) in packed.values.iter_mut().zip(args) {
            let bytes: &[u8] = match arg {
                Arg::Slot(slot) => &address(*slot)?.to_ne_bytes(),
                Arg::U32(number) => &number.to_ne_bytes(),
                Arg::U64(number) => &number.to_ne_bytes(),
                Arg::F32(number) => &number.to_ne_bytes(),
                Arg::TensorMap(_) => {
                    let what = "cuTensorMapEncodeTiled".to_owned();
                    return Err(MachineError::Missing { what });
                }
            };
            value[..bytes.len()].copy_from_slice(bytes);
            packed.sizes.push(bytes.len());
        }
        Ok(packed)
    }

    /// Whether a kernel with parameters of these sizes may have them; yes where the driver does not tell its sizes.
    pub(super) fn fits(&self, declared: Option<&[usize]>) -> Result<(), MachineError> {
        match declared {
            Some(declared) if declared != self.sizes => Err(MachineError::Refused {
                why: format!("parameters of {declared:?} bytes were given as {:?}", self.sizes),
            }),
            _ => Ok(()),
        }
    }

    /// A pointer to each of [`MOST`] values, valid as long as this one stays where it is.
    pub(super) fn pointers(&mut self) -> [*mut c_void; MOST] {
        self.values.each_mut().map(|value| value.as_mut_ptr().cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::BufferId;

    fn packed(args: &[Arg]) -> Packed {
        let address = |slot: Slot| Ok(0x7000_0000_0000 + slot.offset);
        Packed::new(args, address).expect("packs")
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
        assert_eq!(args.fits(None), Ok(()));
        assert_eq!(args.fits(Some(&[4, 8])), Ok(()));
        for declared in [&[4, 4][..], &[4], &[4, 8, 4]] {
            assert!(args.fits(Some(declared)).is_err(), "{declared:?}");
        }
        assert!(Packed::new(&[Arg::U32(0); MOST + 1], |_| Ok(0)).is_err());
        let gone = Packed::new(&[Slot { buffer: BufferId(0), offset: 0 }.into()], |_| {
            Err(MachineError::Refused { why: "gone".to_owned() })
        });
        assert!(gone.is_err());
    }
}
