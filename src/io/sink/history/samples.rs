//! Samples as the store keeps them: eight bytes each, and one bit for whether it counts.

/// Samples of one kernel in one run that lie beside each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// Times, nanoseconds.
    pub(super) t_ns: Vec<f64>,
    /// Clock of each, MHz; not a number where it is not known.
    pub(super) sm_mhz: Vec<f64>,
    /// Whether each is tainted.
    pub(super) tainted: Vec<bool>,
}

/// A part as bytes: times, clocks where one is known, marks where one is set.
pub(super) struct Packed {
    pub(super) t_ns: Vec<u8>,
    pub(super) sm_mhz: Option<Vec<u8>>,
    pub(super) tainted: Option<Vec<u8>>,
}

impl Part {
    pub(super) fn len(&self) -> usize {
        self.t_ns.len()
    }

    pub(super) fn add(&mut self, t_ns: &[f64], sm_mhz: &[f64], tainted: bool) {
        let clocks_known = sm_mhz.len() == t_ns.len();
        self.t_ns.extend_from_slice(t_ns);
        if clocks_known {
            self.sm_mhz.extend_from_slice(sm_mhz);
        }
        self.sm_mhz.resize(self.t_ns.len(), f64::NAN);
        self.tainted.resize(self.t_ns.len(), tainted);
    }

    pub(super) fn clear(&mut self) {
        self.t_ns.clear();
        self.sm_mhz.clear();
        self.tainted.clear();
    }

    pub(super) fn pack(&self) -> Packed {
        let known = self.sm_mhz.iter().any(|mhz| mhz.is_finite());
        let any = self.tainted.contains(&true);
        Packed {
            t_ns: bytes(&self.t_ns),
            sm_mhz: known.then(|| bytes(&self.sm_mhz)),
            tainted: any.then(|| bits(&self.tainted)),
        }
    }

    /// The part of these bytes. What is too short stands for nothing known and nothing tainted.
    pub(super) fn unpack(t_ns: &[u8], sm_mhz: Option<&[u8]>, tainted: Option<&[u8]>) -> Self {
        let t_ns = numbers(t_ns);
        let count = t_ns.len();
        let mut sm_mhz = sm_mhz.map(numbers).unwrap_or_default();
        sm_mhz.resize(count, f64::NAN);
        let set = |at: usize| {
            tainted.and_then(|bits| bits.get(at / 8)).is_some_and(|byte| byte >> (at % 8) & 1 == 1)
        };
        Self { t_ns, sm_mhz, tainted: (0..count).map(set).collect() }
    }

    /// The times that count, put behind others.
    pub(super) fn clean_into(&self, clean: &mut Vec<f64>) {
        let counts = |(time, tainted): (&f64, &bool)| {
            (!tainted && time.is_finite() && *time > 0.0).then_some(*time)
        };
        clean.extend(self.t_ns.iter().zip(&self.tainted).filter_map(counts));
    }

    pub(super) fn tainted(&self) -> usize {
        self.tainted.iter().filter(|tainted| **tainted).count()
    }
}

fn bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn numbers(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|eight| f64::from_le_bytes(*eight)).collect()
}

fn bits(flags: &[bool]) -> Vec<u8> {
    let byte = |eight: &[bool]| {
        eight.iter().enumerate().fold(0, |byte, (at, flag)| byte | u8::from(*flag) << at)
    };
    flags.chunks(8).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_the_same() {
        let mut part = Part::default();
        for at in 0..21 {
            let clock = if at > 5 { vec![1000.0] } else { Vec::new() };
            part.add(&[f64::from(at) + 0.1], &clock, at % 3 == 0);
        }
        let packed = part.pack();
        assert_eq!((packed.t_ns.len(), packed.tainted.as_ref().map(Vec::len)), (168, Some(3)));
        let back = Part::unpack(&packed.t_ns, packed.sm_mhz.as_deref(), packed.tainted.as_deref());
        assert_eq!((&back.t_ns, &back.tainted), (&part.t_ns, &part.tainted));
        let known: Vec<bool> = back.sm_mhz.iter().map(|mhz| mhz.is_finite()).collect();
        assert_eq!(known.iter().filter(|known| **known).count(), 15);
        let mut clean = Vec::new();
        back.clean_into(&mut clean);
        assert_eq!((clean.len(), back.tainted(), clean[0]), (14, 7, 1.1));
    }

    #[test]
    fn bytes_cut_short_or_of_no_number_give_no_sample() {
        let part = Part::unpack(&[0; 17], Some(&[1; 3]), Some(&[]));
        assert_eq!((part.len(), part.tainted()), (2, 0));
        let mut clean: Vec<f64> = Vec::new();
        Part::unpack(&[0xff; 16], None, None).clean_into(&mut clean);
        part.clean_into(&mut clean);
        assert!(clean.is_empty());
    }
}
