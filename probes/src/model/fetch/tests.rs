use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::*;
use crate::model::ShapeSource;

const CONFIG: &str = r#"{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_attention_heads": 4,
    "num_hidden_layers": 2, "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 512,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16"}"#;

/// How a server answers for a path.
#[derive(Clone)]
enum Answer {
    /// The file, whole or the range that is asked for.
    File(Vec<u8>),
    /// The file, whatever range is asked for, said to be that range.
    WrongRange(Vec<u8>),
    Status(u16),
    Redirect(String),
    /// A length that is not there.
    Lie(u64),
    /// Nothing, with the connection held open.
    Stall,
}

/// A server on this machine that keeps what it is asked.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(answers: &[(&str, Answer)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let address = format!("http://{}", listener.local_addr().expect("has one"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answers: HashMap<String, Answer> =
            answers.iter().map(|(path, answer)| ((*path).to_owned(), answer.clone())).collect();
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming().flatten() {
                if let Some(stream) = serve(stream, &answers, &log) {
                    held.push(stream);
                }
            }
        });
        Self { address, asked }
    }

    fn hub(&self) -> Hub {
        Hub {
            endpoint: self.address.clone(),
            token: Some("secret".to_owned()),
            is_offline: false,
            patience: Duration::from_millis(500),
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("is whole").clone()
    }
}

/// What a client wants.
struct Request {
    path: String,
    /// First and last byte.
    range: Option<(usize, usize)>,
    has_token: bool,
}

impl Request {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
        let path = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
        let (mut range, mut has_token) = (None, false);
        for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
            let line = line.to_ascii_lowercase();
            has_token |= line.starts_with("authorization:");
            if let Some((first, last)) =
                line.strip_prefix("range: bytes=").and_then(|bytes| bytes.split_once('-'))
            {
                range = range.or(first.parse().ok().zip(last.parse().ok()));
            }
        }
        Some(Self { path, range, has_token })
    }

    fn logged(&self) -> String {
        let first = self.range.map_or(String::new(), |(first, _)| first.to_string());
        format!("{} {first}{}", self.path, if self.has_token { " token" } else { "" })
    }
}

/// Status line and headers, and the body, of a file or of the range that is asked for.
fn sent(bytes: &[u8], range: Option<(usize, usize)>) -> (String, &[u8]) {
    let Some((first, last)) = range else {
        return (format!("200 OK\r\nContent-Length: {}", bytes.len()), bytes);
    };
    match bytes.get(first..(last + 1).min(bytes.len())) {
        Some(body) if !body.is_empty() => {
            let range = format!("{first}-{}/{}", first + body.len() - 1, bytes.len());
            let length = body.len();
            let head = "206 Partial Content\r\nContent-Range: bytes";
            (format!("{head} {range}\r\nContent-Length: {length}"), body)
        }
        _ => ("416 Range Not Satisfiable\r\nContent-Length: 0".to_owned(), b""),
    }
}

/// Answers one request and closes; a stalled connection is handed back to be held.
fn serve(
    mut stream: TcpStream,
    answers: &HashMap<String, Answer>,
    log: &Mutex<Vec<String>>,
) -> Option<TcpStream> {
    let request = Request::read(&stream)?;
    log.lock().expect("is whole").push(request.logged());
    let answer = answers.get(&request.path).unwrap_or(&Answer::Status(404));
    let (head, body): (String, &[u8]) = match answer {
        Answer::File(bytes) => sent(bytes, request.range),
        Answer::WrongRange(bytes) => {
            let head = "206 Partial Content\r\nContent-Range: bytes 7-9/10";
            (format!("{head}\r\nContent-Length: {}", bytes.len()), bytes)
        }
        Answer::Status(status) => (format!("{status} Status\r\nContent-Length: 0"), b""),
        Answer::Redirect(to) => (format!("302 Found\r\nLocation: {to}\r\nContent-Length: 0"), b""),
        Answer::Lie(length) => (format!("200 OK\r\nContent-Length: {length}"), b"{}"),
        Answer::Stall => return Some(stream),
    };
    // The client may have closed the connection.
    let _ = stream.write_all(format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").as_bytes());
    let _ = stream.write_all(body);
    None
}

/// A safetensors file: an embedding of 100 by 64, and padding that makes its header as long as asked.
fn safetensors(padding: usize) -> Vec<u8> {
    let header = format!(
        r#"{{"__metadata__":{{"x":"{}"}},"model.embed_tokens.weight":{{"dtype":"BF16","shape":[100,64],"data_offsets":[0,12800]}},
            "lm_head.weight":{{"dtype":"BF16","shape":[100,64],"data_offsets":[12800,25600]}}}}"#,
        "x".repeat(padding)
    );
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(vec![0; 25_600]);
    file
}

