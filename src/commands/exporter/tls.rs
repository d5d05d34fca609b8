//! TLS by two files.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use warpscope_probes::bounded::{self, Accept};

use crate::commands::cli::{CliError, Options, Result};
use crate::config::args;

/// Largest file of either kind.
const LARGEST: u64 = 1 << 20;

/// What shakes hands, where the options name both files.
pub(super) fn acceptor(options: &Options) -> Result<Option<TlsAcceptor>> {
    let (chain, key) = (options.get(&args::TLS_CERT), options.get(&args::TLS_KEY));
    let alone = |flag: &str, path: &Path| {
        let path = path.display();
        CliError::Usage(format!("{flag} {path}: --tls-cert and --tls-key go together"))
    };
    match (chain, key) {
        (None, None) => Ok(None),
        (Some(chain), Some(key)) => of(&chain, &key).map(Some),
        (Some(chain), None) => Err(alone("--tls-cert", &chain)),
        (None, Some(key)) => Err(alone("--tls-key", &key)),
    }
}

fn of(chain: &Path, key: &Path) -> Result<TlsAcceptor> {
    let failed = |option: &str, path: &Path, why: &dyn std::fmt::Display| {
        CliError::Usage(format!("{option} {}: {why}", path.display()))
    };
    let wrong_chain = |why: &dyn std::fmt::Display| failed("--tls-cert", chain, why);
    let wrong_key = |why: &dyn std::fmt::Display| failed("--tls-key", key, why);
    let text = bounded::read(chain, Accept::Files, LARGEST).map_err(|why| wrong_chain(&why))?;
    let certificates = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|why| wrong_chain(&why))?;
    if certificates.is_empty() {
        return Err(wrong_chain(&"holds no certificate"));
    }
    let text = bounded::read(key, Accept::Files, LARGEST).map_err(|why| wrong_key(&why))?;
    let private = PrivateKeyDer::from_pem_slice(&text).map_err(|why| wrong_key(&why))?;
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(certificates, private).map_err(|why| wrong_key(&why))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
