//! What a kernel costs and contains, held against its budget.

use std::collections::BTreeMap;

use warpscope_kernels::Sm;

use crate::ahead::{beyond_given_back, loads_ahead};
use crate::inner::Inner;
use crate::manifest::Entry;
use crate::recipe::{Budget, FamilyRecipe, InnerBudget, Limits};
use crate::sass::Code;

/// A kernel on a target, and all its instructions where they are known.
pub(crate) struct Built<'a> {
    /// Name of the kernel.
    pub name: &'a str,
    /// Machine code it is in.
    pub target: Sm,
    /// What it costs.
    pub entry: &'a Entry,
    /// How often the instructions occur that budgets name.
    pub counts: Option<&'a BTreeMap<String, u32>>,
    /// Its instructions where they are known.
    pub code: Option<&'a Code<'a>>,
}

/// What a kernel breaks, each in half a sentence.
pub(crate) fn broken(recipe: &FamilyRecipe, built: &Built) -> Vec<String> {
    let budgets = recipe.budget.iter().filter(|budget| budget.covers(built.name, built.target));
    let budgets: Vec<&Budget> = budgets.collect();
    let mut wrong = Vec::new();
    if let Some(usage) = built.entry.usage {
        let spills = budgets.iter().filter_map(|budget| budget.spill_bytes).max().unwrap_or(0);
        wrong.extend(above("bytes spilled", usage.spills, Some(spills)));
        for budget in &budgets {
            wrong.extend(above("registers", usage.registers, budget.registers_max));
            wrong.extend(above("bytes of shared memory", usage.shared, budget.shared_max));
        }
    }
    if let Some(code) = built.code {
        wrong.extend(budgets.iter().flat_map(|budget| short_of_loads(budget, code)));
        wrong.extend(
            beyond_given_back(code)
                .map(|(kept, named)| format!("R{named} where a warp has kept {kept} registers")),
        );
    }
    let Some(counts) = built.counts else { return wrong };
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    for budget in &budgets {
        wrong.extend(above("instructions", count("all"), budget.instructions_max));
        for (name, most) in &budget.at_most {
            wrong.extend(above(name, count(name), Some(*most)));
        }
        let short = budget.needs.iter().filter(|(name, least)| count(name) < **least);
        wrong
            .extend(short.map(|(name, least)| format!("{} {name}, at least {least}", count(name))));
    }
    wrong
}

fn short_of_loads(budget: &Budget, code: &Code) -> Vec<String> {
    let rows = budget.ahead.iter().map(|(name, least)| (name, loads_ahead(code, name), *least));
    let short = rows.filter(|(_, found, least)| found < least);
    short
        .map(|(name, found, least)| {
            format!("{found} {name} before the first is used, at least {least}")
        })
        .collect()
}

/// What a loop costs for each unit of its work, and may cost.
pub(crate) struct Rate {
    pub what: &'static str,
    pub found: Option<f64>,
    pub most: Option<f64>,
}

/// The rates of a loop.
pub(crate) fn rates(budget: &InnerBudget, target: Sm, inner: &Inner) -> [Rate; 4] {
    let rate = |what, found, limits: &Limits| Rate { what, found, most: limits.on(target) };
    [
        rate(
            "instructions per weight",
            inner.per_weight(),
            &budget.lane_instructions_per_weight_max,
        ),
        rate("LDS and SHFL per weight", inner.shared_per_weight(), &budget.shared_per_weight_max),
        rate("instructions per MMA", inner.per_product(), &budget.instructions_per_mma_max),
        rate(
            "shared bytes per MMA",
            inner.shared_bytes_per_product(),
            &budget.shared_bytes_per_mma_max,
        ),
    ]
}

/// What the innermost loop of a kernel breaks.
pub(crate) fn broken_inner(budget: &InnerBudget, target: Sm, inner: Option<&Inner>) -> Vec<String> {
    let Some(inner) = inner else {
        let names: Vec<&str> = budget.names().collect();
        return vec![format!("no loop of it holds what its budget counts: {}", names.join(", "))];
    };
    let count = |name: &str| inner.named.get(name).copied().unwrap_or(0);
    let mut wrong = Vec::new();
    for Rate { what, found, most } in rates(budget, target, inner) {
        let Some(most) = most else { continue };
        match found {
            // Two decimals are what a budget says.
            Some(found) if found < most + 0.005 => {}
            Some(found) => wrong.push(format!("{found:.2} {what} in its loop, at most {most:.2}")),
            None => wrong.push(format!("its loop has none of what {what} are counted by")),
        }
    }
    for (name, most) in &budget.at_most {
        wrong.extend(above(&format!("{name} in its loop"), count(name), Some(*most)));
    }
    let short = budget.needs.iter().filter(|(name, least)| count(name) < **least);
    wrong.extend(
        short.map(|(name, least)| format!("{} {name} in its loop, at least {least}", count(name))),
    );
    for (name, least) in &budget.meanwhile {
        let found = inner.meanwhile.get(name).copied().unwrap_or(0);
        if found < *least {
            wrong.push(format!("{found} {name} between its waits for products, at least {least}"));
        }
    }
    wrong
}

