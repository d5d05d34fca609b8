use super::*;
use crate::inspect::env::elf::tests::library;

fn program(inventory: &Inventory) -> &Environment {
    let mut found = inventory.environments.iter().filter(|one| one.kind == EnvKind::Program);
    let one = found.next().expect("a program");
    assert_eq!(found.next(), None);
    one
}

#[test]
fn llama_cpp_is_found_where_its_link_ends() {
    let fake = Fake::new();
    let bin = "/home/ada/llama.cpp/build/bin";
    for file in [
        "llama-server",
        "llama-cli",
        "libggml-cuda.so",
        "libggml-base.so.0.9.4",
        "libllama.so.0.0.6869",
        "convert.py",
    ] {
        fake.put(&format!("{bin}/{file}"), "\x7fELF");
    }
    fake.link(&format!("{bin}/libggml-base.so"), "libggml-base.so.0.9.4");
    fake.link("/usr/local/bin/llama-server", &format!("{bin}/llama-server"));
    let mut places = fake.places();
    places.vars.insert("PATH".into(), "/usr/local/bin".into());
    let inventory = find(&places, &mut Progress::silent());
    let found = program(&inventory);
    assert_eq!(found.root, fake.shown(bin));
    assert_eq!(names(found), ["llama.cpp b6869"]);
    let expected = [
        "libggml-base.so.0.9.4",
        "libggml-cuda.so",
        "libllama.so.0.0.6869",
        "llama-cli",
        "llama-server",
    ];
    let mut files = libraries(&found.packages[0], &fake.shown(bin));
    files.sort();
    assert_eq!(files, expected);
}

/// The tree of Ollama's own archive: one folder for each CUDA, each with its own cuBLAS, which never meet.
#[test]
fn each_runner_of_ollama_is_a_package_by_itself() {
    let fake = Fake::new();
    let root = "/usr/local/lib/ollama";
    fake.put("/usr/local/bin/ollama", "\x7fELF");
    fake.put(&format!("{root}/libggml-base.so"), "\x7fELF");
    for major in ["12", "13"] {
        let folder = format!("{root}/cuda_v{major}");
        let soname = format!("libcublas.so.{major}");
        fake.put(&format!("{folder}/libggml-cuda.so"), library(&[(1, &soname), (29, "$ORIGIN")]));
        fake.put(&format!("{folder}/{soname}.8.4.1"), library(&[(14, &soname)]));
        fake.link(&format!("{folder}/{soname}"), &format!("{soname}.8.4.1"));
    }
    let mut places = fake.places();
    places.vars.insert("PATH".into(), "/usr/local/bin".into());
    let inventory = find(&places, &mut Progress::silent());
    let found = program(&inventory);
    assert_eq!(found.root, fake.shown(root));
    let runners: Vec<_> = found.packages.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(runners, ["ollama", "ollama cuda_v12", "ollama cuda_v13"]);
    assert!(found.packages[0].libraries.iter().any(|one| one.path.ends_with("bin/ollama")));
    let wins: Vec<_> =
        found.cuda.iter().filter(|one| one.wins).filter_map(|one| one.version.clone()).collect();
    assert_eq!(wins, ["12.8.4.1", "13.8.4.1"]);
    assert_eq!(found.problems, [""; 0]);
}
