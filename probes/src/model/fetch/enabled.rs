use std::io::{self, Cursor, Read};
use std::time::Instant;

use serde::Deserialize;
use serde_json::Value;
use ureq::Agent;
use ureq::http::{HeaderMap, Response};

use super::Hub;
use crate::bounded;
use crate::model::find::{Id, is_file_of};
use crate::model::index::Index;
use crate::model::read::parse_json;
use crate::model::safetensors::Weights;
use crate::model::{Facts, config, gguf};

const MOST_JSON: u64 = 4 << 20;
const MOST_INDEX: u64 = 64 << 20;
/// Lists of the files of one repository.
const MOST_LIST: u64 = 16 << 20;
/// Headers of all files of a model together.
const MOST_BYTES: u64 = 512 << 20;
/// Files the largest models are split into.
const MOST_SHARDS: usize = 500;
const MOST_REDIRECTS: usize = 5;
/// The first piece of a file; the next is twice as large, up to the largest.
const FIRST_PIECE: u64 = 256 << 10;
const LARGEST_PIECE: u64 = 8 << 20;
/// All requests together may take so many times as long as one.
const REQUESTS: u32 = 6;

/// Reads the headers of a model.
pub(super) fn fetch(id: &Id, hub: &Hub) -> Result<Facts, String> {
    let client = Client::new(hub, id);
    match &id.tag {
        Some(tag) => gguf_of(&client, tag),
        None => folder(&client),
    }
}

/// What a repository with a configuration says.
fn folder(client: &Client<'_>) -> Result<Facts, String> {
    let Some(config) = client.json("config.json")? else {
        return Err(format!(
            "has no config.json on {}; for a GGUF repository write owner/name:Q4_K_M",
            client.hub.endpoint
        ));
    };
    let quant = client.json("hf_quant_config.json")?;
    let mut facts = config::describe(&config, quant.as_ref())?;
    let index = client.open("model.safetensors.index.json", None)?;
    let index = index.map(|body| Index::parse(body.take(MOST_INDEX))).transpose()?;
    let single = || ["model.safetensors".to_owned()].into();
    let files = index.as_ref().map_or_else(single, |index| index.files.clone());
    let mut weights = Weights::default();
    let mut read = 0;
    for file in files.iter().take(MOST_SHARDS).filter(|file| is_file(file)) {
        let Some(remote) = Remote::open(client, file)? else { continue };
        weights.add(&Weights::read(remote).map_err(|error| format!("{file} {error}"))?);
        read += 1;
    }
    if weights.tensors > 0 && read == files.len() {
        facts.weight_bytes = Some(weights.bytes());
        facts.detail("tensors", weights.words());
        weights.measure(&mut facts);
    } else {
        facts.weight_bytes = index.and_then(|index| index.total_size);
    }
    Ok(facts)
}

#[derive(Deserialize)]
struct Repository {
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

/// What the GGUF file with this tag says.
fn gguf_of(client: &Client<'_>, tag: &str) -> Result<Facts, String> {
    let url = format!("{}/api/models/{}/{}", client.hub.endpoint, client.id.owner, client.id.name);
    let body = client.get(url, None)?.ok_or("is no repository of this hub")?;
    let body = bounded::read_all(body, MOST_LIST).map_err(|error| error.to_string())?;
    let files: Repository = serde_json::from_slice(&body)
        .map_err(|error| format!("has a list of files that is not understood: {error}"))?;
    let names = files.siblings.into_iter().map(|file| file.rfilename);
    let mut names: Vec<_> =
        names.filter(|name| is_file_of(name, tag) && is_file(name)).take(MOST_SHARDS).collect();
    names.sort_unstable();
    let first = names.first().ok_or_else(|| format!("has no GGUF file {tag}"))?;
    // One file, or the parts of one.
    let stem = first.split("-00001-of-").next().unwrap_or(first).to_owned();
    let is_split = first.contains("-00001-of-");
    let mut whole: Option<gguf::Header> = None;
    for name in
        names.iter().filter(|name| if is_split { name.starts_with(&stem) } else { *name == first })
    {
        let remote = Remote::open(client, name)?.ok_or_else(|| format!("has no file {name}"))?;
        let header = gguf::read(remote).map_err(|error| format!("{name} {error}"))?;
        match &mut whole {
            Some(whole) => whole.add(&header),
            None => whole = Some(header),
        }
    }
    Ok(whole.map(|header| header.facts()).unwrap_or_default())
}

/// Whether a name the hub gives is one of a file in the repository.
fn is_file(name: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+/".contains(&byte);
    name.len() <= 512
        && name.bytes().all(letters)
        && !name.split('/').any(|part| part.starts_with('.') || part.is_empty())
}

type Body = Box<dyn Read>;

struct Client<'a> {
    hub: &'a Hub,
    id: &'a Id,
    agent: Agent,
    until: Instant,
    left: std::cell::Cell<u64>,
}