fn above(what: &str, found: u32, most: Option<u32>) -> Option<String> {
    let most = most.filter(|most| found > *most)?;
    Some(format!("{found} {what}, at most {most}"))
}

/// Budgets that speak of no kernel there is.
pub(crate) fn stale(recipe: &FamilyRecipe, built: &[(String, Sm)]) -> Vec<String> {
    let unused = |budget: &&Budget| !built.iter().any(|(name, sm)| budget.covers(name, *sm));
    let names = recipe.budget.iter().filter(unused).map(|budget| budget.entries.join(", "));
    let met = |budget: &&InnerBudget| built.iter().any(|(name, sm)| budget.covers(name, *sm));
    let loops = recipe.inner.iter().filter(|budget| !met(budget));
    let names = names.chain(loops.map(|budget| budget.entries.join(", ")));
    names.map(|names| format!("{}: a budget for {names} meets no kernel", recipe.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Usage;
    use crate::recipe::Recipe;

    const RECIPE: &str = r#"
targets = ["sm_80"]
[[family]]
name = "g"
classes = ["sm_80"]
[[family.budget]]
entries = ["g_*"]
registers_max = 64
shared_max = 100
instructions_max = 50
needs = { HMMA = 2 }
at_most = { BAR = 0 }
"#;

    fn verdict(registers: u32, spills: u32, counts: &[(&str, u32)]) -> Vec<String> {
        let recipe = Recipe::parse(RECIPE).unwrap();
        let usage = Usage { registers, shared: 100, stack: 0, spills, barriers: 0 };
        let entry = Entry { usage: Some(usage), ..Entry::default() };
        let counts = counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let target = Sm::new(8, 0);
        broken(
            &recipe.family[0],
            &Built { name: "g_1", target, entry: &entry, counts: Some(&counts), code: None },
        )
    }

    #[test]
    fn a_kernel_within_its_budget_breaks_nothing() {
        assert_eq!(verdict(64, 0, &[("all", 50), ("HMMA", 2)]), [""; 0]);
    }

    #[test]
    fn everything_broken_is_named() {
        assert_eq!(
            verdict(65, 8, &[("all", 51), ("HMMA", 1), ("BAR", 1)]),
            [
                "8 bytes spilled, at most 0",
                "65 registers, at most 64",
                "51 instructions, at most 50",
                "1 BAR, at most 0",
                "1 HMMA, at least 2"
            ]
        );
    }

    #[test]
    fn a_loop_that_costs_too_much_is_named_with_what_it_may() {
        let text = "entries = []\nweights = { LDG = 64 }\nneeds = { HMMA = 2 }\nat_most = { BAR = 0 }
            lane_instructions_per_weight_max = { sm_80 = 1.25 }\nshared_bytes_per_mma_max = { sm_90 = 1 }";
        let budget: InnerBudget = toml::from_str(text).unwrap();
        let named = [("HMMA".to_owned(), 2), ("BAR".to_owned(), 0)].into();
        let good = Inner { all: 80, weights: 2048, named, ..Inner::default() };
        let target = Sm::new(8, 0);
        assert_eq!(broken_inner(&budget, target, Some(&good)), [""; 0]);
        let named = [("HMMA".to_owned(), 1), ("BAR".to_owned(), 3)].into();
        let bad = Inner { all: 84, named, ..good.clone() };
        assert_eq!(
            broken_inner(&budget, target, Some(&bad)),
            [
                "1.31 instructions per weight in its loop, at most 1.25",
                "3 BAR in its loop, at most 0",
                "1 HMMA in its loop, at least 2"
            ]
        );
        let unknown = ["its loop has none of what shared bytes per MMA are counted by"];
        assert_eq!(broken_inner(&budget, Sm::new(9, 0), Some(&good)), unknown);
        assert_eq!(broken_inner(&budget, target, None).len(), 1);
    }

    #[test]
    fn a_budget_without_kernels_is_stale() {
        let recipe = Recipe::parse(RECIPE).unwrap();
        let built = |name: &str| [(name.to_owned(), Sm::new(8, 0))];
        assert_eq!(stale(&recipe.family[0], &built("g_1")), [""; 0]);
        assert_eq!(
            stale(&recipe.family[0], &built("h_1")),
            ["g: a budget for g_* meets no kernel"]
        );
    }
}
