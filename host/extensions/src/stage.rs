use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use orrery_api::placement::{ExtendedStage, PlacementRequest, PlacementStage, StageFailure, Verdict};

use crate::runtime::CallError;
use crate::slot::Slot;

/// A stage of placement that an extension answers.
pub(crate) struct Extended {
    name: String,
    stage: ExtendedStage,
    /// `None` where no document brings the extension.
    slot: Option<Arc<Slot>>,
}

/// After how long a create is to be tried again that an extension could not answer for lack of time.
const SOON: Duration = Duration::from_secs(1);

// === impl Extended ===

impl Extended {
    pub(crate) fn new(stage: &ExtendedStage, slot: Option<Arc<Slot>>) -> Self {
        Self { name: stage.to_string(), stage: stage.clone(), slot }
    }
}

#[async_trait]
impl PlacementStage for Extended {
    fn name(&self) -> &str {
        &self.name
    }

    async fn judge(&self, request: &PlacementRequest<'_>) -> Result<Vec<Verdict>, StageFailure> {
        let Some(slot) = &self.slot else {
            let by = &self.stage.by;
            return Err(StageFailure::new(format!("there is no {by} in the directory of extensions")));
        };
        slot.judge(self.stage.stage, request)
            .await
            .map_err(|error| StageFailure { message: error.to_string(), retry_after: retry_after(&error) })
    }

    fn last_known(&self, request: &PlacementRequest<'_>) -> Option<Vec<Verdict>> {
        self.slot.as_ref()?.last_known(self.stage.stage, request)
    }
}

impl fmt::Debug for Extended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn retry_after(error: &CallError) -> Option<Duration> {
    match error {
        CallError::Said { retry_after, .. } => *retry_after,
        CallError::Busy | CallError::Loading | CallError::Paused | CallError::Drained => Some(SOON),
        _ => None,
    }
}
