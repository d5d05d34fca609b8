use std::collections::HashMap;

use warpscope_probes::driver::DriverState;
use warpscope_probes::{Frame, Gpu, Notice, Origin, Reading};

/// Replaces what names a person or a machine by placeholders. The same text gets the same
/// placeholder for as long as one redactor lives, so that a recording stays readable.
#[derive(Debug, Default)]
pub struct Redactor {
    /// By kind, the number of each text.
    places: HashMap<&'static str, HashMap<String, usize>>,
}

impl Redactor {
    /// Redacts a frame in place: host and user names, identifiers and part numbers of boards, bus
    /// addresses of other ends, command lines, names of containers and files.
    pub fn frame(&mut self, frame: &mut Frame) {
        self.reading("host", &mut frame.host.machine.hostname);
        match &mut frame.origin {
            Origin::Local => {}
            Origin::Replay { file, host } => {
                self.text("file", file);
                if let Some(host) = host {
                    self.text("host", host);
                }
            }
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
        let quotes = frame.notices.iter().any(Notice::quotes);
        if let DriverState::Failed { error } = &mut frame.driver.status {
            *error = self.sentence(error, quotes);
        }
        for notice in &mut frame.notices {
            notice.what = self.sentence(&notice.what, notice.quotes());
            notice.remedy = self.mentioned(&notice.remedy);
        }
    }

    /// A sentence without the texts seen so far, and without what it quotes.
    fn sentence(&self, sentence: &str, quotes: bool) -> String {
        let own = sentence.split_once(": ").filter(|_| quotes).map(|parts| parts.0);
        own.map_or_else(|| self.mentioned(sentence), |own| self.mentioned(own) + ".")
    }

    /// A sentence without the texts seen so far.
    fn mentioned(&self, sentence: &str) -> String {
        let texts = self
            .places
            .iter()
            .flat_map(|(kind, texts)| texts.iter().map(move |(text, number)| (text, kind, number)));
        let mut texts: Vec<_> = texts.filter(|(text, ..)| sentence.contains(&text[..])).collect();
        texts.sort_by_key(|(text, ..)| std::cmp::Reverse(text.len()));
        texts.iter().fold(without_homes(sentence), |sentence, (text, kind, number)| {
            replaced(&sentence, text, &format!("{kind}-{number}"))
        })
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
        let same_kind = self.places.entry(kind).or_default();
        let next = same_kind.len() + 1;
        let number = *same_kind.entry(text.to_owned()).or_insert(next);
        format!("{kind}-{number}")
    }
}

/// A sentence with a placeholder for a text; a short one counts only as a word, or it would tear holes into others.
fn replaced(sentence: &str, text: &str, placeholder: &str) -> String {
    const SHORT: usize = 3;
    let goes_on = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let mut kept = String::with_capacity(sentence.len());
    let mut end = 0;
    for (at, _) in sentence.match_indices(text) {
        let (before, after) = (&sentence[..at], &sentence[at + text.len()..]);
        let is_part = goes_on(before.chars().next_back()) || goes_on(after.chars().next());
        if text.len() > SHORT || !is_part {
            kept.push_str(&sentence[end..at]);
            kept.push_str(placeholder);
            end = at + text.len();
        }
    }
    kept + &sentence[end..]
}

/// A text in which the homes of users, and root's, are `~`.
pub(crate) fn without_homes(text: &str) -> String {
    let ends = |c: char| c == '/' || c.is_whitespace();
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(slash) = rest.find('/') {
        let (before, path) = rest.split_at(slash);
        kept.push_str(before);
        let home = ["/home/", "/Users/"].iter().find_map(|parent| {
            let name = path.strip_prefix(parent)?;
            Some(parent.len() + name.find(ends).unwrap_or(name.len()))
        });
        let root =
            path.strip_prefix("/root").filter(|after| after.is_empty() || after.starts_with(ends));
        let hidden = home.or_else(|| root.map(|after| path.len() - after.len()));
        kept.push_str(if hidden.is_some() { "~" } else { "/" });
        rest = &path[hidden.unwrap_or(1)..];
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use warpscope_probes::Severity;
    use warpscope_probes::process::Process;

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
            what: "ada-lovelace: /home/secretuser/lib.so".into(),
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

    /// The words are those of OpenSSH's client.
    #[test]
    fn what_ssh_says_names_nobody() {
        let mut frame = frame();
        frame.origin = Origin::Remote { host: "n01".into() };
        let what = "n01 is not connected: alice@login.corp.example: Permission denied (publickey).; next attempt in 7 s.";
        frame.driver.status = DriverState::Failed { error: what.into() };
        let notice = |id: &str, what: &str| Notice {
            id: id.into(),
            severity: Severity::Error,
            what: what.into(),
            remedy: "`ssh n01` has to work without a password.".into(),
        };
        frame.notices = vec![
            notice(Notice::HOST_LOST, what),
            notice(
                Notice::FLEET_LOST,
                "The server does not answer: http://prom.corp.example:9090: refused",
            ),
            notice("host.nvidia_smi", "n01 is read through nvidia-smi; n012 and an01 are not."),
        ];
        Redactor::default().frame(&mut frame);
        let said: Vec<&str> = frame.notices.iter().map(|notice| notice.what.as_str()).collect();
        let lost = "host-2 is not connected.";
        let smi = "host-2 is read through nvidia-smi; n012 and an01 are not.";
        assert_eq!(said, [lost, "The server does not answer.", smi]);
        assert_eq!(frame.driver.status, DriverState::Failed { error: lost.into() });
        assert_eq!(frame.notices[0].remedy, "`ssh host-2` has to work without a password.");
    }

    #[test]
    fn an_error_of_the_driver_is_read_for_names() {
        let mut frame = frame();
        let error = "/home/secretuser/lib.so on ada-lovelace: not found".to_owned();
        frame.driver.status = DriverState::Failed { error };
        Redactor::default().frame(&mut frame);
        let error = "~/lib.so on host-1: not found".to_owned();
        assert_eq!(frame.driver.status, DriverState::Failed { error });
    }

    #[test]
    fn homes_are_hidden_wherever_they_stand() {
        assert_eq!(without_homes("a /home/ada/x /home/bob"), "a ~/x ~");
        assert_eq!(without_homes("/Users/ada"), "~");
        assert_eq!(without_homes("/root and /rootfs"), "~ and /rootfs");
        assert_eq!(without_homes("/homework/home/ada"), "/homework~");
    }
}
