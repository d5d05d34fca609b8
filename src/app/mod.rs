//! State and its one update function (pure), and the runtime around them.
