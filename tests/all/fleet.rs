//! Fleets on real servers, which collect made-up pages of dcgm-exporter and the real exporter. Skipped, aloud, where there is no server.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use crate::fake::nvml_dir;
use crate::pty::{Session, Start};

/// Answers every request with what `page` makes of its first line, for as long as the tests run.
fn serve(page: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let page = std::sync::Arc::new(page);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let page = std::sync::Arc::clone(&page);
            thread::spawn(move || answer(stream, &*page));
        }
    });
    address
}

fn answer(mut stream: TcpStream, page: &dyn Fn(&str) -> Vec<u8>) {
    let mut lines = BufReader::new(stream.try_clone().expect("another handle")).lines();
    let Some(Ok(first)) = lines.next() else { return };
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    // Who asked may be gone.
    let _ = stream.write_all(&page(&first));
}

fn ok(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").into()
}

/// A page as dcgm-exporter writes it, of a host with two GPUs.
fn dcgm(request: &str) -> Vec<u8> {
    let host = request.split("host=").nth(1).and_then(|rest| rest.split(' ').next());
    let host = host.unwrap_or_default();
    let metrics = [
        ("DCGM_FI_DEV_GPU_UTIL", ["97", "0"]),
        ("DCGM_FI_DEV_FB_USED", ["70000", "60000"]),
        ("DCGM_FI_DEV_FB_FREE", ["11559", "21559"]),
        ("DCGM_FI_DEV_GPU_TEMP", ["64", "33"]),
        ("DCGM_FI_DEV_POWER_USAGE", ["650.5", "71"]),
        ("DCGM_FI_DEV_XID_ERRORS", ["0", "79"]),
    ];
    let mut page = String::new();
    for (metric, values) in metrics {
        for (gpu, value) in values.iter().enumerate() {
            page += &format!(
                "{metric}{{gpu=\"{gpu}\",UUID=\"GPU-{host}-{gpu}\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"{host}\",\
                 DCGM_FI_DRIVER_VERSION=\"570.86.15\",namespace=\"ml\",pod=\"train-0\"}} {value}\n"
            );
        }
    }
    ok(&page)
}

