//! The rules that decide verdicts, in memory only while they are in use.

use std::cell::RefCell;
use std::sync::Arc;

use warpscope_probes::rules::RuleBase;

/// Rules to answer by. The built-in ones can be released: they take megabytes, and the next question reads them again in milliseconds.
#[derive(Clone, Debug)]
pub struct Rules(RefCell<Option<Arc<RuleBase>>>);

impl Rules {
    /// The rules.
    pub fn get(&self) -> Arc<RuleBase> {
        Arc::clone(self.0.borrow_mut().get_or_insert_with(RuleBase::shared))
    }

    /// Keeps them no longer, if they can be read again.
    pub fn let_go(&self) {
        self.0.borrow_mut().take_if(|base| base.is_shared());
    }
}

impl From<Arc<RuleBase>> for Rules {
    fn from(base: Arc<RuleBase>) -> Self {
        Self(RefCell::new(Some(base)))
    }
}

impl Default for Rules {
    /// None at all.
    fn default() -> Self {
        Arc::<RuleBase>::default().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_own_are_let_go_and_come_back() {
        let rules = Rules::from(RuleBase::shared());
        let before = rules.get().rules().len();
        rules.let_go();
        assert!(rules.0.borrow().is_none());
        assert_eq!(rules.get().rules().len(), before);
    }

    #[test]
    fn others_stay() {
        let own = Arc::new(RuleBase::builtin().clone());
        let rules = Rules::from(Arc::clone(&own));
        rules.let_go();
        assert!(Arc::ptr_eq(&rules.get(), &own));
        Rules::default().let_go();
        assert!(Rules::default().get().rules().is_empty());
    }
}
