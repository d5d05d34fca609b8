//! What a feature answers.

use super::keys::Chord;
use super::msg::Cmd;
use crate::config::ArgSpec;
use warpscope_probes::Frame;
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
    /// An option, by its declaration, takes the value after the one it has, or the one before; of a list one word comes or goes.
    StepOption(&'static ArgSpec, Option<&'static str>, isize),
    /// An option takes this value.
    SetOption(&'static ArgSpec, String),
    /// The layout with this place takes effect.
    SetLayout(usize),
    /// Options that were changed go into the configuration file.
    SaveOptions,
    /// What a key does.
    Press(Chord),
    /// The cursor of every tab goes to the GPU with this place in the frame.
    SelectGpu(usize),
    /// Verdicts on what has this text in its name come into view.
    Find(String),
    /// Processes that have these words come into view, where a signal can be sent to them.
    FindProcesses(String),
    /// Another machine comes into view.
    ShowHost(String),
    /// A machine of many comes into view by this frame.
    ShowFrame(Box<Frame>),
    /// The past of the machine in view, oldest first.
    Past(Vec<Frame>),
    /// The Overview tab comes into view.
    GoToOverview,
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
