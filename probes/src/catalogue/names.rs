use std::collections::HashMap;

use super::find::folded;
use super::part::Part;

/// Places of products in the catalogue by their folded names.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Names that mean one product.
    own: HashMap<String, usize>,
    /// Names NVML gives, which several may share.
    shared: HashMap<String, Vec<usize>>,
}

impl Names {
    pub(super) fn of(parts: &[Part]) -> Self {
        let mut names = Self::default();
        for (at, part) in parts.iter().enumerate() {
            for name in part.own_names() {
                names.own.entry(folded(name)).or_insert(at);
            }
            names.shared.entry(folded(&part.name)).or_default().push(at);
        }
        names
    }

    /// Those of a folded name; of several products that share it all.
    pub(super) fn places(&self, folded: &str) -> &[usize] {
        let own = self.own.get(folded).map(std::slice::from_ref);
        own.or_else(|| self.shared.get(folded).map(Vec::as_slice)).unwrap_or_default()
    }
}
