//! A small HTTP server on a thread of its own: one page, few connections, and no patience with slow ones.

use std::convert::Infallible;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::address::Address;
use super::published::{Shared, page};
use crate::commands::cli::{CliError, Result};
use crate::io::metrics::Form;

/// Connections at once; more wait.
const MOST: usize = 32;
/// Bytes of a request's head.
const HEAD: usize = 16 << 10;
/// Time for a request's head, and for a whole connection.
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(30);
/// Time until the system may have descriptors for connections again.
const PAUSE: Duration = Duration::from_millis(100);

type Answer = Response<String>;

/// What a connection needs.
#[derive(Clone)]
struct Service {
    shared: Shared,
    token: Option<Arc<str>>,
    tls: Option<TlsAcceptor>,
    free: Arc<Semaphore>,
}

/// Ends the server when it is dropped, and removes its sockets.
pub(super) struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
    /// Where it listens, with the ports the system chose.
    pub(super) addresses: Vec<Address>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.take();
        let _ = self.thread.take().map(thread::JoinHandle::join);
        for address in &self.addresses {
            if let Address::Unix(path) = address {
                let _ = fs::remove_file(path);
            }
        }
    }
}

enum Listener {
    Network(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// The address with the port the system chose.
    fn address(&self, named: &Address) -> Address {
        match self {
            Self::Network(listener) => {
                listener.local_addr().map_or_else(|_| named.clone(), Address::Network)
            }
            Self::Unix(_) => named.clone(),
        }
    }
}

/// Listens on every address; fails where one cannot be had.
pub(super) fn start(
    addresses: &[Address],
    token: Option<String>,
    tls: Option<TlsAcceptor>,
    shared: &Shared,
) -> Result<Server> {
    let failed = |error: std::io::Error| CliError::Failed(format!("cannot serve: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(failed)?;
    let listeners = addresses.iter().map(|address| {
        let named = |error| CliError::Failed(format!("{address}: {error}"));
        runtime.block_on(listen(address)).map_err(named)
    });
    let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
    let pairs = listeners.iter().zip(addresses);
    let addresses = pairs.map(|(listener, named)| listener.address(named)).collect();
    let service = Service {
        shared: Arc::clone(shared),
        token: token.map(Arc::from),
        tls,
        free: Arc::new(Semaphore::new(MOST)),
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let work = move || {
        runtime.block_on(async {
            for listener in listeners {
                tokio::spawn(accept(listener, service.clone()));
            }
            let _ = stopped.await;
        });
    };
    let thread = thread::Builder::new().name("metrics".into()).spawn(work).map_err(failed)?;
    Ok(Server { stop: Some(stop), thread: Some(thread), addresses })
}

async fn listen(address: &Address) -> std::io::Result<Listener> {
    match address {
        Address::Network(address) => Ok(Listener::Network(TcpListener::bind(address).await?)),
        Address::Unix(path) => {
            forget(path)?;
            let listener = UnixListener::bind(path)?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
            Ok(Listener::Unix(listener))
        }
    }
}

/// Removes a socket that nobody listens on any more; anything else stays.
fn forget(path: &Path) -> std::io::Result<()> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        return fs::remove_file(path);
    }
    Ok(())
}

async fn accept(listener: Listener, service: Service) {
    loop {
        let Ok(permit) = Arc::clone(&service.free).acquire_owned().await else { return };
        let service = service.clone();
        let accepted = match &listener {
            Listener::Network(listener) => listener.accept().await.map(|(stream, _)| {
                tokio::spawn(async move { (serve_network(stream, service).await, drop(permit)) });
            }),
            Listener::Unix(listener) => listener.accept().await.map(|(stream, _)| {
                tokio::spawn(async move { (serve(stream, service).await, drop(permit)) });
            }),
        };
        if accepted.is_err() {
            sleep(PAUSE).await;
        }
    }
}

/// The same of a connection over the network, encrypted where that is asked for. One that shakes no hands ends.
async fn serve_network(stream: TcpStream, service: Service) {
    let Some(tls) = service.tls.clone() else { return serve(stream, service).await };
    if let Ok(Ok(stream)) = timeout(PATIENCE, tls.accept(stream)).await {
        serve(stream, service).await;
    }
}

/// Answers the one request of a connection, unless that takes too long: connections that stay would keep others out.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, service: Service) {
    let answer = |request: Request<Incoming>| {
        let answer = service.answer(&request);
        async move { Ok::<_, Infallible>(answer) }
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .header_read_timeout(PATIENCE)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(stream), service_fn(answer));
    let _ = timeout(LONGEST, connection).await;
}

impl Service {
    fn answer(&self, request: &Request<Incoming>) -> Answer {
        let head = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        if !self.is_known(head(AUTHORIZATION)) {
            let mut answer = plain(StatusCode::UNAUTHORIZED, "a token is needed\n");
            answer.headers_mut().insert(WWW_AUTHENTICATE, "Bearer".parse().expect("is a value"));
            return answer;
        }
        match (request.method(), request.uri().path()) {
            (&Method::GET | &Method::HEAD, "/metrics") => {
                let form = Form::accepted(head(ACCEPT).unwrap_or_default());
                let mut answer = plain(StatusCode::OK, page(&self.shared, form));
                let kind = form.content_type().parse().expect("is a value");
                answer.headers_mut().insert(CONTENT_TYPE, kind);
                answer
            }
            (&Method::GET, "/") => plain(StatusCode::OK, "warpscope: metrics are at /metrics\n"),
            (&Method::GET | &Method::HEAD, _) => plain(StatusCode::NOT_FOUND, "not found\n"),
            _ => plain(StatusCode::METHOD_NOT_ALLOWED, "only GET\n"),
        }
    }

    /// Whether the token that was sent is the one that is asked for. The time it takes does not depend on where they differ.
    fn is_known(&self, header: Option<&str>) -> bool {
        let Some(token) = &self.token else { return true };
        let sent = header.and_then(|header| header.strip_prefix("Bearer ")).unwrap_or_default();
        let pairs = sent.bytes().zip(token.bytes());
        let differing = pairs.fold(0, |differing, (sent, token)| differing | (sent ^ token));
        sent.len() == token.len() && std::hint::black_box(differing) == 0
    }
}

fn plain(status: StatusCode, text: impl Into<String>) -> Answer {
    let mut answer = Response::new(text.into());
    *answer.status_mut() = status;
    answer
}
