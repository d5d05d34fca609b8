//! What tells one run from every other.

/// FNV-1a (Fowler, Noll, Vo): the same on every machine and with every compiler, which the standard library's hash does not promise.
pub(crate) struct Fnv {
    pub(crate) value: u64,
}

impl Default for Fnv {
    fn default() -> Self {
        Self { value: 0xcbf2_9ce4_8422_2325 }
    }
}

impl Fnv {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.value = (self.value ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As published with the algorithm: of nothing, of "a", of "foobar".
    #[test]
    fn the_hash_is_the_published_one() {
        let hash = |text: &str| {
            let mut hash = Fnv::default();
            hash.update(text.as_bytes());
            hash.value
        };
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }
}
