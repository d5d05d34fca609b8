//! Questions to a server with Prometheus' API. Only ever questions.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use ureq::Agent;
use ureq::http::Response;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use warpscope_probes::bounded::{self, Accept};

/// Longest answer to one question.
const LONGEST: u64 = 64 << 20;
/// Longest words of an error.
const ERROR_MAX: u64 = 64 << 10;
/// Largest file of certificates.
const CERTIFICATES_MAX: u64 = 4 << 20;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Address of a server: `http://host:9090`, with a path in front of `/api` where it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl(String);

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let rest =
            rest.ok_or_else(|| format!("{text}: not an address such as http://host:9090"))?;
        if rest.split('/').next().is_some_and(|authority| authority.contains('@')) {
            return Err("an address must hold no password, which others would see: put it into the file of --prometheus-token-file".to_owned());
        }
        let bad = rest.contains(['?', '#']) || rest.contains(char::is_whitespace);
        if bad || rest.is_empty() || rest.starts_with('/') {
            return Err(format!("{text}: not an address such as http://host:9090"));
        }
        Ok(Self(text.trim_end_matches('/').trim_end_matches("/api/v1").to_owned()))
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A server, and how to be let in.
pub struct Server {
    /// Where it is.
    pub url: ServerUrl,
    authorization: Option<String>,
    certificates: Option<PathBuf>,
}

impl Server {
    /// A server that wants this token, or `Basic …`, if any, and whose certificate one in this file vouches for, if any.
    pub fn new(url: ServerUrl, token: Option<&str>, certificates: Option<PathBuf>) -> Self {
        let with_scheme = |token: &str| match token.split_once(' ') {
            Some(("Basic" | "Bearer", _)) => token.to_owned(),
            _ => format!("Bearer {token}"),
        };
        Self { url, authorization: token.map(with_scheme), certificates }
    }

    /// Prepares to ask.
    pub(super) fn client(self) -> Result<Client, String> {
        let mut config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .https_only(self.url.0.starts_with("https://"))
            .user_agent(concat!("warpscope/", env!("CARGO_PKG_VERSION")));
        if let Some(path) = &self.certificates {
            let roots = RootCerts::from(certificates(path)?);
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        Ok(Client { server: self, agent: config.build().into(), bytes: 0, queries: 0 })
    }
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, String> {
    let failed = |why: String| format!("{}: {why}", path.display());
    let file = bounded::read(path, Accept::Files, CERTIFICATES_MAX);
    let file = file.map_err(|error| failed(error.to_string()))?;
    let items = parse_pem(&file).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let all: Vec<_> = items.collect();
    if all.is_empty() { Err(failed("holds no certificate".to_owned())) } else { Ok(all) }
}

/// Asks a server, and counts what that costs it.
pub(super) struct Client {
    pub(super) server: Server,
    agent: Agent,
    pub(super) bytes: u64,
    pub(super) queries: u32,
}

/// A stretch of the past, in seconds since the epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) step_s: f64,
}

impl Client {
    /// The newest values of an expression.
    pub(super) fn now(&mut self, expression: &str) -> Result<Vec<u8>, String> {
        self.ask("query", expression, &[])
    }

    /// Values of an expression over a stretch of the past.
    pub(super) fn past(&mut self, expression: &str, span: Span) -> Result<Vec<u8>, String> {
        let times = [
            ("start", format!("{:.3}", span.from)),
            ("end", format!("{:.3}", span.to)),
            ("step", format!("{:.3}", span.step_s)),
            // Thanos and its kin may answer from coarser data; others do not know the word.
            ("max_source_resolution", format!("{:.0}s", span.step_s)),
        ];
        self.ask("query_range", expression, &times)
    }

    fn ask(
        &mut self,
        what: &str,
        expression: &str,
        more: &[(&str, String)],
    ) -> Result<Vec<u8>, String> {
        let url = &self.server.url;
        let mut request = self.agent.get(format!("{url}/api/v1/{what}")).query("query", expression);
        for (name, value) in more {
            request = request.query(*name, value);
        }
        if let Some(authorization) = &self.server.authorization {
            request = request.header("authorization", authorization);
        }
        let response = request.call().map_err(|error| format!("{url}: {error}"))?;
        self.queries += 1;
        let body = self.body(response)?;
        self.bytes += body.len() as u64;
        Ok(body)
    }

    fn body(&self, response: Response<ureq::Body>) -> Result<Vec<u8>, String> {
        let url = &self.server.url;
        let status = response.status().as_u16();
        let place = response.headers().get("location").and_then(|place| place.to_str().ok());
        let moved = place.map(str::to_owned).unwrap_or_default();
        let body = response.into_body().into_reader();
        match status {
            200 => bounded::read_all(body, LONGEST).map_err(|error| format!("{url}: {error}")),
            // An error of the interface is told in the answer.
            400 | 422 | 503 => {
                let body = bounded::read_all(body.take(ERROR_MAX), ERROR_MAX);
                let body = body.map_err(|error| format!("{url}: {error}"))?;
                let why = warpscope_probes::fleet::answer::parse(&body).err();
                Err(format!("{url}: {}", why.unwrap_or_else(|| format!("status {status}"))))
            }
            401 | 403 => Err(format!(
                "{url} asks who you are: --prometheus-token-file names a file with a token"
            )),
            301..=308 => Err(format!("{url} has moved to {moved}: give that address")),
            404 => {
                Err(format!("{url} has no Prometheus API: is there a path in front of /api/v1?"))
            }
            status => Err(format!("{url}: status {status}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_a_scheme_and_no_password() {
        let parsed = |text: &str| text.parse::<ServerUrl>().map(|url| url.to_string());
        assert_eq!(parsed("http://h:9090/").as_deref(), Ok("http://h:9090"));
        assert_eq!(parsed("https://h/prom/api/v1").as_deref(), Ok("https://h/prom"));
        for bad in ["h:9090", "ftp://h", "http://", "http:///x", "http://h?x=1", "http://h h"] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
        assert!(parsed("http://ana:secret@h").is_err_and(|why| !why.contains("secret")));
    }
}
