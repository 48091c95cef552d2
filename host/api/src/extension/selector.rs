use std::fmt;

use async_trait::async_trait;

use crate::Uid;
use crate::placement::StageFailure;

/// Selects objects by what extensions say of them. It depends on an object's content alone as long as it is current.
#[async_trait]
pub trait SelectorFilter: fmt::Debug + Send + Sync {
    /// Whether each object is selected, in their order.
    ///
    /// # Errors
    /// Nobody can say; what was asked fails, as a part of the objects would be wrong.
    async fn select(&self, objects: &[&dyn Selectable]) -> Result<Vec<bool>, StageFailure>;

    /// Waits until it may say something else of an object than before: what it selected has to be listed anew.
    async fn outdated(&self);

    /// What it depends on beside the objects: another one may select others.
    fn generation(&self) -> u64;
}

/// An object that an extension is asked about.
pub trait Selectable: Send + Sync {
    /// Its uid and the number of its state: two states with the same are the same.
    fn identity(&self) -> (&Uid, u64);

    /// Its JSON.
    fn json(&self) -> Vec<u8>;
}
