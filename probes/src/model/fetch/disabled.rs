use super::Hub;
use crate::model::Facts;
use crate::model::find::Id;

pub(super) fn fetch(_: &Id, _: &Hub) -> Result<Facts, String> {
    Err("is not fetched: this warpscope was built without the feature `fetch`".to_owned())
}
