use crate::Sm;

/// Virtual architectures that sources may tell apart by `__CUDA_ARCH__`. Between two of them nothing used here appears.
pub const CLASSES: &[Sm] = &[
    Sm::new(6, 0),
    Sm::new(6, 1),
    Sm::new(7, 0),
    Sm::new(7, 5),
    Sm::new(8, 0),
    Sm::new(8, 9),
    Sm::new(9, 0),
];

/// The newest of some classes that runs on a device.
pub fn class_of(device: Sm, classes: &[Sm]) -> Option<Sm> {
    let reach = |class: &&Sm| (class.major, class.minor) <= (device.major, device.minor);
    classes.iter().filter(reach).max().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CUDA C++ programming guide, "Just-in-Time Compilation": PTX of a compute capability runs on equal or higher ones.
    #[test]
    fn a_device_gets_the_newest_class_not_above_it() {
        for (device, class) in [
            ((6, 1), (6, 1)),
            ((6, 2), (6, 1)),
            ((7, 2), (7, 0)),
            ((8, 6), (8, 0)),
            ((12, 0), (9, 0)),
        ] {
            let device = Sm::new(device.0, device.1);
            assert_eq!(class_of(device, CLASSES), Some(Sm::new(class.0, class.1)));
        }
        assert_eq!(class_of(Sm::new(5, 2), CLASSES), None);
        assert_eq!(class_of(Sm::new(9, 0), &CLASSES[..2]), Some(Sm::new(6, 1)));
    }
}
