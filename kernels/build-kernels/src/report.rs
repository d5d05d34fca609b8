//! What the assembler says of each kernel.

use std::collections::BTreeMap;

use crate::manifest::Usage;

/// What `ptxas -v` reports, by kernel.
pub(crate) fn usages(said: &str) -> BTreeMap<String, Usage> {
    let mut all = BTreeMap::new();
    let (mut name, mut frame) = (String::new(), (0, 0));
    for line in said.lines() {
        if let Some(rest) = line.split_once("Compiling entry function '").map(|(_, rest)| rest) {
            name = rest.split('\'').next().unwrap_or_default().to_owned();
        } else if line.contains("bytes stack frame") {
            let spills = before(line, " bytes spill stores") + before(line, " bytes spill loads");
            frame = (before(line, " bytes stack frame"), spills);
        } else if line.contains(": Used ") && line.contains(" registers") {
            let usage = Usage {
                registers: before(line, " registers"),
                shared: before(line, " bytes smem"),
                stack: frame.0,
                spills: frame.1,
                barriers: before(line, " barriers"),
            };
            all.insert(std::mem::take(&mut name), usage);
            frame = (0, 0);
        }
    }
    all
}

/// The number that stands before some words; none is zero, as the assembler leaves out what is.
fn before(line: &str, words: &str) -> u32 {
    let Some((head, _)) = line.split_once(words) else { return 0 };
    let start = head.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    head[start..].parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Said by ptxas 12.9.86 about two kernels; the stack frame of the second was made by a limit of 24 registers.
    const SAID: &str = "ptxas info    : 8 bytes gmem, 16 bytes cmem[4]
ptxas info    : Compiling entry function 't_sum' for 'sm_80'
ptxas info    : Function properties for t_sum
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 1 barriers, 128 bytes smem, 372 bytes cmem[0]
ptxas info    : Compile time = 10.351 ms
ptxas info    : Compiling entry function 'tight' for 'sm_80'
ptxas info    : Function properties for tight
    40 bytes stack frame, 36 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 40 bytes cumulative stack size, 376 bytes cmem[0]
";

    #[test]
    fn every_figure_is_read() {
        let usages = usages(SAID);
        let sum = Usage { registers: 12, shared: 128, stack: 0, spills: 0, barriers: 1 };
        let tight = Usage { registers: 24, shared: 0, stack: 40, spills: 80, barriers: 0 };
        assert_eq!(usages, [("t_sum".to_owned(), sum), ("tight".to_owned(), tight)].into());
    }
}
