//! The exporter as servers see it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use crate::fake::nvml_dir;

/// An exporter that is killed with its test.
struct Exporter {
    child: Child,
    addresses: Vec<String>,
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
    command.arg("exporter").args(args).env_clear().env("HOME", "/dev/null");
    command.env("LD_LIBRARY_PATH", nvml_dir()).env("FAKE_NVML", "h100x8+procs");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

impl Exporter {
    /// Starts it; it says where it listens, a line for each address.
    fn start(args: &[&str], addresses: usize) -> Self {
        let mut child = command(args).spawn().expect("starts");
        let said = BufReader::new(child.stderr.take().expect("is piped"));
        let lines = said.lines().take(addresses).map(|line| line.expect("reads"));
        let address = |line: String| line.split(": serving").next().unwrap_or_default().to_owned();
        let addresses = lines.map(address).collect();
        Self { child, addresses }
    }

    fn connect(&self) -> TcpStream {
        let address = self.addresses[0].trim_start_matches("http://").trim_end_matches("/metrics");
        TcpStream::connect(address).expect("connects")
    }

    /// The answer to a request with these header lines.
    fn ask(&self, line: &str, headers: &[&str]) -> String {
        answer(self.connect(), line, headers)
    }

    /// The page once the GPUs have answered.
    fn page(&self, headers: &[&str]) -> String {
        loop {
            let page = self.ask("GET /metrics HTTP/1.1", headers);
            if page.contains("warpscope_gpu_memory_used_bytes{") {
                return page;
            }
            assert!(page.starts_with("HTTP/1.1 200"), "{page}");
            std::thread::yield_now();
        }
    }
}

fn answer(mut stream: impl std::io::Read + std::io::Write, line: &str, more: &[&str]) -> String {
    let more: String = more.iter().map(|header| format!("{header}\r\n")).collect();
    let request = format!("{line}\r\nHost: x\r\nConnection: close\r\n{more}\r\n");
    stream.write_all(request.as_bytes()).expect("sends");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("is text");
    text
}

#[test]
fn every_gpu_is_a_series_and_other_requests_are_refused() {
    let exporter = Exporter::start(&["--listen", "127.0.0.1:0"], 1);
    let page = exporter.page(&[]);
    assert!(page.contains("content-type: text/plain; version=0.0.4"), "{page}");
    let series = |name: &str| page.lines().filter(|line| line.starts_with(name)).count();
    assert_eq!(series("warpscope_gpu_up{"), 8);
    assert!(series("warpscope_gpu_configurations{") >= 8);
    assert_eq!(series("warpscope_gpu_user_memory_bytes{"), 0);
    let open = exporter.page(&["Accept: application/openmetrics-text"]);
    assert!(open.trim_end().ends_with("# EOF"), "{open}");
    for (line, status) in [
        ("GET /nothing HTTP/1.1", "404"),
        ("POST /metrics HTTP/1.1", "405"),
        ("HEAD /metrics HTTP/1.1", "200"),
        ("GET / HTTP/1.1", "200"),
    ] {
        let answer = exporter.ask(line, &[]);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{line}: {answer}");
    }
    let long = format!("X: {}", "x".repeat(1 << 20));
    let mut stream = exporter.connect();
    let _ = stream.write_all(format!("GET /metrics HTTP/1.1\r\n{long}").as_bytes());
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert!(!text.contains("200 OK"), "{text}");
    assert!(exporter.page(&[]).starts_with("HTTP/1.1 200"), "it still answers");
}

/// Few connections are served at once, so that none is kept.
#[test]
fn a_connection_gets_one_answer() {
    let exporter = Exporter::start(&["--listen", "127.0.0.1:0"], 1);
    let mut stream = exporter.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").expect("sends");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("is text");
    assert!(text.contains("connection: close"), "{text}");
}

#[test]
fn a_token_is_asked_for_where_there_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    std::fs::write(&file, "s3cret\n").expect("writes");
    let file = file.to_str().expect("is text");
    let exporter = Exporter::start(&["--listen", "127.0.0.1:0", "--token-file", file], 1);
    for header in ["X: y", "Authorization: Bearer s3cre", "Authorization: Basic s3cret"] {
        let answer = exporter.ask("GET /metrics HTTP/1.1", &[header]);
        assert!(answer.starts_with("HTTP/1.1 401") && !answer.contains("gpu"), "{answer}");
    }
    exporter.page(&["Authorization: Bearer s3cret"]);
}