/// A server of metrics that ends with its test.
struct Server {
    child: Child,
    url: String,
    _folder: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program(name: &str) -> Option<PathBuf> {
    let unpacked = concat!(env!("CARGO_MANIFEST_DIR"), "/target/servers/unpacked/usr/bin");
    let found = ["/usr/bin", unpacked].map(|folder| Path::new(folder).join(name));
    let found = found.into_iter().find(|path| path.exists());
    if found.is_none() {
        crate::skip::skipped(format_args!("there is no {name} (apt-get install {name})"));
    }
    found
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

impl Server {
    /// Starts one that collects every second from the hosts of a page server and from another target.
    fn start(name: &str, hosts: &[&str], pages: &str, other: Option<&str>) -> Option<Self> {
        Self::start_with(name, hosts, pages, other, None)
    }

    /// The same; with a folder that holds `cert.pem` and `key.pem` it speaks TLS, and so does the other target.
    fn start_with(
        name: &str,
        hosts: &[&str],
        pages: &str,
        other: Option<&str>,
        tls: Option<&Path>,
    ) -> Option<Self> {
        let program = program(name)?;
        let folder = tempfile::tempdir().expect("a folder");
        let quoted: Vec<String> = hosts.iter().map(|host| format!("\"{host}\"")).collect();
        let mut config = format!(
            "global: {{ scrape_interval: 1s, scrape_timeout: 1s }}\nscrape_configs:\n  - job_name: dcgm\n    honor_labels: true\n    static_configs: [{{ targets: [{}] }}]\n    \
             relabel_configs:\n      - {{ source_labels: [__address__], target_label: __param_host }}\n      - {{ target_label: __address__, replacement: \"{pages}\" }}\n",
            quoted.join(", ")
        );
        if let Some(other) = other {
            config += &format!(
                "  - job_name: warpscope\n    honor_labels: true\n    static_configs: [{{ targets: [\"{other}\"] }}]\n"
            );
            if let Some(tls) = tls {
                let file = tls.join("cert.pem");
                config += &format!(
                    "    scheme: https\n    tls_config: {{ ca_file: \"{}\" }}\n",
                    file.display()
                );
            }
        }
        let file = folder.path().join("prometheus.yml");
        fs::write(&file, config).expect("is written");
        let (file, data) = (file.display(), folder.path().join("data").display().to_string());
        let listen = format!("127.0.0.1:{}", free_port());
        let mut command = Command::new(program);
        match name {
            "prometheus" => command
                .arg(format!("--config.file={file}"))
                .arg(format!("--storage.tsdb.path={data}"))
                .arg(format!("--web.listen-address={listen}")),
            _ => command
                .arg(format!("-promscrape.config={file}"))
                .arg(format!("-storageDataPath={data}"))
                .arg(format!("-httpListenAddr={listen}"))
                // Otherwise it keeps the newest half minute to itself.
                .arg("-search.latencyOffset=0s"),
        };
        let mut scheme = "http";
        if let Some(tls) = tls {
            let web = folder.path().join("web.yml");
            let text = format!(
                "tls_server_config: {{ cert_file: \"{0}/cert.pem\", key_file: \"{0}/key.pem\" }}\n",
                tls.display()
            );
            fs::write(&web, text).expect("is written");
            command.arg(format!("--web.config.file={}", web.display()));
            scheme = "https";
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("starts");
        Some(Self { child, url: format!("{scheme}://{listen}"), _folder: folder })
    }

    /// A snapshot once as many machines are known.
    fn frames(&self, machines: usize, more: &[&str]) -> Vec<Value> {
        loop {
            let output = snapshot(&self.url, more);
            let frames: Vec<Value> = serde_json::Deserializer::from_slice(&output.stdout)
                .into_iter()
                .map(|frame| frame.expect("is JSON"))
                .collect();
            let whole = |frame: &Value| {
                frame["gpus"].as_array().is_some_and(|gpus| {
                    gpus.iter().all(|gpu| !gpu["vitals"]["memory_used_bytes"].is_null())
                })
            };
            if output.status.success() && frames.len() == machines && frames.iter().all(whole) {
                return frames;
            }
            thread::yield_now();
        }
    }
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
    command.args(args).env_clear().env("HOME", "/dev/null").stdin(Stdio::null());
    command
}

fn snapshot(url: &str, more: &[&str]) -> Output {
    let args = ["snapshot", "--json", "--prometheus", url];
    command(&args).args(more).output().expect("starts")
}

/// What a page tells is what a frame holds, on either server.
#[test]
fn servers_tell_what_was_collected() {
    let pages = serve(dcgm);
    for name in ["prometheus", "victoria-metrics"] {
        let Some(server) = Server::start(name, &["node2", "node10"], &pages, None) else {
            continue;
        };
        let frames = server.frames(2, &[]);
        let hosts: Vec<_> = frames.iter().map(|frame| &frame["origin"]["host"]).collect();
        assert_eq!(hosts, ["node2", "node10"], "{name}");
        let gpu = &frames[1]["gpus"][1];
        assert_eq!(gpu["key"], "GPU-node10-1", "{name}");
        let vitals = &gpu["vitals"];
        assert_eq!(vitals["util_gpu_pct"], 0.0);
        assert_eq!(vitals["memory_used_bytes"], 60_000_u64 << 20);
        assert_eq!(vitals["memory_total_bytes"], 81_559_u64 << 20);
        assert_eq!(frames[0]["gpus"][0]["vitals"]["power_w"], 650.5);
        assert_eq!(frames[0]["gpus"][0]["identity"]["sm"], "sm_90");
        assert_eq!(frames[0]["driver"]["versions"]["driver"], "570.86.15");
        assert_eq!(frames[0]["without_processes"], true);
        let one = server.frames(1, &["--prometheus-match", "Hostname=\"node2\""]);
        assert_eq!(one[0]["origin"]["host"], "node2");
        let hidden = server.frames(2, &["--redact"]);
        let hosts: Vec<_> = hidden.iter().map(|frame| &frame["origin"]["host"]).collect();
        assert_eq!(hosts, ["host-1", "host-2"], "{name}");
    }
}

/// The exporter of this program, ended with its test.
struct Exporter {
    child: Child,
    address: String,
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Exporter {
    fn start(more: &[&str]) -> Self {
        let mut child = command(&["exporter", "--listen", "127.0.0.1:0", "-i", "0.2s"])
            .args(more)
            .env("LD_LIBRARY_PATH", nvml_dir())
            .env("FAKE_NVML", "h100x8")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let said = BufReader::new(child.stderr.take().expect("is piped")).lines().next();
        let said = said.expect("says where").expect("reads");
        let address = said.split("//").last().and_then(|rest| rest.split('/').next());
        Self { child, address: address.unwrap_or_default().to_owned() }
    }
}

/// Metrics that were collected and read back tell of the GPUs as a snapshot beside it does.
#[test]
fn what_the_exporter_tells_comes_back() {
    let exporter = Exporter::start(&[]);
    let server = Server::start("prometheus", &[], "127.0.0.1:1", Some(&exporter.address));
    let Some(server) = server else { return };
    let there = server.frames(1, &[]);
    let here = command(&["snapshot", "--json"])
        .env("LD_LIBRARY_PATH", nvml_dir())
        .env("FAKE_NVML", "h100x8")
        .output()
        .expect("starts");
    let here: Value = serde_json::from_slice(&here.stdout).expect("is JSON");
    let gpus = |frame: &Value| frame["gpus"].as_array().cloned().unwrap_or_default();
    assert_eq!(gpus(&there[0]).len(), 8);
    for (there, here) in gpus(&there[0]).iter().zip(&gpus(&here)) {
        assert_eq!(there["key"], here["key"]);
        assert_eq!(there["identity"]["name"], here["identity"]["name"]);
        for field in ["memory_total_bytes", "power_limit_w", "pcie_gen"] {
            assert_eq!(there["vitals"][field], here["vitals"][field], "{field}");
        }
    }
}

/// From the exporter to the server and from there to the terminal, nothing is sent in the clear, and a certificate nobody vouches for is refused.
#[test]
fn every_step_can_be_encrypted() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (cert, key) = (file("cert.pem"), file("key.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", &key, "-out", &cert])
        .args(["-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        crate::skip::skipped(format_args!("there is no openssl to make a certificate"));
        return;
    }
    let exporter = Exporter::start(&["--tls-cert", &cert, "--tls-key", &key]);
    let mut clear = TcpStream::connect(&exporter.address).expect("connects");
    clear.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("sends");
    let mut answer = Vec::new();
    let _ = std::io::Read::read_to_end(&mut clear, &mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("warpscope_gpu"), "in the clear");
    let address = Some(exporter.address.as_str());
    let server = Server::start_with("prometheus", &[], "127.0.0.1:1", address, Some(folder.path()));
    let Some(server) = server else { return };
    assert_eq!(server.frames(1, &["--prometheus-ca", &cert])[0]["gpus"][7]["index"], 7);
    let refused = snapshot(&server.url, &[]);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("ertificate"), "{error}");
    for (more, want) in [
        (&["--tls-cert", &cert][..], "go together"),
        (&["--tls-cert", &key, "--tls-key", &key], "holds no certificate"),
        (&["--tls-cert", &cert, "--tls-key", "/dev/null"], "--tls-key /dev/null"),
    ] {
        let output = command(&["exporter"]).args(more).output().expect("starts");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(want), "{more:?}: {error}");
    }
}

#[test]
fn the_dashboard_shows_all_machines_and_opens_one() {
    let pages = serve(dcgm);
    let Some(server) = Server::start("prometheus", &["node2", "node10"], &pages, None) else {
        return;
    };
    server.frames(2, &[]);
    let args = ["--prometheus", &server.url, "--no-bench"];
    let mut session = Session::start(&Start { args: &args, ..Start::default() });
    session.see("2 machines, 4 GPUs");
    session.see("Xid 79: GPU has fallen off");
    session.see("held by ml/train-0");
    session.keys("\x1b[C\r");
    session.see("remote node10");
    session.see("Hopper");
    session.keys("6");
    session.see("Map of utilization");
    session.keys("c");
    session.see("What runs on 4 GPUs");
    session.keys("q");
    assert_eq!(session.end(), 0);
}

/// What no server should send, and what users get wrong.
#[test]
fn a_server_that_misbehaves_is_told_in_words() {
    let said = |url: &str, more: &[&str]| {
        let output = snapshot(url, more);
        assert!(!output.status.success(), "{url}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let answering = |answer: &'static str| {
        let page = move |_: &str| format!("HTTP/1.1 {answer}\r\nConnection: close\r\n\r\n").into();
        format!("http://{}", serve(page))
    };
    for (url, want) in [
        (answering("200 OK\r\n\r\n<html>"), "this is no answer of Prometheus' API"),
        (answering("401 Unauthorized"), "--prometheus-token-file"),
        (answering("302 Found\r\nLocation: http://elsewhere/"), "has moved to http://elsewhere/"),
        (answering("404 Not Found"), "has no Prometheus API"),
        (answering("500 Oh"), "status 500"),
        ("http://127.0.0.1:1".to_owned(), "refused"),
        ("http://ana:s3cret@127.0.0.1:1".to_owned(), "must hold no password"),
        ("127.0.0.1:9090".to_owned(), "not an address such as http://host:9090"),
    ] {
        let error = said(&url, &[]);
        assert!(error.contains(want) && !error.contains("s3cret@1"), "{url}: {error}");
    }
    let empty = "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}";
    let url = format!("http://{}", serve(move |_| ok(empty)));
    assert!(said(&url, &[]).contains("has no metrics of GPUs"));
    let both =
        command(&["snapshot", "--prometheus", &url, "--host", "x"]).output().expect("starts");
    assert!(String::from_utf8_lossy(&both.stderr).contains("leave out --host"));
}

/// The token is sent as it is asked for, and stands in no message.
#[test]
fn a_token_goes_to_the_server_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = folder.path().join("token");
    fs::write(&token, "s3cret\n").expect("is written");
    let (sender, heard) = std::sync::mpsc::channel();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        let Ok((mut stream, _)) = listener.accept() else { return };
        let lines = BufReader::new(stream.try_clone().expect("another handle")).lines();
        let head: Vec<String> =
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        let _ = sender.send(head.join("\n"));
        let _ = stream.write_all(b"HTTP/1.1 500 Oh\r\nConnection: close\r\n\r\n");
    });
    let output = snapshot(&url, &["--prometheus-token-file", token.to_str().expect("is text")]);
    let head = heard.recv().expect("was asked").to_lowercase();
    assert!(head.contains("authorization: bearer s3cret"), "{head}");
    assert!(head.starts_with("get /api/v1/query?query="), "{head}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("s3cret"));
}

/// Every expression of the dashboard that is shipped is one that a server understands.
#[test]
fn the_dashboard_for_grafana_asks_what_a_server_understands() {
    let text = include_str!("../../packaging/prometheus/grafana.json");
    let dashboard: Value = serde_json::from_str(text).expect("is JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let expressions = targets.map(|target| target["expr"].as_str().expect("an expression"));
    let expressions: Vec<String> = expressions.map(|text| text.replace("$host", ".*")).collect();
    assert!(expressions.len() > 10);
    let (Some(tool), Some(server)) =
        (program("promtool"), Server::start("prometheus", &[], "127.0.0.1:1", None))
    else {
        return;
    };
    let ask = |expression: &str| {
        let mut tool = Command::new(&tool);
        tool.args(["query", "instant", &server.url, expression]).output().expect("starts")
    };
    while !ask("1").status.success() {
        thread::yield_now();
    }
    for expression in expressions {
        let output = ask(&expression);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{expression}: {error}");
    }
}
