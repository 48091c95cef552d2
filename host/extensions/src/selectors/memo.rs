use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use orrery_api::Uid;
use orrery_api::extension::Selectable;
use orrery_api::placement::StageFailure;

/// What a generation said of each state of an object.
pub(crate) struct Memo<T>(Mutex<HashMap<(Uid, u64), Arc<T>>>);

/// States that are remembered; beyond them all are forgotten and asked again.
const STATES: usize = 200_000;

/// Objects in one call.
const BATCH: usize = 256;

/// The labels of an object, by key.
pub(crate) type Labels = Vec<(String, String)>;

/// What is said of some objects, as far as it is known.
pub(crate) struct Said<T>(Vec<Option<Arc<T>>>);

// === impl Memo ===

impl<T> Memo<T> {
    /// What is known of `objects`.
    pub(crate) fn of(&self, objects: &[&dyn Selectable]) -> Said<T> {
        let memo = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Said(objects.iter().map(|object| memo.get(&key(*object)).cloned()).collect())
    }

    /// Remembers `answers` on those of `objects` that stand at `places`.
    ///
    /// # Errors
    /// There are more or fewer answers than places.
    pub(crate) fn keep(
        &self,
        said: &mut Said<T>,
        objects: &[&dyn Selectable],
        places: &[usize],
        answers: Vec<T>,
    ) -> Result<(), StageFailure> {
        let (got, asked) = (answers.len(), places.len());
        if got != asked {
            return Err(StageFailure::new(format!("it gave {got} answers on {asked} objects")));
        }
        let mut memo = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memo.len() + asked > STATES {
            memo.clear();
        }
        for (at, answer) in places.iter().zip(answers) {
            said.0[*at] = Some(memo.entry(key(objects[*at])).or_insert_with(|| Arc::new(answer)).clone());
        }
        Ok(())
    }
}

// === impl Said ===

impl<T> Said<T> {
    /// The places of the next objects of which nothing is known, as many as are asked about in one call.
    pub(crate) fn unknown(&self) -> Option<Vec<usize>> {
        let unknown = self.0.iter().enumerate().filter_map(|(at, said)| said.is_none().then_some(at));
        Some(unknown.take(BATCH).collect::<Vec<_>>()).filter(|places| !places.is_empty())
    }

    /// All of it, once nothing is unknown.
    pub(crate) fn all(self) -> Vec<Arc<T>> {
        self.0.into_iter().flatten().collect()
    }
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

fn key(object: &dyn Selectable) -> (Uid, u64) {
    let (uid, number) = object.identity();
    (uid.clone(), number)
}
