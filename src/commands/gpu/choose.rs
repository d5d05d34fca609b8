use crate::config::ALL;
use crate::worker::DeviceHere;

/// The devices selected by numbers, UUIDs and beginnings of UUIDs, each once, in the order of the driver. Nothing means all.
pub(crate) fn choose(all: Vec<DeviceHere>, which: &[String]) -> Result<Vec<DeviceHere>, String> {
    if which.is_empty() || which.iter().any(|word| word == ALL) {
        return Ok(all);
    }
    let mut wanted = vec![false; all.len()];
    for word in which {
        wanted[place(&all, word)?] = true;
    }
    Ok(all.into_iter().zip(wanted).filter(|row| row.1).map(|row| row.0).collect())
}

fn place(all: &[DeviceHere], word: &str) -> Result<usize, String> {
    let begins = |here: &DeviceHere| {
        let start = here.uuid.get(..word.len());
        word.len() > 3 && start.is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    let mut found = match word.parse::<usize>() {
        Ok(number) => (0..all.len()).filter(|at| *at == number).collect::<Vec<_>>(),
        Err(_) => (0..all.len()).filter(|at| begins(&all[*at])).collect(),
    };
    let device =
        |(at, here): (usize, &DeviceHere)| format!("{at} {} {}", here.device.name, here.uuid);
    let here = || all.iter().enumerate().map(device).collect::<Vec<_>>().join("; ");
    match (found.pop(), found.is_empty()) {
        (Some(at), true) => Ok(at),
        (Some(_), false) => Err(format!("{word} matches several UUIDs; GPUs here: {}", here())),
        (None, _) => Err(format!("no GPU {word}; GPUs here: {}", here())),
    }
}

#[cfg(test)]
mod tests {
    use warpscope_kernels::Sm;
    use warpscope_kernels::gpu::DeviceFacts;

    use super::*;

    fn here(uuid: &str) -> DeviceHere {
        let device = DeviceFacts {
            name: "T4".to_owned(),
            sm: Sm::new(7, 5),
            sms: 40,
            shared_per_block: 48 << 10,
            shared_per_block_optin: 64 << 10,
            l2_bytes: 4 << 20,
            memory_bytes: 15 << 30,
            driver_cuda: 12_080,
            simulated: false,
            tuned: warpscope_kernels::gpu::TunedConfigs::default(),
        };
        DeviceHere { uuid: uuid.to_owned(), device }
    }

    #[test]
    fn devices_go_by_number_and_by_the_beginning_of_a_uuid() {
        let all = || vec![here("GPU-aa11"), here("GPU-aa22"), here("GPU-bb33")];
        for (which, want) in [
            (&[][..], Ok(vec!["GPU-aa11", "GPU-aa22", "GPU-bb33"])),
            (&["all"], Ok(vec!["GPU-aa11", "GPU-aa22", "GPU-bb33"])),
            (&["2", "0"], Ok(vec!["GPU-aa11", "GPU-bb33"])),
            (&["GPU-bb", "2"], Ok(vec!["GPU-bb33"])),
            (&["gpu-AA2"], Ok(vec!["GPU-aa22"])),
            (&["GPU-aa"], Err("several")),
            (&["3"], Err("no GPU 3; GPUs here: 0 T4 GPU-aa11; 1 T4")),
            (&["GPU"], Err("no GPU GPU")),
            (&["GPU-ü"], Err("no GPU")),
        ] {
            let which: Vec<String> = which.iter().map(|word| (*word).to_owned()).collect();
            match (choose(all(), &which), want) {
                (Ok(found), Ok(want)) => {
                    assert!(found.iter().map(|here| here.uuid.as_str()).eq(want), "{which:?}");
                }
                (Err(why), Err(want)) => assert!(why.contains(want), "{which:?}: {why}"),
                (found, _) => panic!("{which:?}: {found:?}"),
            }
        }
    }
}
