use clap_complete::Shell;

use super::output;
use crate::commands::cli::exit::{CliError, Exit};
use crate::commands::cli::options::Options;
use crate::commands::cli::parser;

/// Completions for a shell.
pub(crate) fn run(options: &Options) -> Result<Exit, CliError> {
    let shell = options.word.as_deref().and_then(|word| word.parse::<Shell>().ok());
    let shell = shell.ok_or_else(|| CliError::Usage("name a shell".to_owned()))?;
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut parser::visible(), "warpscope", &mut bytes);
    output::write(&bytes)?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use clap_complete::Shell;

    use crate::config::SHELLS;

    #[test]
    fn every_shell_of_the_table_is_known() {
        for shell in SHELLS {
            assert!(shell.parse::<Shell>().is_ok(), "{shell}");
        }
    }
}
