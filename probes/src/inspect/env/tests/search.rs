//! Environments that lie where no table names them, packages that are not whole, and programs without Python.

use super::*;
use crate::inspect::env::sweep::Sweep;

fn roots(inventory: &Inventory) -> Vec<String> {
    let mut roots: Vec<_> =
        inventory.environments.iter().map(|one| one.root.display().to_string()).collect();
    roots.sort();
    roots
}

/// Twenty-two places people were seen to put environments in.
#[test]
fn environments_are_found_wherever_they_lie_below_the_home() {
    let venvs = [
        "/home/ada/code/llm/server/.venv",
        "/home/ada/code/llm/server/env39",
        "/home/ada/src/github.com/a/b/c/venv",
        "/home/ada/.local/share/some-tool/runtime",
        "/home/ada/.cache/tool/envs/x1",
        "/home/ada/ComfyUI/venv",
        "/home/ada/stable-diffusion-webui/venv",
        "/home/ada/Documents/uni/ml project/.venv",
        "/home/ada/.virtualenvs/torch",
        "/home/ada/tools/axolotl/.venv",
        "/home/ada/a/b/c/d/e/venv",
    ];
    let condas = [
        "/home/ada/apps/miniconda",
        "/home/ada/apps/miniconda/envs/vllm",
        "/home/ada/.micromamba/envs/sd",
        "/home/ada/miniconda3",
        "/home/ada/miniconda3/envs/llm",
        "/home/ada/text-generation-webui/installer_files/env",
        "/home/ada/proj/.pixi/envs/default",
        "/home/ada/work/.conda",
    ];
    let fake = Fake::new();
    venvs.iter().for_each(|root| fake.venv(root));
    condas.iter().for_each(|root| fake.conda(root));
    fake.dir("/home/ada/portable/python_embeded/lib/python3.11/site-packages");
    fake.put("/home/ada/vendored/torch-2.8.0.dist-info/METADATA", "Name: torch\nVersion: 2.8.0\n");
    // What conda unpacked and has not linked is no environment.
    fake.dir("/home/ada/miniconda3/pkgs/numpy-2.0/lib/python3.11/site-packages");
    let inventory = fake.find();
    let found = roots(&inventory);
    for root in venvs.iter().chain(&condas).chain(&["/home/ada/vendored"]) {
        let shown = fake.shown(root).display().to_string();
        assert!(found.contains(&shown), "{root} is not in {found:#?}");
    }
    let portable = fake.shown("/home/ada/portable/python_embeded").display().to_string();
    assert!(found.iter().any(|root| root.starts_with(&portable)), "{found:#?}");
    assert!(!found.iter().any(|root| root.contains("/pkgs/")), "{found:#?}");
    assert_eq!(found.len(), venvs.len() + condas.len() + 2, "{found:#?}");
}

#[test]
fn a_walk_ends_and_says_where_it_was_and_what_it_left_out() {
    let fake = Fake::new();
    fake.venv("/home/ada/1/2/3/4/5/6/7/8/9/venv");
    fake.link("/home/ada/loop", "/home/ada");
    let inventory = fake.find();
    assert!(inventory.environments.is_empty());
    let [searched] = inventory.searched.as_slice() else { panic!("one root is searched") };
    assert_eq!(searched.root, fake.shown("/home/ada"));
    assert_eq!((searched.deeper, searched.ended.as_deref()), (1, None));
    assert_eq!(searched.folders, 8, "itself and seven below");
}

#[test]
fn below_a_folder_that_was_named_everything_is_found() {
    let fake = Fake::new();
    fake.venv("/data/team/a/venv");
    fake.conda("/data/team/b/env");
    let places = Places { named: vec!["/data/team".into()], ..fake.places() };
    let sweep = Sweep { places, pids: Vec::new(), only_named: true };
    let inventory = sweep.run(&mut Progress::silent());
    assert_eq!(
        roots(&inventory),
        ["/data/team/a/venv", "/data/team/b/env"]
            .map(|root| fake.shown(root).display().to_string())
    );
    assert!(inventory.environments.iter().all(|one| one.found_by == "below /data/team"));
    assert_eq!(inventory.unreadable, []);
}

#[test]
fn what_uv_made_is_called_so() {
    let fake = Fake::new();
    fake.venv("/home/ada/p/.venv");
    let config = "home = /usr/bin\nimplementation = CPython\nuv = 0.8.0\nversion_info = 3.11.9\n";
    fake.put("/home/ada/p/.venv/pyvenv.cfg", config);
    assert_eq!(only(&fake.find()).kind, EnvKind::Uv);
}

#[test]
fn what_the_record_lists_and_is_not_there_is_missing() {
    let fake = Fake::new();
    fake.venv("/home/ada/venv");
    let site = "/home/ada/venv/lib/python3.11/site-packages";
    fake.package(site, "torch", "2.8.0", &["torch/lib/libtorch_cuda.so", "torch/_C.so"]);
    fs::remove_file(fake.outer(&format!("{site}/torch/lib/libtorch_cuda.so"))).expect("removed");
    let inventory = fake.find();
    let torch = &only(&inventory).packages[0];
    let names = |list: &[Library]| {
        list.iter().map(|one| one.path.file_name().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&torch.missing), ["libtorch_cuda.so"]);
    assert_eq!(names(&torch.libraries), ["_C.so"]);
    assert_eq!(torch.libraries[0].recorded, Some(4));
    // conda changes files after the wheel's record was written.
    fake.put(&format!("{site}/torch-2.8.0.dist-info/INSTALLER"), "conda\n");
    let inventory = fake.find();
    let torch = &only(&inventory).packages[0];
    assert_eq!((&*torch.missing, torch.libraries[0].recorded), (&[][..], None));
}
