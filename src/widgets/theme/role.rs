//! What colours mean. A theme names the roles it cares about; the others follow their fallback.

use ratatui::style::Modifier;

/// One row of [`ROLES`].
#[derive(Debug)]
pub struct RoleInfo {
    /// The role itself.
    pub role: Role,
    /// Key in the `[colors]` table of a theme.
    pub id: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// The role that lends its colour when a theme does not name this one; itself: must be named.
    pub fallback: Role,
    /// How it differs where it has no colour of its own: `NO_COLOR`, or a colour of `default`.
    pub plain: Modifier,
}

macro_rules! roles {
    ($($role:ident $id:literal <- $fallback:ident [$($plain:ident)*] $doc:literal;)*) => {
        /// A meaning that has a colour.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Role {
            $(#[doc = $doc] $role,)*
        }

        /// Every role, in the order of the enum.
        pub const ROLES: &[RoleInfo] = &[$(RoleInfo {
            role: Role::$role,
            id: $id,
            doc: $doc,
            fallback: Role::$fallback,
            plain: Modifier::empty()$(.union(Modifier::$plain))*,
        },)*];
    };
}

// A fallback stands above the roles that use it, so one pass from the top resolves all.
roles! {
    Text "text" <- Text [] "What is read most: values, names, sentences.";
    Muted "muted" <- Muted [DIM] "Labels, units, what is read second.";
    Faint "faint" <- Faint [DIM] "Decoration that may be overlooked: separators, absent values.";
    Accent "accent" <- Accent [BOLD] "The one colour of the theme: active tab, focus, marks.";
    Good "good" <- Good [] "All is well.";
    Warn "warn" <- Warn [BOLD] "Worth a look.";
    Bad "bad" <- Bad [BOLD UNDERLINED] "Wrong, or about to be.";
    Info "info" <- Info [] "Worth knowing, neither good nor bad.";
    Title "title" <- Text [BOLD] "Title of a frame.";
    Header "header" <- Muted [BOLD] "Column heads.";
    Border "border" <- Faint [DIM] "Frames.";
    BorderFocus "border_focus" <- Accent [] "Frame of what receives the keys.";
    SelectionFg "selection_fg" <- Text [] "Text of the selected line.";
    SelectionBg "selection_bg" <- SelectionBg [] "Background of the selected line.";
    Key "key" <- Accent [BOLD] "A key that can be pressed, in the footer and in help.";
    Match "match" <- Warn [UNDERLINED] "The part of a name that the filter matched.";
    Works "works" <- Good [] "Outcome: works.";
    Fallback "fallback" <- Info [] "Outcome: runs by another route.";
    Slow "slow" <- Warn [] "Outcome: runs far below what the hardware can do.";
    Partial "partial" <- Warn [BOLD] "Outcome: some kernels have no image for this device.";
    WrongOutput "wrong_output" <- Bad [BOLD UNDERLINED] "Outcome: runs and gives wrong results.";
    Fails "fails" <- Bad [BOLD] "Outcome: stops with an error.";
    Unknown "unknown" <- Muted [DIM] "Outcome: nothing is known.";
    WhatIf "what_if" <- Info [ITALIC] "A GPU that is not there, only named.";
    Late "late" <- Faint [DIM] "A value that has not been renewed in time.";
    Absent "absent" <- Faint [DIM] "A value that does not exist here.";
    Track "track" <- Faint [DIM] "The part of a gauge that is not filled.";
    LoadLow "load_low" <- Good [] "Load gauges, at 0.";
    LoadMid "load_mid" <- Warn [] "Load gauges, half way.";
    LoadHigh "load_high" <- Bad [] "Load gauges, full.";
    MemLow "mem_low" <- Info [] "Memory gauges, empty.";
    MemMid "mem_mid" <- Accent [] "Memory gauges, half full.";
    MemHigh "mem_high" <- WrongOutput [] "Memory gauges, full.";
    TempLow "temp_low" <- Info [] "Temperature, cool.";
    TempMid "temp_mid" <- Warn [] "Temperature, warm.";
    TempHigh "temp_high" <- Bad [] "Temperature, at the limit.";
    Graph "graph" <- Accent [] "A graph, and the top of its gradient.";
    GraphLow "graph_low" <- Graph [] "The foot of a graph's gradient.";
    Fp64 "fp64" <- Muted [] "Number format: 64-bit floating point.";
    Fp32 "fp32" <- Info [] "Number format: 32-bit floating point.";
    Tf32 "tf32" <- Fp32 [] "Number format: TF32.";
    Fp16 "fp16" <- Good [] "Number format: 16-bit floating point, 5-bit exponent.";
    Bf16 "bf16" <- Warn [] "Number format: 16-bit floating point, 8-bit exponent.";
    Fp8 "fp8" <- Fp16 [] "Number format: 8-bit floating point.";
    Int8 "int8" <- Bf16 [] "Number format: 8-bit integers.";
    Int4 "int4" <- WrongOutput [] "Number format: 4-bit integer weights.";
    Fp4 "fp4" <- Int4 [] "Number format: 4-bit floating point.";
    TapeGood "tape_good" <- Text [] "A token that matches the reference.";
    TapeBad "tape_bad" <- Bad [REVERSED] "A token that does not.";
    TapePending "tape_pending" <- Muted [DIM] "A token that is not yet checked.";
    Roof "roof" <- Muted [] "The roof of a roofline plot.";
    Rec "rec" <- Bad [BOLD] "A recording is being written.";
    Paused "paused" <- Warn [BOLD] "The screen is frozen, or work is paused.";
}

impl Role {
    /// How many roles there are.
    pub const COUNT: usize = ROLES.len();

    /// The role's row in [`ROLES`].
    pub fn info(self) -> &'static RoleInfo {
        &ROLES[self as usize]
    }

    /// The role with this id.
    pub fn from_id(id: &str) -> Option<Self> {
        ROLES.iter().find(|info| info.id == id).map(|info| info.role)
    }
}

/// A colour that depends on a share: three roles, and everything between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ramp {
    /// Utilization, power.
    Load,
    /// Memory in use.
    Memory,
    /// Temperature, as a share of the limit.
    Temperature,
    /// Height in a graph.
    Graph,
}

/// Every ramp with its three stops, in the order of the enum.
pub const RAMPS: &[(Ramp, [Role; 3])] = &[
    (Ramp::Load, [Role::LoadLow, Role::LoadMid, Role::LoadHigh]),
    (Ramp::Memory, [Role::MemLow, Role::MemMid, Role::MemHigh]),
    (Ramp::Temperature, [Role::TempLow, Role::TempMid, Role::TempHigh]),
    (Ramp::Graph, [Role::GraphLow, Role::Graph, Role::Graph]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_enum() {
        for (index, info) in ROLES.iter().enumerate() {
            assert_eq!(info.role as usize, index, "{}", info.id);
            assert_eq!(Role::from_id(info.id), Some(info.role), "{} is taken twice", info.id);
            assert!(info.doc.ends_with('.'), "{}", info.id);
        }
        for (index, (ramp, _)) in RAMPS.iter().enumerate() {
            assert_eq!(*ramp as usize, index);
        }
    }

    #[test]
    fn a_fallback_stands_above_its_users() {
        for info in ROLES {
            assert!(info.fallback as usize <= info.role as usize, "{}", info.id);
        }
    }
}