impl<'a> Client<'a> {
    fn new(hub: &'a Hub, id: &'a Id) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(hub.patience))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .https_only(hub.endpoint.starts_with("https://"))
            .user_agent(concat!("warpscope/", env!("CARGO_PKG_VERSION")))
            .build();
        let until = Instant::now() + hub.patience * REQUESTS;
        Self { hub, id, agent: config.into(), until, left: MOST_BYTES.into() }
    }

    /// A file of the repository; `None` where it has none of this name.
    fn open(&self, file: &str, range: Option<(u64, u64)>) -> Result<Option<Body>, String> {
        let Id { owner, name, .. } = self.id;
        self.get(format!("{}/{owner}/{name}/resolve/main/{file}", self.hub.endpoint), range)
    }

    fn json(&self, file: &str) -> Result<Option<Value>, String> {
        let Some(body) = self.open(file, None)? else { return Ok(None) };
        let text = bounded::read_all(body, MOST_JSON).and_then(bounded::into_text);
        let text = text.map_err(|error| format!("{file}: {error}"))?;
        parse_json(&text).map(Some).map_err(|error| format!("{file} is not JSON: {error}"))
    }

    /// Follows redirects. The token goes to the hub alone.
    fn get(&self, mut url: String, range: Option<(u64, u64)>) -> Result<Option<Body>, String> {
        for _ in 0..=MOST_REDIRECTS {
            if Instant::now() > self.until {
                return Err(format!("takes too long to fetch from {}", self.hub.endpoint));
            }
            let response = self.ask(&url, range)?;
            let status = response.status().as_u16();
            let place = header(response.headers(), "location").map(str::to_owned);
            match (status, place) {
                (301 | 302 | 303 | 307 | 308, Some(place)) => url = follow(&url, &place)?,
                (200 | 206, _) => return self.body(response, range).map(Some),
                (404 | 416, _) => return Ok(None),
                (401 | 403, _) => {
                    return Err(
                        "is not open to everybody: accept its terms on the hub and set HF_TOKEN"
                            .to_owned(),
                    );
                }
                (status, _) => {
                    return Err(format!(
                        "is refused by {} with status {status}",
                        self.hub.endpoint
                    ));
                }
            }
        }
        Err(format!("is redirected more than {MOST_REDIRECTS} times"))
    }

    fn ask(&self, url: &str, range: Option<(u64, u64)>) -> Result<Response<ureq::Body>, String> {
        let mut request = self.agent.get(url).header("accept-encoding", "identity");
        if let Some((first, last)) = range {
            request = request.header("range", format!("bytes={first}-{last}"));
        }
        if let Some(token) =
            self.hub.token.as_ref().filter(|_| origin(url) == origin(&self.hub.endpoint))
        {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        request.call().map_err(|error| format!("cannot be fetched from {}: {error}", host(url)))
    }

    /// The body, with a server's answer to a range held against the range.
    fn body(
        &self,
        response: Response<ureq::Body>,
        range: Option<(u64, u64)>,
    ) -> Result<Body, String> {
        if let Some((first, last)) = range {
            let begins = format!("bytes {first}-");
            let said = header(response.headers(), "content-range");
            let fits = match response.status().as_u16() {
                206 => said.is_none_or(|said| said.starts_with(&begins)),
                _ => first == 0,
            };
            if !fits {
                return Err("cannot be read in parts: the server does not send the range that it is asked for".to_owned());
            }
            let length = last - first + 1;
            let left =
                self.left.get().checked_sub(length).ok_or("has headers of more than 512 MiB")?;
            self.left.set(left);
            return Ok(Box::new(response.into_body().into_reader().take(length)));
        }
        Ok(Box::new(response.into_body().into_reader()))
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Scheme, host and port of an address.
fn origin(url: &str) -> Option<&str> {
    let start = url.find("://")? + 3;
    Some(&url[..url[start..].find('/').map_or(url.len(), |at| start + at)])
}

fn host(url: &str) -> &str {
    origin(url).unwrap_or(url)
}

/// The address a redirect leads to: whole, or a path on the same host. What is encrypted stays so.
fn follow(from: &str, to: &str) -> Result<String, String> {
    let next = match to.starts_with('/') && !to.starts_with("//") {
        true => format!("{}{to}", host(from)),
        false => to.to_owned(),
    };
    let known = next.starts_with("https://")
        || (next.starts_with("http://") && from.starts_with("http://"));
    known
        .then_some(next)
        .ok_or_else(|| "is redirected to an address that is not followed".to_owned())
}

/// A file that is fetched in pieces as far as it is read.
struct Remote<'a> {
    client: &'a Client<'a>,
    file: &'a str,
    at: u64,
    size: u64,
    piece: Cursor<Vec<u8>>,
    is_at_end: bool,
}

impl<'a> Remote<'a> {
    /// Fetches the first piece; `None` where there is no such file.
    fn open(client: &'a Client<'a>, file: &'a str) -> Result<Option<Self>, String> {
        let mut remote = Self {
            client,
            file,
            at: 0,
            size: FIRST_PIECE,
            piece: Cursor::default(),
            is_at_end: false,
        };
        Ok(remote.more()?.then_some(remote))
    }

    /// Fetches the next piece; whether there is one.
    fn more(&mut self) -> Result<bool, String> {
        if self.is_at_end {
            return Ok(false);
        }
        let last = self.at.saturating_add(self.size - 1);
        let Some(body) = self.client.open(self.file, Some((self.at, last)))? else {
            return Ok(false);
        };
        let bytes = bounded::read_all(body, self.size)
            .map_err(|error| format!("{}: {error}", self.file))?;
        self.is_at_end = (bytes.len() as u64) < self.size;
        self.at += bytes.len() as u64;
        self.size = (self.size * 2).min(LARGEST_PIECE);
        self.piece = Cursor::new(bytes);
        Ok(true)
    }
}

impl Read for Remote<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.piece.read(buffer)? {
                0 if !buffer.is_empty() && self.more().map_err(io::Error::other)? => {}
                count => return Ok(count),
            }
        }
    }
}