fn at(file: &str) -> String {
    format!("/a/b/resolve/main/{file}")
}

fn fetch(name: &str, hub: &Hub) -> Result<Model, String> {
    Model::fetch(Path::new(name), hub).map_err(|error| error.to_string())
}

#[test]
fn headers_are_read_in_ranges() {
    // A header longer than the first piece, and a file that is longer still.
    let server = Server::new(&[
        (&at("config.json"), Answer::File(CONFIG.into())),
        (&at("model.safetensors"), Answer::File(safetensors(300 << 10))),
    ]);
    let model = fetch("a/b", &server.hub()).expect("fetches");
    assert_eq!((model.name.as_str(), model.weight_bytes), ("a/b", Some(25_600)));
    let shape = model.shape.expect("is known");
    assert_eq!((shape.source, shape.parameters(), shape.depth()), (ShapeSource::Header, 12_800, 2));
    let asked = server.asked();
    assert_eq!(asked.last(), Some(&format!("{} 262144 token", at("model.safetensors"))));
    assert_eq!(asked.len(), 5, "{asked:?}");
}

#[test]
fn shards_of_an_index_are_added() {
    let index = r#"{"metadata": {"total_size": 1}, "weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}"#;
    let server = Server::new(&[
        (&at("config.json"), Answer::File(CONFIG.into())),
        (&at("model.safetensors.index.json"), Answer::File(index.into())),
        (&at("m-1.safetensors"), Answer::File(safetensors(0))),
        (&at("m-2.safetensors"), Answer::File(safetensors(0))),
    ]);
    assert_eq!(fetch("a/b", &server.hub()).expect("fetches").weight_bytes, Some(51_200));
}

#[test]
fn names_of_an_index_do_not_leave_the_repository() {
    let index = r#"{"metadata": {"total_size": 7}, "weight_map": {"a": "m-1.safetensors", "b": "../../../x"}}"#;
    let server = Server::new(&[
        (&at("config.json"), Answer::File(CONFIG.into())),
        (&at("model.safetensors.index.json"), Answer::File(index.into())),
        (&at("m-1.safetensors"), Answer::File(safetensors(0))),
    ]);
    let model = fetch("a/b", &server.hub()).expect("fetches");
    assert_eq!(model.weight_bytes, Some(7));
    assert_eq!(model.shape.map(|shape| shape.source), Some(ShapeSource::Config));
    assert!(server.asked().iter().all(|line| !line.contains("..")));
}

#[test]
fn a_gguf_file_is_found_by_its_tag() {
    let file = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/tiny.gguf"))
        .expect("is there");
    let list = r#"{"siblings": [{"rfilename": "b-IQ4_XS.gguf"}, {"rfilename": "q/b-Q4_K_M.gguf"}, {"rfilename": "mmproj-Q4_K_M.gguf"}]}"#;
    let server = Server::new(&[
        ("/api/models/a/b", Answer::File(list.into())),
        (&at("q/b-Q4_K_M.gguf"), Answer::File(file)),
    ]);
    assert_eq!(fetch("a/b:q4_k_m", &server.hub()).expect("fetches").weight_bytes, Some(2112));
    let error = fetch("a/b:Q8_0", &server.hub()).expect_err("is missing");
    assert!(error.contains("has no GGUF file Q8_0"), "{error}");
}