#[test]
fn a_socket_of_the_file_system_is_for_its_user_and_an_old_one_is_no_hindrance() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("w.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).expect("binds"));
    let listen = format!("unix:{}", path.display());
    let exporter = Exporter::start(&["--listen", &listen], 1);
    assert_eq!(exporter.addresses, [listen]);
    let answer = answer(UnixStream::connect(&path).expect("connects"), "GET / HTTP/1.1", &[]);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(&path).expect("is there").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_cannot_be_served_is_refused_in_words() {
    for (args, want) in [
        (&["--listen", "0.0.0.0:0"][..], "--token-file"),
        (&["--listen", "somewhere"], "write an address and a port"),
        (&["--token-file", "/nonexistent"], "/nonexistent"),
        (&["--listen", "unix:/nonexistent/x"], "/nonexistent/x"),
        (&["--textfile", "/dev/full"], "/dev/full is not a regular file"),
        (&["--textfile", "/nonexistent/x.prom", "--duration", "1s"], "/nonexistent/x.prom"),
    ] {
        let output = command(args).output().expect("starts");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(want), "{args:?}: {error}");
    }
}

#[test]
fn promtool_accepts_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gpu.prom");
    let file = path.to_str().expect("is text");
    let done = command(&["--textfile", file, "--by-user", "--duration", "0.1s", "-i", "0.1s"]);
    let mut done = done;
    assert!(done.status().expect("starts").success());
    let page = std::fs::read_to_string(&path).expect("was written");
    assert!(page.contains("warpscope_gpu_up{"), "{page}");
    promtool(&["check", "metrics"], &page);
}

/// Runs Prometheus' own tool, which must be content.
fn promtool(args: &[&str], input: &str) {
    // As `.ci/servers` unpacks it, where it is not installed.
    let unpacked = concat!(env!("CARGO_MANIFEST_DIR"), "/target/servers/unpacked/usr/bin");
    let mut tool = Command::new("promtool");
    tool.env("PATH", format!("/usr/bin:/bin:{unpacked}"));
    tool.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut tool) = tool.spawn() else {
        crate::skip::skipped(format_args!("there is no promtool (apt-get install prometheus)"));
        return;
    };
    let mut pipe = tool.stdin.take().expect("is piped");
    // It need not read what it was not asked to read.
    let _ = pipe.write_all(input.as_bytes());
    drop(pipe);
    let output = tool.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
}

const RULES: &str = "packaging/prometheus/warpscope.rules.yml";

#[test]
fn alerts_ask_for_metrics_that_are_served() {
    let rules = std::fs::read_to_string(RULES).expect("reads");
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let asked: std::collections::BTreeSet<&str> =
        rules.split(|c| !letters(c)).filter(|word| word.starts_with("warpscope_gpu_")).collect();
    let fields = warpscope_probes::gpu::Vitals::FIELDS.iter().map(|field| field.key);
    let stems: Vec<_> = fields.flat_map(|key| [key, key.trim_end_matches("_aggregate")]).collect();
    for metric in asked {
        let name = metric.trim_start_matches("warpscope_gpu_");
        let name = name.trim_end_matches("_total").trim_end_matches("_ratio");
        let other = ["up", "clock_reason", "nvlink_errors", "xid_errors"].contains(&name);
        assert!(other || stems.iter().any(|key| key.trim_end_matches("_pct") == name), "{metric}");
    }
    promtool(&["check", "rules", RULES], "");
}
