use super::super::shape::WeightRole;

/// A matrix, or several equal ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Part {
    pub(in super::super) role: WeightRole,
    /// Name of the module as checkpoints have it.
    pub(in super::super) name: String,
    pub(in super::super) rows: u64,
    pub(in super::super) columns: u64,
    /// How many there are: experts of a layer.
    pub(in super::super) count: u64,
    /// Whether it is a linear layer, which formats pack; tables and vectors stay as they are.
    pub(in super::super) linear: bool,
}

impl Part {
    pub(in super::super) fn values(&self) -> u64 {
        self.rows.saturating_mul(self.columns).saturating_mul(self.count)
    }
}

/// Collects parts while layers are worked out.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<Part>);

impl Parts {
    pub(super) fn linear(
        &mut self,
        role: WeightRole,
        name: impl Into<String>,
        out: u64,
        inner: u64,
    ) {
        self.push(role, name.into(), [out, inner, 1], true);
    }

    /// Adds linear layers below one name.
    pub(super) fn under(&mut self, role: WeightRole, name: &str) -> impl FnMut(&str, u64, u64) {
        move |part, out, inner| self.linear(role, format!("{name}.{part}"), out, inner)
    }

    /// A tensor that no format packs.
    pub(super) fn table(&mut self, role: WeightRole, name: &str, rows: u64, columns: u64) {
        self.push(role, name.to_owned(), [rows, columns, 1], false);
    }

    /// Vectors: norms, biases, convolutions.
    pub(super) fn small(&mut self, name: String, values: u64) {
        self.push(WeightRole::Small, name, [1, values, 1], false);
    }

    /// One matrix of every expert.
    pub(super) fn experts(&mut self, name: String, [out, inner, count]: [u64; 3]) {
        self.push(WeightRole::Experts, name, [out, inner, count], true);
    }

    pub(super) fn extend_as(&mut self, role: WeightRole, other: Self) {
        self.0.extend(other.0.into_iter().map(|part| Part { role, ..part }));
    }

    pub(super) fn into_inner(self) -> Vec<Part> {
        self.0
    }

    fn push(
        &mut self,
        role: WeightRole,
        name: String,
        [rows, columns, count]: [u64; 3],
        linear: bool,
    ) {
        if rows > 0 && columns > 0 && count > 0 {
            self.0.push(Part { role, name, rows, columns, count, linear });
        }
    }
}