#[test]
fn the_token_stays_with_the_hub() {
    let other =
        Server::new(&[("/c", Answer::File(CONFIG.into())), ("/w", Answer::File(safetensors(0)))]);
    let server = Server::new(&[
        (&at("config.json"), Answer::Redirect("/moved".into())),
        ("/moved", Answer::Redirect(format!("{}/c", other.address))),
        (&at("model.safetensors"), Answer::Redirect(format!("{}/w", other.address))),
    ]);
    fetch("a/b", &server.hub()).expect("fetches");
    assert!(server.asked().iter().all(|line| line.ends_with(" token")), "{:?}", server.asked());
    assert_eq!(other.asked(), ["/c ", "/w 0"]);
}

#[test]
fn servers_that_refuse_stall_or_lie_are_answered_in_a_sentence() {
    let hostile = [8, 0, 0, 0, 0, 0, 0, 0x80].to_vec();
    let fine = || (at("config.json"), Answer::File(CONFIG.into()));
    for (answers, words) in [
        (vec![], "has no config.json"),
        (vec![(at("config.json"), Answer::Status(401))], "set HF_TOKEN"),
        (vec![(at("config.json"), Answer::Status(500))], "with status 500"),
        (
            vec![(at("config.json"), Answer::Redirect(at("config.json")))],
            "redirected more than 5 times",
        ),
        (vec![(at("config.json"), Answer::Redirect("file:///etc/passwd".into()))], "not followed"),
        (vec![(at("config.json"), Answer::Stall)], "cannot be fetched"),
        (vec![(at("config.json"), Answer::Lie(1 << 40))], "config.json"),
        (vec![(at("config.json"), Answer::File(vec![b' '; 5 << 20]))], "larger than"),
        (vec![(at("config.json"), Answer::File(b"<html>".to_vec()))], "is not JSON"),
        (vec![fine(), (at("model.safetensors"), Answer::File(hostile))], "no safetensors file"),
        (vec![fine(), (at("model.safetensors"), Answer::WrongRange(safetensors(0)))], "range"),
        (vec![fine(), (at("model.safetensors"), Answer::File(vec![1, 2, 3]))], "ends within"),
    ] {
        let answers: Vec<_> =
            answers.iter().map(|(path, answer)| (path.as_str(), answer.clone())).collect();
        let error = fetch("a/b", &Server::new(&answers).hub()).expect_err(words);
        assert!(error.starts_with("a/b: ") && error.contains(words), "{error} / {words}");
        assert!(!error.contains('\n') && !error.contains("secret"), "{error}");
    }
}

#[test]
fn names_and_settings_are_checked_before_anything_is_sent() {
    let hub = |rows: &'static [(&'static str, &'static str)]| {
        Hub::new(|name| rows.iter().find(|row| row.0 == name).map(|row| row.1.into()))
    };
    let plain = hub(&[("HF_TOKEN", "abc\n"), ("HF_ENDPOINT", "https://hub.example/")]);
    assert_eq!(
        (plain.endpoint.as_str(), plain.token.as_deref()),
        ("https://hub.example", Some("abc"))
    );
    assert!(!format!("{plain:?}").contains("abc"));
    assert_eq!(hub(&[("HF_TOKEN", "a\r\nx: y")]).token, None);
    for name in ["gpt2", "a/b/c", "a/../b", "a/b?c", "a/b:c/d"] {
        assert!(fetch(name, &plain).expect_err("is refused").contains("is no hub id"), "{name}");
    }
    let offline = fetch("a/b", &hub(&[("HF_HUB_OFFLINE", "1")])).expect_err("is refused");
    assert!(offline.contains("HF_HUB_OFFLINE"), "{offline}");
}
