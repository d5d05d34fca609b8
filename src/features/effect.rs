//! What a feature answers.

use super::msg::Cmd;
use warpscope_probes::catalogue::Part;

/// What a feature wants done: by the outside, or by the shell around it.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A command for the outside.
    Run(Cmd),
    /// One line that answers the user.
    Say(String),
    /// The user types into the filter.
    TypeFilter,
    /// What is selected goes to the clipboard.
    Copy,
    /// The program goes to the background.
    Suspend,
    /// A GPU of the catalogue comes into view.
    AddWhatIf(&'static Part),
}

impl<C: Into<Cmd>> From<C> for Effect {
    fn from(cmd: C) -> Self {
        Self::Run(cmd.into())
    }
}

/// Answers the user in one line.
pub fn say(text: impl Into<String>) -> Vec<Effect> {
    vec![Effect::Say(text.into())]
}
