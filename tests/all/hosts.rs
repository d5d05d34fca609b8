//! Other machines through a real sshd on this one, with keys and a port of its own. Skipped, aloud, where there is no sshd.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::fake::nvml_dir;
use crate::pty::{Session, Start};

/// How long an sshd may take to listen.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server and what its clients need; ended with its test.
struct Server {
    folder: TempDir,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Debian's packages as `.ci/servers` unpacks them.
const UNPACKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/servers/unpacked/usr");

fn sshd() -> Option<PathBuf> {
    let path = ["/usr/sbin/sshd".to_owned(), format!("{UNPACKED}/sbin/sshd")].map(PathBuf::from);
    path.into_iter().find(|path| path.exists())
}

/// A command that finds what is unpacked where nothing is installed.
fn with_unpacked(mut command: Command) -> Command {
    command.env("PATH", format!("/usr/bin:/bin:{UNPACKED}/bin"));
    let libraries =
        Path::new(UNPACKED).join("lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    if !Path::new("/usr/sbin/sshd").exists() {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command
}

fn done(command: &mut Command) {
    let output = command.output().expect("starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The host's programs, and keys of both ends.
fn equip(folder: &Path, programs: &[(&str, &str)]) {
    for made in ["bin", "home"] {
        fs::create_dir(folder.join(made)).expect("is made");
    }
    for (name, text) in programs {
        let path = folder.join("bin").join(name);
        fs::write(&path, text).expect("is written");
        done(Command::new("chmod").arg("755").arg(&path));
    }
    for key in ["host_key", "key"] {
        done(
            with_unpacked(Command::new("ssh-keygen"))
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.join(key)),
        );
    }
}

/// What the server and its clients read.
fn configure(folder: &Path, port: u16, gpus: &str) {
    let name = |name: &str| folder.join(name).display().to_string();
    let (bin, home, library) = (name("bin"), name("home"), nvml_dir().display().to_string());
    let config = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nPidFile none\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
         PasswordAuthentication no\nMaxStartups 300\nSetEnv \"PATH={bin}:/usr/bin:/bin\" \"HOME={home}\" \"LD_LIBRARY_PATH={library}\" \"FAKE_NVML={gpus}\"\n",
        name("host_key"),
        name("key.pub"),
    );
    fs::write(folder.join("sshd_config"), config).expect("is written");
    let key = fs::read_to_string(folder.join("host_key.pub")).expect("is there");
    fs::write(folder.join("known"), format!("[127.0.0.1]:{port} {key}")).expect("is written");
    let is_root = rustix::process::geteuid().as_raw() == 0;
    let user = if is_root { "root".to_owned() } else { std::env::var("USER").expect("a user") };
    let client = format!(
        "Host gpu*\n  HostName 127.0.0.1\n  Port {port}\n  User {user}\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n",
        name("key"),
        name("known"),
    );
    fs::write(folder.join("ssh_config"), client).expect("is written");
}

impl Server {
    /// A host that sees these GPUs and has these programs in its path; `None`, and said so, where no sshd is installed.
    fn start(gpus: &str, programs: &[(&str, &str)]) -> Option<Self> {
        let Some(sshd) = sshd() else {
            crate::skip::skipped(format_args!("no sshd is installed (Debian: openssh-server)"));
            return None;
        };
        let folder = tempfile::tempdir().expect("temporary folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        equip(folder.path(), programs);
        configure(folder.path(), port, gpus);
        let mut command = with_unpacked(Command::new(sshd));
        command
            .args(["-D", "-e", "-f"])
            .arg(folder.path().join("sshd_config"))
            .stdin(Stdio::null())
            .stderr(fs::File::create(folder.path().join("said")).expect("is made"));
        Self { child: command.spawn().expect("starts"), folder }.listening(port)
    }

    /// The server once it listens; `None`, and said so, where it ends instead.
    fn listening(mut self, port: u16) -> Option<Self> {
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if self.child.try_wait().expect("is a child").is_some() {
                let said = fs::read_to_string(self.path("said")).unwrap_or_default();
                crate::skip::skipped(format_args!("sshd does not start here: {}", said.trim()));
                return None;
            }
            assert!(begun.elapsed() < PATIENCE, "sshd does not listen");
            std::thread::yield_now();
        }
        Some(self)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
        command.args(words).env_clear().env("HOME", "/dev/null");
        let mut command = with_unpacked(command);
        command.env("WARPSCOPE_SSH", format!("ssh -F {}", self.path("ssh_config").display()));
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("starts")
    }

    /// Puts this program into the host's path.
    fn with_warpscope(self) -> Self {
        let program = self.path("bin").join("warpscope");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_warpscope"), program).expect("is made");
        self
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A login script that prints a banner, as careless ones do.
fn chatty(server: &Server) {
    fs::write(server.path("home").join(".bashrc"), "echo 'Welcome to gpu1'\n").expect("is written");
}

#[test]
fn a_host_with_warpscope_tells_as_much_as_this_machine() {
    let Some(server) = Server::start("t4x2+procs", &[]) else { return };
    let server = server.with_warpscope();
    chatty(&server);
    let seen = server.run(&["snapshot", "--json", "--host", "gpu1"]);
    let frame: serde_json::Value = serde_json::from_slice(&seen.stdout).expect("is JSON");
    assert_eq!(frame["origin"]["host"], "gpu1", "{}", err(&seen));
    assert_eq!(frame["gpus"].as_array().map(Vec::len), Some(2));
    let streamed = server.run(&["stream", "--host", "gpu1,gpu2", "--count", "6", "-i", "0.2s"]);
    let text = out(&streamed);
    assert_eq!(text.lines().count(), 6, "{}", err(&streamed));
    assert!(text.contains("\"host\":\"gpu1\"") && text.contains("\"host\":\"gpu2\""));
}

#[test]
fn questions_are_answered_over_there() {
    let Some(server) = Server::start("t4", &[]) else { return };
    let server = server.with_warpscope();
    let there =
        server.run(&["check", "ktransformers", "--json", "--host", "gpu1", "--host", "gpu2"]);
    let told: serde_json::Value = serde_json::from_slice(&there.stdout).expect("is JSON");
    let hosts = told["hosts"].as_array().expect("a list");
    assert_eq!(hosts.len(), 2);
    for host in hosts {
        assert_eq!(host["exit"], i64::from(there.status.code().expect("a code")));
        assert_eq!(host["answer"]["verdicts"][0]["gpu"], "Tesla T4", "{told}");
    }
    let plan = server.run(&["plan", "qwen2.5:7b-instruct", "--host", "gpu1", "--host", "gpu2"]);
    let plan = out(&plan) + &err(&plan);
    assert!(plan.contains("BEST WAY") && plan.contains("\ngpu2  "), "{plan}");
    let table = out(&server.run(&["check", "ktransformers", "--host", "gpu1", "--host", "gpu2"]));
    assert!(table.starts_with("HOST") && table.contains("\ngpu2  Tesla T4"), "{table}");
    let quoted = server.run(&["check", "it's$(a)`b`!", "--host", "gpu1"]);
    assert!(err(&quoted).contains("it's$(a)`b`!"), "{}", err(&quoted));
    assert_eq!(quoted.status.code(), Some(2));
}

#[test]
fn a_program_is_sent_checked_started_and_taken_away_again() {
    let Some(server) = Server::start("t4", &[]) else { return };
    let without = server.run(&["snapshot", "--host", "gpu1"]);
    assert_eq!(without.status.code(), Some(1));
    assert!(err(&without).contains("warpscope host install gpu1"), "{}", err(&without));
    let sent = server.run(&["host", "install", "gpu1"]);
    assert!(sent.status.success(), "{}", err(&sent));
    let kept = server.path("home").join(".cache/warpscope/hosts");
    let files: Vec<_> = fs::read_dir(&kept).expect("is made").collect();
    assert_eq!(files.len(), 1);
    assert!(out(&server.run(&["snapshot", "--host", "gpu1"])).contains("Tesla T4"));
    let gone = server.run(&["host", "forget", "gpu1"]);
    assert!(out(&gone).contains("1 removed") && !kept.exists(), "{}", err(&gone));
}

#[test]
fn without_warpscope_nvidia_smi_answers() {
    let tool = "#!/bin/sh\ncase \"$*\" in\n\
        *query-gpu=*) IFS=,; set -- ${1#--query-gpu=}; o=; for f in \"$@\"; do case $f in\n\
        index) v=0;; uuid) v=GPU-5;; pci.device_id) v=0x1EB810DE;; compute_cap) v=7.5;; memory.total) v=15360;; memory.used) v=512;;\n\
        driver_version) v=550.54.15;; name) v='Tesla T4';; *) v='[N/A]';; esac; o=\"$o${o:+, }$v\"; done; echo \"$o\";;\n\
        *query-compute-apps*) echo \"GPU-5, $$, 256, python\";;\n\
        *) echo '| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4 |';; esac\n";
    let Some(server) = Server::start("t4", &[("nvidia-smi", tool)]) else { return };
    let seen = server.run(&["snapshot", "--json", "--host", "gpu1"]);
    let frame: serde_json::Value = serde_json::from_slice(&seen.stdout).expect("is JSON");
    let gpu = &frame["gpus"][0];
    assert_eq!(gpu["identity"]["name"], "Tesla T4", "{frame}");
    assert_eq!(gpu["vitals"]["memory_used_bytes"], 512 << 20);
    assert_eq!(frame["driver"]["versions"]["cuda"], "12.4");
    assert_eq!(frame["processes"][0]["usage"]["gpu_memory_bytes"], 256 << 20);
    assert!(frame.to_string().contains("read through nvidia-smi"));
}

#[test]
fn a_key_that_is_not_known_is_not_accepted_and_told() {
    let Some(server) = Server::start("t4", &[]) else { return };
    let server = server.with_warpscope();
    let text = fs::read_to_string(server.path("host_key.pub")).expect("is there");
    let port = fs::read_to_string(server.path("known")).expect("is there");
    let known = port
        .replace(text.trim(), fs::read_to_string(server.path("key.pub")).expect("is there").trim());
    fs::write(server.path("known"), known).expect("is written");
    let seen = server.run(&["snapshot", "--host", "gpu1"]);
    assert_eq!(seen.status.code(), Some(1));
    assert!(err(&seen).contains("`ssh gpu1`"), "{}", err(&seen));
}

/// Processes whose command line begins so.
fn running(beginning: &[&str]) -> usize {
    let beginning = beginning.join("\0");
    let processes = Path::new("/proc").read_dir().expect("is there").flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| line.starts_with(beginning.as_bytes())).count()
}

#[test]
fn nothing_stays_behind_when_this_side_is_killed() {
    let Some(server) = Server::start("t4", &[]) else { return };
    let server = server.with_warpscope();
    // An interval that no other test has.
    let mut command = server.command(&["stream", "--host", "gpu1", "-i", "0.217s"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("starts");
    let mut line = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().expect("is piped"));
    std::io::BufRead::read_line(&mut output, &mut line).expect("reads");
    let theirs = || running(&["warpscope", "stream", "--interval", "0.217s"]);
    assert!(theirs() > 0);
    child.kill().expect("is a child");
    child.wait().expect("is a child");
    let begun = Instant::now();
    while theirs() > 0 {
        assert!(begun.elapsed() < PATIENCE, "it goes on");
        std::thread::yield_now();
    }
}

/// Processes of the other side whose command line begins so get a signal.
fn signal(beginning: &[&str], signal: Signal) {
    let beginning = beginning.join("\0");
    for process in Path::new("/proc").read_dir().expect("is there").flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let pid = process.file_name().to_str().and_then(|name| name.parse().ok());
        if line.starts_with(beginning.as_bytes())
            && let Some(pid) = pid.and_then(Pid::from_raw)
        {
            let _ = kill_process(pid, signal);
        }
    }
}

#[test]
fn what_a_host_says_no_more_is_late_until_it_goes_on() {
    let Some(server) = Server::start("t4", &[]) else { return };
    let server = server.with_warpscope();
    let mut command = server.command(&["stream", "--host", "gpu1", "-i", "0.219s"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("starts");
    let output = child.stdout.take().expect("is piped");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(output));
    let mut until = |is_late: bool| {
        let fits = |line: &String| {
            let frame: serde_json::Value = serde_json::from_str(line).expect("is JSON");
            let why = &frame["gpus"][0]["vitals"]["absent"]["util_gpu_pct"];
            (why == "late") == is_late
        };
        lines.by_ref().map(|line| line.expect("reads")).find(fits).expect("comes")
    };
    let theirs = ["warpscope", "stream", "--interval", "0.219s"];
    until(false);
    signal(&theirs, Signal::STOP);
    assert!(until(true).contains("Tesla T4"), "what was known stays");
    signal(&theirs, Signal::CONT);
    until(false);
    child.kill().expect("is a child");
    child.wait().expect("is a child");
}

#[test]
fn a_host_whose_disk_is_full_says_so_and_keeps_nothing() {
    let Some(server) = Server::start("t4", &[]) else { return };
    // Files there cannot grow beyond a few blocks.
    let profile = "trap '' XFSZ; ulimit -f 64\n";
    fs::write(server.path("home").join(".bashrc"), profile).expect("is written");
    let sent = server.run(&["host", "install", "gpu1"]);
    assert_eq!(sent.status.code(), Some(1), "{}", err(&sent));
    assert!(err(&sent).contains("could not be written there"), "{}", err(&sent));
    let kept = server.path("home").join(".cache/warpscope/hosts");
    let files = fs::read_dir(&kept).map_or(0, Iterator::count);
    assert_eq!(files, 0, "{}", err(&sent));
}

#[test]
fn what_is_missing_is_sent_where_the_user_wants_it_and_asked_about_once() {
    let Some(server) = Server::start("t4", &[]) else { return };
    let (state, config) = (server.path("state"), server.path("ssh_config"));
    let ssh = format!("ssh -F {}", config.display());
    let path = format!("/usr/bin:/bin:{UNPACKED}/bin");
    let libraries = format!("{UNPACKED}/lib/{}-linux-gnu", std::env::consts::ARCH);
    let mut env = vec![
        ("WARPSCOPE_SSH", ssh.as_str()),
        ("PATH", path.as_str()),
        ("XDG_STATE_HOME", state.to_str().expect("is text")),
    ];
    if !Path::new("/usr/sbin/sshd").exists() {
        env.push(("LD_LIBRARY_PATH", libraries.as_str()));
    }
    let start = |args: &[&str], answer: &str| {
        let mut session = Session::start(&Start { args, env: &env, ..Start::default() });
        if !answer.is_empty() {
            session.see("Send this program into the cache folder there?");
            session.keys(answer);
        }
        session
    };
    let words = ["check", "vllm", "--host", "gpu1"];
    let mut refused = start(&words, "n\n");
    refused.see("warpscope is not installed there");
    refused.end();
    let mut again = start(&words, "");
    again.see("warpscope is not installed there");
    assert!(!again.text().contains("Send this program"), "it was answered");
    again.end();
    let mut agreed = start(&["check", "vllm", "--host", "gpu2"], "y\n");
    agreed.see("Tesla T4");
    agreed.end();
    server.run(&["host", "forget", "gpu1"]);
    let always = server.run(&["snapshot", "--host", "gpu3", "--install", "always"]);
    assert!(out(&always).contains("Tesla T4"), "{}", err(&always));
}

/// One of before this could be done refuses an option it does not know.
#[test]
fn an_old_warpscope_is_passed_over() {
    let old = "#!/bin/sh\n[ \"$*\" = --version ] && { echo warpscope 0.0.9; exit; }\n\
        echo \"error: unexpected argument '--end-with-input' found\" >&2; exit 2\n";
    let Some(server) = Server::start("t4", &[("warpscope", old)]) else { return };
    let seen = server.run(&["snapshot", "--host", "gpu1"]);
    assert!(err(&seen).contains("warpscope host install gpu1"), "{}", err(&seen));
    let sent = server.run(&["host", "install", "gpu1"]);
    assert!(sent.status.success(), "{}", err(&sent));
    assert!(out(&server.run(&["snapshot", "--host", "gpu1"])).contains("Tesla T4"));
}

#[test]
fn fifty_hosts_answer_side_by_side() {
    let Some(server) = Server::start("t4", &[]) else { return };
    let server = server.with_warpscope();
    let hosts: Vec<String> = (0..50).map(|at| format!("gpu{at}")).collect();
    let seen = server.run(&["snapshot", "--json", "--host", &hosts.join(",")]);
    assert!(seen.status.success(), "{}", err(&seen));
    assert_eq!(out(&seen).matches("\"kind\":\"remote\"").count(), 50);
}
