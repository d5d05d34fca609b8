//! One ssh process and what comes out of it.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::BufReader;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use warpscope_probes::Frame;
use warpscope_probes::nvidia_smi::{END, frame};

use super::name::HostName;
use super::script::{Hello, Means, for_login_shell};
use crate::io::sink::MAX_LINE;
use crate::io::source::now;
use crate::worker::children::Companion;
use crate::worker::next_line;
use crate::worker::process::last_words;

/// What a host may say before its greeting: banners of shells that print one for everybody.
const BANNER_MAX: usize = 256 << 10;
/// Longest frame of `nvidia-smi`.
const TABLE_MAX: usize = 4 << 20;
/// Lines in a row that are no frame, after which a host is given up.
const NONSENSE_MAX: u32 = 16;
/// How long to wait for a host to answer: for its network, its ssh and its login shell.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How long an ssh that closed its output is waited for.
const FAREWELL: Duration = Duration::from_secs(2);

/// The command that connects: a program and words it is given first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ssh(Vec<String>);

impl Ssh {
    /// `ssh`, or `ssh -F file`: words between spaces.
    pub fn new(command: &str) -> Option<Self> {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then_some(Self(words))
    }

    /// The command line that runs a script of `sh` on a host.
    ///
    /// Never a question on the terminal, nothing forwarded, and an end when the other side is silent. Compressed: frames repeat themselves.
    pub fn words(&self, host: &HostName, script: &str) -> Vec<String> {
        const OPTIONS: [&str; 5] = [
            "BatchMode=yes",
            "ConnectTimeout=10",
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
            "ClearAllForwardings=yes",
        ];
        let mut words = self.0.clone();
        words.extend(["-T", "-a", "-x", "-C"].map(str::to_owned));
        words.extend(OPTIONS.iter().flat_map(|option| ["-o".to_owned(), (*option).to_owned()]));
        words.extend(["--".to_owned(), host.to_string(), for_login_shell(script)]);
        words
    }
}

/// Why there is no connection, and what helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What happened, without the name of the host.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl Trouble {
    /// By the last words of ssh; `host` goes into the command that helps.
    pub fn of(what: &str, host: &HostName) -> Self {
        const REMEDIES: &[(&str, &str)] = &[
            (
                "Host key verification failed",
                "Run `ssh HOST` in a terminal and check the key it shows.",
            ),
            (
                "Permission denied",
                "`ssh HOST` has to work without a password: load a key into ssh-agent, or keep a connection open with ControlMaster.",
            ),
            ("Could not resolve hostname", "Check the name, or add it to ~/.ssh/config."),
        ];
        let remedy = REMEDIES.iter().find(|row| what.contains(row.0));
        let remedy = remedy.map_or("Try it in a terminal: `ssh HOST true`.", |row| row.1);
        Self { what: what.to_owned(), remedy: remedy.replace("HOST", host.as_str()) }
    }
}

/// A connection that has greeted.
pub(super) struct Connection {
    child: Child,
    /// Open for as long as the other side is to work.
    _input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    words: JoinHandle<Option<String>>,
    _companion: Option<Companion>,
    line: Vec<u8>,
    means: Means,
}

impl Connection {
    /// Connects, and reads up to the greeting.
    pub(super) async fn open(
        ssh: &Ssh,
        host: &HostName,
        script: &str,
    ) -> Result<(Self, Hello), Trouble> {
        let mut connection = Self::start(&ssh.words(host, script)).map_err(|error| Trouble {
            what: format!("ssh does not start: {error}"),
            remedy: String::new(),
        })?;
        match timeout(PATIENCE, connection.greeting()).await {
            Ok(Some(hello)) => {
                connection.means = hello.means;
                Ok((connection, hello))
            }
            Ok(None) => Err(connection.end(host).await),
            Err(_) => Err(Trouble::of(&format!("no answer within {} s", PATIENCE.as_secs()), host)),
        }
    }

    fn start(words: &[String]) -> io::Result<Self> {
        let [program, words @ ..] = words else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // In a process group of its own, so that Ctrl-C reaches this program only.
        let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self {
            _input: child.stdin.take(),
            output: BufReader::with_capacity(64 << 10, output),
            words: tokio::spawn(last_words(child.stderr.take())),
            _companion: child.id().map(Companion::new),
            child,
            line: Vec::new(),
            means: Means::Nothing,
        })
    }

    async fn greeting(&mut self) -> Option<Hello> {
        let mut left = BANNER_MAX;
        while left > 0 && next_line(&mut self.output, &mut self.line, left).await {
            if let Some(hello) = Hello::parse(&String::from_utf8_lossy(&self.line)) {
                return Some(hello);
            }
            left -= self.line.len();
        }
        None
    }

    /// The next frame; `None` at the end, and where what comes is none.
    pub(super) async fn next_frame(&mut self) -> Option<Frame> {
        match self.means {
            Means::Warpscope => self.next_line_of_json().await,
            Means::NvidiaSmi => self.next_table().await,
            Means::Nothing => None,
        }
    }

    async fn next_line_of_json(&mut self) -> Option<Frame> {
        for _ in 0..NONSENSE_MAX {
            if !next_line(&mut self.output, &mut self.line, MAX_LINE).await {
                return None;
            }
            if let Ok(frame) = serde_json::from_slice(&self.line) {
                return Some(frame);
            }
        }
        None
    }

    async fn next_table(&mut self) -> Option<Frame> {
        let mut text = String::new();
        while text.len() < TABLE_MAX && next_line(&mut self.output, &mut self.line, TABLE_MAX).await
        {
            let line = String::from_utf8_lossy(&self.line);
            if line.trim_end() == END {
                return Some(frame(&text, now()));
            }
            text.push_str(&line);
        }
        None
    }

    /// Ends it, and says why it ended.
    pub(super) async fn end(mut self, host: &HostName) -> Trouble {
        let status = timeout(FAREWELL, self.child.wait()).await;
        self.child.start_kill().ok();
        let words = timeout(FAREWELL, self.words).await.ok().and_then(Result::ok).flatten();
        let what = match (words, status) {
            (Some(words), _) => words,
            (None, Ok(Ok(status))) => format!("the connection ended ({status})"),
            (None, _) => "the connection ended".to_owned(),
        };
        Trouble::of(&what, host)
    }
}
