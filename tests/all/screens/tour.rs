//! What people come for, done by keys alone on a machine with eight GPUs: how many keys each task takes, and what is on the screen
//! then. `cargo test --test all tour -- --nocapture` prints them.

use super::*;

/// A task, the keys from the first screen on, and words that are on the screen when it is done.
const TASKS: &[(&str, &str, &[&str])] = &[
    ("see who uses the GPUs", "", &["GPU-MEM", "python train.py"]),
    ("see the last five minutes", "t", &["5 min ago"]),
    ("read a value of some seconds ago", "left left", &["s ago"]),
    (
        "find one value of a GPU",
        "enter / p o w e r",
        &["power limit", "Enforced board power limit"],
    ),
    ("see what runs on the GPUs", "2", &["What runs where", "vLLM"]),
    ("see why, and the evidence", "2 down enter", &["Reasoning", "Evidence"]),
    ("sort processes by their load", "4 s", &["SM%▼"]),
    ("find the processes of a program", "4 / v l l m enter", &["1 of ", "vllm serve"]),
    ("ask a process to end", "4 K", &["SIGTERM"]),
    ("look at a GPU that is not here", "w 4 0 9 0 enter", &["RTX 4090"]),
    ("use a light theme", "T", &[]),
    ("see the keys", "?", &["Next tab"]),
];
/// The most keys a task may take, letters that are typed included.
const MOST: usize = 8;

#[test]
fn the_commonest_tasks_take_few_keys() {
    println!("{:<36} keys", "task");
    for (task, keys, words) in TASKS {
        let mut app = played("synthetic-h100x8");
        app.tab = Tab::Overview;
        keys.split_whitespace().for_each(|key| press(&mut app, key));
        let count = keys.split_whitespace().count();
        println!("{task:<36} {count:>4}  {keys}");
        let screen = svg::text(&drawn(&app, &plain(), (120, 36)));
        for word in *words {
            assert!(screen.contains(word), "{task}: no {word:?} after {keys:?}\n{screen}");
        }
        assert!(count <= MOST, "{task}");
    }
}
