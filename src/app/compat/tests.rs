use warpscope_kernels::Sm;
use warpscope_probes::Gpu;

use super::*;

fn gpu(name: &str, sm: Sm) -> Gpu {
    let mut gpu = Gpu { key: name.into(), ..Gpu::default() };
    gpu.identity.name = name.to_owned().into();
    gpu.identity.sm = sm.into();
    gpu
}

#[test]
fn gpus_of_one_kind_share_their_verdicts_and_each_has_its_own_column() {
    let (old, new) = (gpu("T4", Sm::new(7, 5)), gpu("H100", Sm::new(9, 0)));
    let gpus = vec![new.clone(), old.clone(), new.clone(), old];
    let mut compat = Compat::new(Arc::new(RuleBase::builtin().clone()));
    compat.renew(&Frame { gpus, ..Frame::default() });
    assert_eq!(compat.kinds.len(), 2);
    for row in 0..compat.all_rows().len() {
        assert_eq!(compat.verdict(row, 0), compat.verdict(row, 2));
        assert_eq!(
            compat.verdict(row, 3).map(|verdict| verdict.gpu.clone()),
            Some("T4".to_owned())
        );
    }
    assert!(compat.of(1).count() > 20 && compat.verdict(0, 4).is_none());
    assert_ne!(compat.dtypes(0), compat.dtypes(1));

    compat.renew(&Frame { gpus: vec![new], ..Frame::default() });
    assert_eq!(compat.verdict(0, 0).map(|verdict| verdict.gpu.clone()), Some("H100".to_owned()));
    assert!(compat.verdict(0, 1).is_none());
}
