//! Settings that state a default: they say nothing where no rule of the framework speaks of them.

use warpscope_probes::rules::{Rule, Settings};

use super::composition::OFFICIAL_WHEELS;

/// What is done with a model unless something else is asked for.
const INFERENCE: &str = "inference";

/// Whether a rule speaks of a setting, and the configuration without that setting where it states the default.
type DefaultSetting = (fn(&Rule, &Settings) -> bool, fn(Settings) -> Settings);

const DEFAULTS: &[DefaultSetting] = &[
    (names_platform, Settings::with_plain_linux),
    (names_open_type, Settings::without_open_type),
    (names_inference, without_inference),
    (|rule, _| rule.selector.has("wheel"), without_official_wheel),
];

/// The configuration without the defaults that no rule of the framework speaks of: that the system is Linux, that the type is left to a
/// checkpoint nobody named, that a model is run and not trained, and which of its official builds is taken.
pub(super) fn without_defaults<'a, R: Iterator<Item = &'a Rule>>(
    config: &Settings,
    rules: impl Fn() -> R,
) -> Settings {
    DEFAULTS.iter().fold(config.clone(), |config, (speaks, without)| {
        if rules().any(|rule| speaks(rule, &config)) { config } else { without(config) }
    })
}

fn names_platform(rule: &Rule, config: &Settings) -> bool {
    rule.selector.names("platform", config.get("platform").unwrap_or_default())
}

fn names_open_type(rule: &Rule, _: &Settings) -> bool {
    rule.selector.names("dtype", "auto") && !rule.selector.has("checkpoint_dtype")
}

fn names_inference(rule: &Rule, _: &Settings) -> bool {
    let names = |value| rule.selector.names("operation", value);
    names(INFERENCE) && !names("unset")
}

fn without_inference(config: Settings) -> Settings {
    let plain = config.get("operation") == Some(INFERENCE);
    if plain { config.without(&["operation"]) } else { config }
}

fn without_official_wheel(config: Settings) -> Settings {
    let official = config.get("wheel").is_some_and(|build| OFFICIAL_WHEELS.contains(&build));
    if official { config.without(&["wheel"]) } else { config }
}
