//! The order in which a fleet is shown.

use super::{Fleet, Machine, Member};

/// Machines by name, numbers in names as numbers; GPUs by machine and number.
pub(super) fn sorted(fleet: Fleet) -> Fleet {
    let Fleet { machines, gpus, columns, .. } = &fleet;
    let mut order: Vec<usize> = (0..machines.len()).collect();
    order.sort_by_cached_key(|at| natural(&machines[*at].name));
    let mut rank = vec![0; machines.len()];
    for (new, old) in order.iter().enumerate() {
        rank[*old] = new;
    }
    let mut members: Vec<usize> = (0..gpus.len()).collect();
    members.sort_by_cached_key(|at| {
        let member = &gpus[*at];
        (rank[member.machine], member.index.unwrap_or(u32::MAX), member.key.clone())
    });
    let columns = columns.iter().map(|(field, values)| {
        (*field, members.iter().map(|at| values.get(*at).copied().flatten()).collect())
    });
    let columns = columns.collect();
    let mut gpus: Vec<Member> = members.iter().map(|at| gpus[*at].clone()).collect();
    gpus.iter_mut().for_each(|gpu| gpu.machine = rank[gpu.machine]);
    let mut machines: Vec<Machine> = order.iter().map(|at| machines[*at].clone()).collect();
    let mut from = 0;
    for (at, machine) in machines.iter_mut().enumerate() {
        let count = gpus[from..].iter().take_while(|gpu| gpu.machine == at).count();
        machine.gpus = from..from + count;
        from += count;
    }
    Fleet { machines, gpus, columns, ..fleet }
}

/// A name whose numbers compare as numbers; what has none comes before what goes on with one.
pub fn natural(name: &str) -> Vec<(String, Option<u64>)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let digits =
            rest[text..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |n| text + n);
        let number = (text < digits).then(|| rest[text..digits].parse().unwrap_or(u64::MAX));
        parts.push((rest[..text].to_lowercase(), number));
        rest = &rest[digits..];
    }
    parts
}
