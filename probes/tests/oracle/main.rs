//! The scanner against NVIDIA's own tool on real wheels. Ignored by default: it downloads half a gigabyte once. The gate runs it.

mod compare;
mod fetch;

use warpscope_kernels::Sm;
use warpscope_probes::inspect::binary::{Reach, Scan};

/// Old and new toolchains, none, LZ4 and zstd compression, code left over from linking, and libraries for other makes of GPU.
const WHEELS: [&str; 3] = ["bitsandbytes==0.43.3", "bitsandbytes==0.45.0", "bitsandbytes==0.50.2"];

#[test]
#[ignore = "downloads wheels and tools; run with --ignored"]
fn bitsandbytes_holds_what_cuobjdump_lists() {
    let tools = match fetch::tools() {
        Ok(tools) => tools,
        Err(why) => return println!("SKIPPED: pip cannot reach its index ({why})"),
    };
    for requirement in WHEELS {
        let (scan, rows) = match compare::wheel(requirement, &tools) {
            Ok(compared) => compared,
            Err(why) => return println!("SKIPPED: {requirement}: {why}"),
        };
        for row in &rows {
            println!("{requirement} {row}");
        }
        assert!(rows.iter().all(compare::Row::is_explained), "{requirement}: see above");
        let same = rows
            .iter()
            .filter(|row| matches!(row.outcome, compare::Outcome::Same) && row.images > 0);
        assert!(same.count() >= 7, "{requirement}: too few libraries to mean anything");
        if requirement.ends_with("0.43.3") {
            text_before_linking_is_no_way_out(&scan);
        }
    }
}

/// The PTX for 9.0 of the library for CUDA 12.1 lies where nothing loads it.
fn text_before_linking_is_no_way_out(scan: &Scan) {
    let library =
        scan.members.iter().find(|member| member.path.ends_with("libbitsandbytes_cuda121.so"));
    let library = library.expect("the wheel has a library for CUDA 12.1");
    assert!(library.summary().ptx.is_empty() && !library.summary().relocatable.is_empty());
    assert_eq!(library.reach(Sm::new(12, 0), None), Reach::Fails);
    assert_eq!(library.reach(Sm::new(9, 0), None), Reach::Works);
}
