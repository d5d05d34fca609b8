//! A kernel as other texts have it, and the cases that find it wrong.

use ptx_interpreter::{Interpreter, Module, device};
use warpscope_kernels::gpu::{Case, DeviceFacts, GpuKernel, family, run_case};

use crate::machine::text_for;

/// A kernel on a device, proven as it is.
pub(crate) struct Proof {
    kernel: &'static GpuKernel,
    facts: DeviceFacts,
    family: String,
    cases: Vec<Case>,
    /// Its PTX without the entries that none of the cases launch; lines stay where they are.
    pub(crate) text: String,
}

impl Proof {
    /// The cases whose names have a text; `of` is the family they launch entries of, where it is not the kernel's own.
    pub(crate) fn new(id: &str, (major, minor): (u8, u8), of: Option<&str>, names: &str) -> Self {
        let kernel =
            family::kernels().find(|known| known.id == id).expect("a kernel of the registry");
        let facts = device(major, minor).expect("a device of the table");
        let family = of.unwrap_or(kernel.family).to_owned();
        let text = text_for(&family, &facts).unwrap_or_else(|error| panic!("{id}: {error}"));
        let mut cases = (kernel.cases)(&facts);
        cases.retain(|case| case.name.contains(names));
        assert!(!cases.is_empty(), "{id} has no case of {names}");
        let mut proof = Self { kernel, facts, family, cases, text };
        let module = proof.module(&proof.text);
        assert_eq!(proof.run(&module), None, "{id} as it is");
        proof.text = launched(&proof.text, &module);
        proof
    }

    /// What finds another text wrong; `None` where all cases hold.
    pub(crate) fn finding(&self, text: &str) -> Option<String> {
        self.run(&self.module(text))
    }

    fn module(&self, text: &str) -> Module {
        let id = self.kernel.id;
        Module::parse(text).unwrap_or_else(|error| panic!("a mutant of {id} is no PTX: {error}"))
    }

    fn run(&self, module: &Module) -> Option<String> {
        let (family, module, facts) = (self.family.clone(), module.clone(), self.facts.clone());
        let images = Box::new(move |asked: &str, _| {
            if asked == family {
                return Ok(module.clone());
            }
            Module::parse(&text_for(asked, &facts)?).map_err(|error| error.to_string())
        });
        let mut machine = Interpreter::with_images(self.facts.clone(), images).limit(20_000_000);
        self.cases.iter().find_map(|case| match run_case(&mut machine, case) {
            Ok(outcome) => outcome.wrong,
            Err(error) => Some(error.to_string()),
        })
    }
}

/// A text without the lines of entries of which nothing was executed.
fn launched(text: &str, module: &Module) -> String {
    let idle = module.entries().filter(|entry| entry.coverage().0 == 0);
    let mut lines: Vec<&str> = text.lines().collect();
    for (number, _) in idle.flat_map(|entry| lines_of(text, &entry.name)) {
        lines[number] = "";
    }
    lines.join("\n")
}

/// The lines of an entry, by their numbers in the text.
pub(crate) fn lines_of<'a>(text: &'a str, entry: &str) -> Vec<(usize, &'a str)> {
    let start = format!(".entry {entry}(");
    let begins = |line: &(usize, &str)| line.1.contains(".entry ");
    let all = text.lines().enumerate().skip_while(|line| !line.1.ends_with(&start));
    all.clone().take(1).chain(all.skip(1).take_while(|line| !begins(line))).collect()
}
