use std::collections::HashMap;

use warpscope_probes::{Frame, Gpu, Origin, Reading};

/// Replaces what names a person or a machine by placeholders. The same text gets the same
/// placeholder for as long as one redactor lives, so that a recording stays readable.
#[derive(Debug, Default)]
pub struct Redactor {
    places: HashMap<(&'static str, String), String>,
}

impl Redactor {
    /// Redacts a frame in place: host and user names, identifiers and part numbers of boards, bus
    /// addresses of other ends, command lines, names of containers and files.
    pub fn frame(&mut self, frame: &mut Frame) {
        self.reading("host", &mut frame.host.machine.hostname);
        match &mut frame.origin {
            Origin::Local => {}
            Origin::Replay { file } => self.text("file", file),
            Origin::Remote { host } => self.text("host", host),
        }
        frame.gpus.iter_mut().for_each(|gpu| self.gpu(gpu));
        for process in &mut frame.processes {
            self.key(&mut process.gpu);
            self.reading("user", &mut process.host.user);
            self.reading("container", &mut process.host.container);
            self.reading("name", &mut process.host.name);
            self.reading("command", &mut process.host.command);
        }
        let known: Vec<_> = self.places.iter().filter(|(key, _)| key.1.len() > 3).collect();
        for notice in &mut frame.notices {
            for text in [&mut notice.what, &mut notice.remedy] {
                *text = without_homes(text);
                for ((_, secret), place) in &known {
                    *text = text.replace(secret.as_str(), place);
                }
            }
        }
    }

    /// Redacts one text of a kind in place: the placeholder is the kind and a number.
    pub fn text(&mut self, kind: &'static str, text: &mut String) {
        if !text.is_empty() {
            *text = self.place(kind, text);
        }
    }

    fn gpu(&mut self, gpu: &mut Gpu) {
        self.key(&mut gpu.key);
        self.reading("GPU", &mut gpu.identity.uuid);
        self.reading("part", &mut gpu.identity.board_part_number);
        for instance in &mut gpu.mig {
            if let Some(uuid) = &mut instance.uuid {
                self.text("MIG", uuid);
            }
        }
    }

    /// Keys of the catalogue and bus addresses name nobody.
    fn key(&mut self, key: &mut String) {
        if !key.starts_with("what-if:") && !key.starts_with("pci:") {
            self.text("GPU", key);
        }
    }

    fn reading(&mut self, kind: &'static str, reading: &mut Reading<String>) {
        if let Reading::Value(text) | Reading::Late(Some(text)) = reading {
            self.text(kind, text);
        }
    }

    fn place(&mut self, kind: &'static str, text: &str) -> String {
        let same_kind = self.places.keys().filter(|key| key.0 == kind).count();
        let key = (kind, text.to_owned());
        self.places.entry(key).or_insert_with(|| format!("{kind}-{}", same_kind + 1)).clone()
    }
}

/// A text with the first folder below `/home` or `/Users`, and everything below `/root`, hidden.
pub(crate) fn without_homes(text: &str) -> String {
    let mut kept = text.to_owned();
    for parent in ["/home/", "/Users/"] {
        let mut done = 0;
        while let Some(found) = kept[done..].find(parent) {
            let start = done + found;
            let name = start + parent.len();
            let end = kept[name..].find(|c: char| c == '/' || c.is_whitespace());
            kept.replace_range(start..end.map_or(kept.len(), |end| name + end), "~");
            done = start + 1;
        }
    }
    kept.replace("/root/", "~/")
}

#[cfg(test)]
mod tests {
    use warpscope_probes::process::Process;
    use warpscope_probes::{Notice, Severity};

    use super::*;

    fn frame() -> Frame {
        let mut frame = Frame::default();
        frame.host.machine.hostname = "ada-lovelace".to_owned().into();
        let mut gpu = Gpu { key: "GPU-secret".into(), ..Gpu::default() };
        gpu.identity.uuid = "GPU-secret".to_owned().into();
        gpu.identity.name = "NVIDIA H200".to_owned().into();
        gpu.identity.board_part_number = Reading::Late(Some("part-secret".into()));
        frame.gpus.push(gpu);
        let mut process = Process { gpu: "GPU-secret".into(), ..Process::default() };
        process.host.user = "secretuser".to_owned().into();
        process.host.command = "python --token secret".to_owned().into();
        process.host.name = "secretname".to_owned().into();
        frame.processes.push(process);
        frame.notices.push(Notice {
            id: "x".into(),
            severity: Severity::Info,
            what: "ada-lovelace: /home/secretuser/lib.so and /root/secret".into(),
            remedy: String::new(),
        });
        frame
    }

    #[test]
    fn no_secret_is_left_anywhere_in_the_json() {
        let mut frame = frame();
        Redactor::default().frame(&mut frame);
        let json = serde_json::to_string(&frame).expect("is JSON");
        for secret in ["ada", "GPU-secret", "part-secret", "secretuser", "token", "secretname"] {
            assert!(!json.contains(secret), "{secret} in {json}");
        }
        assert!(json.contains("NVIDIA H200"));
    }

    #[test]
    fn placeholders_are_stable_and_still_join_processes_to_their_gpu() {
        let mut redactor = Redactor::default();
        let (mut one, mut two) = (frame(), frame());
        redactor.frame(&mut one);
        redactor.frame(&mut two);
        assert_eq!(one, two);
        assert_eq!(one.gpus[0].key, one.processes[0].gpu);
        assert_eq!(one.gpus[0].identity.uuid.value(), Some(&one.gpus[0].key));
    }

    #[test]
    fn homes_are_hidden_wherever_they_stand() {
        assert_eq!(without_homes("a /home/ada/x /home/bob"), "a ~/x ~");
        assert_eq!(without_homes("/Users/ada"), "~");
        assert_eq!(without_homes("/root/x and /homework"), "~/x and /homework");
    }
}
