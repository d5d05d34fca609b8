use std::sync::Arc;

use crate::engine::explain::{Answer, Confidence, Problem};
use crate::features::{Action, Cmd, Effect, Flow, PopupEvent, Scroll};
use crate::widgets::theme::Role;
use crate::widgets::{PageWriter, Surface, draw_page};

/// Columns of lines below a heading.
const INDENT: usize = 2;

/// The cause of an error whose text is pasted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorText {
    text: Option<Arc<str>>,
    answer: Option<Arc<Answer>>,
    scroll: Scroll,
}

impl ErrorText {
    /// Waits for the answer to a text.
    pub(crate) fn reading(text: Arc<str>) -> Self {
        Self { text: Some(text), ..Self::default() }
    }

    /// Takes the answer to a text, unless another text was pasted since.
    pub(crate) fn answered(&mut self, text: &Arc<str>, answer: Arc<Answer>) {
        if self.text.as_ref().is_some_and(|mine| Arc::ptr_eq(mine, text)) {
            self.answer = Some(answer);
        }
    }

    /// What an event changes.
    pub(super) fn on(&mut self, event: PopupEvent) -> Flow {
        match event {
            PopupEvent::Key(press) if press.action == Some(Action::Copy) => {
                Flow::Stay(self.copied())
            }
            PopupEvent::Key(press) if press.action == Some(Action::Explain) => Flow::close(),
            other => self.scroll.on(other),
        }
    }

    fn copied(&self) -> Vec<Effect> {
        let first = self.answer.as_ref().and_then(|answer| answer.problems.first());
        match first.filter(|problem| !problem.fix.is_empty()) {
            Some(problem) => vec![
                Effect::Say("Copied the fix to the clipboard.".into()),
                Cmd::Copy(problem.fix.join("\n")).into(),
            ],
            None => vec![Effect::Say("There is no fix to copy.".into())],
        }
    }

    /// Draws it over the body of the screen.
    pub(super) fn draw(&self, on: Surface<'_>) {
        let mut w = PageWriter::new(on.look, on.page_width());
        match (&self.text, &self.answer) {
            (None, _) => invite(&mut w),
            (Some(_), None) => w.beside(&[], 0, "Reading the text.", w.look.style(Role::Muted)),
            (Some(_), Some(answer)) => write(&mut w, answer),
        }
        let title = [on.look.piece("Explain an error", Role::Title)];
        draw_page(&title, &w.page, (self.scroll.0, None), on);
    }
}

fn invite(w: &mut PageWriter<'_>) {
    let look = w.look;
    let mut say = |text: &str, role| w.beside(&[], 0, text, look.style(role));
    say("Paste an error message or a log here.", Role::Text);
    say("Most terminals paste with Ctrl-Shift-V, Cmd-V or the middle mouse button.", Role::Muted);
    say("Pasting works without opening this page too.", Role::Muted);
    w.heading("In the shell");
    for command in ["warpscope explain FILE", "warpscope explain -- COMMAND"] {
        w.verbatim(command, INDENT, look.style(Role::Good));
    }
}

fn write(w: &mut PageWriter<'_>, answer: &Answer) {
    for (at, problem) in answer.problems.iter().enumerate() {
        if at > 0 {
            w.gap();
        }
        problem_of(w, problem, at == 0);
    }
    if !answer.problems.is_empty() {
        return;
    }
    let text = match answer.lines {
        1 => "The line fits no known error.".to_owned(),
        lines => format!("None of the {lines} lines fits a known error."),
    };
    w.labelled("unknown", &text, Role::Warn);
    if let Some(look) = &answer.look {
        w.labelled(
            "look",
            &format!("The text only reports a failure elsewhere: {look}."),
            Role::Text,
        );
    }
    let report = "warpscope explain FILE --here --markdown";
    w.labelled(
        "more",
        "What an issue about it should tell, with the facts of this machine:",
        Role::Text,
    );
    w.pasted("", report, w.look.style(Role::Good));
}

fn problem_of(w: &mut PageWriter<'_>, problem: &Problem, is_first: bool) {
    let look = w.look;
    w.beside(&[], 0, &problem.title, look.style(Role::Header));
    w.labelled("line", &quote(problem), Role::Muted);
    w.labelled("cause", &problem.cause, Role::Text);
    w.labelled("sure", sure(problem.confidence), sure_role(problem.confidence));
    w.labelled("or", problem.or.as_deref().unwrap_or_default(), Role::Text);
    if let Some(ask) = &problem.ask {
        w.labelled("to settle", &ask.fact, Role::Text);
        w.pasted("", &ask.command, look.style(Role::Info));
    }
    for fact in &problem.facts {
        let text = format!("{} = {} ({})", fact.name, fact.value, fact.origin.words());
        w.labelled("fact", &text, Role::Muted);
    }
    for out in &problem.excluded {
        w.labelled("not", &format!("{}: {}", out.class, out.why), Role::Muted);
    }
    let label = if is_first { "fix (y)" } else { "fix" };
    w.pasted(label, &problem.fix.join("\n"), look.style(Role::Good));
    if let Some(fix) = &problem.or_fix {
        w.pasted("or", fix, look.style(Role::Good));
    }
    for refuted in &problem.refuted {
        w.labelled("not a fix", &format!("{}: {}", refuted.fix, refuted.why), Role::Muted);
    }
    w.labelled("rules", &problem.rules.join(", "), Role::Muted);
    w.labelled("see also", &problem.why.join(", "), Role::Muted);
    if !problem.sources.is_empty() {
        w.beside(&[], 0, "sources", look.style(Role::Muted));
        w.sources(&problem.sources.join("; "), INDENT);
    }
}

fn quote(problem: &Problem) -> String {
    match problem.quote.is_empty() {
        true => String::new(),
        false => format!("{}: {}", problem.line, problem.quote),
    }
}

/// How sure an answer is, in a sentence.
fn sure(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Settled => "settled: every deciding fact is known",
        Confidence::Fits => "fits: a deciding fact is unknown",
        Confidence::OneOfTwo => "one of two causes",
        Confidence::OneOfSeveral => "one of several causes",
    }
}

fn sure_role(confidence: Confidence) -> Role {
    match confidence {
        Confidence::Settled => Role::Good,
        Confidence::Fits | Confidence::OneOfTwo | Confidence::OneOfSeveral => Role::Warn,
    }
}
