//! Members leave and join while the host runs.

use std::time::Instant;

use anyhow::Result;

use super::Fleet;
use crate::report::Figure;

// === impl Fleet ===

impl Fleet {
    /// The last members leave by SIGHUP, and join again.
    pub(super) async fn moves(&self) -> Result<Vec<Figure>> {
        let connection = self.endpoint.connect().await?;
        let stay = self.scale.members - self.scale.moving.min(self.scale.members / 2);
        let mut figures = Vec::new();
        for (name, count) in [("leave", stay), ("join", self.scale.members)] {
            self.members.name(count)?;
            let (began, pods) = (Instant::now(), count * self.scale.pods_each);
            self.host.sighup()?;
            self.until(&connection, began, |there| there == pods).await?;
            figures.push(self.figure(name, "s", began.elapsed().as_secs_f64(), None));
        }
        Ok(figures)
    }
}
