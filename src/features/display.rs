//! What the user sets about the screen while the dashboard runs.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use crate::config::args::GRAPH_WORDS;
use crate::config::{Value, Values, args};
use crate::store::{SPANS, TRACKS, Track};
use crate::widgets::format::Units;

/// What the user sets about the screen while the dashboard runs.
#[derive(Clone, Debug)]
pub struct Display {
    /// Units of memory and temperatures.
    pub units: Units,
    /// Time zone of this machine.
    pub zone: TimeZone,
    /// Whether the clock shows the time of [`Self::zone`] instead of UTC.
    pub is_local_time: bool,
    /// Place of the span of graphs in [`SPANS`].
    pub span: usize,
    /// Graphs by their words.
    pub graphs: Vec<String>,
    /// Columns of the Processes tab by their words, in their order.
    pub columns: Vec<String>,
    /// Panels of Overview by their words.
    pub panels: Vec<String>,
    /// Layouts by name: values of options by their ids.
    pub layouts: Vec<(String, Values)>,
    /// Place of the layout that was chosen last.
    pub layout: Option<usize>,
    /// Whether the mouse is used.
    pub mouse: bool,
    /// What was set since the start and is not saved, by the key in the configuration.
    pub changed: BTreeMap<&'static str, Value>,
    /// What options that were set had before, or have in the configuration since: as text.
    pub kept: BTreeMap<&'static str, String>,
}

impl Default for Display {
    fn default() -> Self {
        let words =
            |text: Option<&str>| text.unwrap_or_default().split(',').map(str::to_owned).collect();
        Self {
            units: Units::default(),
            zone: TimeZone::UTC,
            is_local_time: false,
            span: 0,
            graphs: words(args::GRAPHS.spec.default),
            columns: words(args::COLUMNS.spec.default),
            panels: words(args::PANELS.spec.default),
            layouts: Vec::new(),
            layout: None,
            mouse: true,
            changed: BTreeMap::new(),
            kept: BTreeMap::new(),
        }
    }
}

impl Display {
    /// Notes that the option with a key in the configuration has a new value.
    pub fn set(&mut self, key: &'static str, before: String, value: Value) {
        if *self.kept.entry(key).or_insert(before) == value.text() {
            self.changed.remove(key);
        } else {
            self.changed.insert(key, value);
        }
    }

    /// Notes what the configuration holds now.
    pub fn saved(&mut self, values: BTreeMap<&'static str, Value>) {
        self.changed.retain(|key, value| values.get(key) != Some(value));
        self.kept.extend(values.into_iter().map(|(key, value)| (key, value.text())));
    }

    /// Whether a panel of Overview is shown.
    pub fn has_panel(&self, word: &str) -> bool {
        self.panels.iter().any(|panel| panel == word)
    }

    /// Whether a graph is shown.
    pub fn has_graph(&self, track: Track) -> bool {
        // Throttling is drawn under clocks.
        let place = TRACKS.iter().position(|spec| spec.track == track);
        let word =
            place.and_then(|place| GRAPH_WORDS.get(place)).filter(|_| track != Track::Throttle);
        word.is_some_and(|word| self.graphs.iter().any(|graph| graph == word))
    }
}

/// The span of graphs with this word, such as `15min`.
pub fn span(word: &str) -> Option<usize> {
    SPANS.iter().position(|span| span.label.replace(' ', "") == word)
}

/// The word of a span of graphs.
pub fn span_word(span: usize) -> String {
    SPANS.get(span).map(|span| span.label.replace(' ', "")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_span_and_graph_of_the_configuration_exists() {
        let spans: Vec<_> = (0..SPANS.len()).map(span_word).collect();
        assert_eq!(args::GRAPH_SPAN.spec.kind.words(), spans);
        assert_eq!(GRAPH_WORDS.len(), TRACKS.len(), "none instead of throttling");
        let display = Display::default();
        let shown = TRACKS.iter().filter(|spec| display.has_graph(spec.track));
        assert_eq!(shown.count(), TRACKS.len() - 1);
        assert_eq!(span("15min"), Some(2));
    }
}
