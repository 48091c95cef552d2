use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use orrery_api::{Gvr, Stamp};
use orrery_markers::Marker;

use crate::front::Service;
use crate::table::Printer;

/// The printers that were made, by resource and the state of the definition they were made from. As many as resources
/// are served.
#[derive(Default)]
pub(in crate::front) struct Printers(Mutex<HashMap<Gvr, Made>>);

/// A printer, and the marker of the definition that it was made from.
type Made = (Option<Marker>, Arc<Printer>);

// === impl Service ===

impl Service {
    /// The printer of a resource's Tables.
    pub(super) async fn printer(&self, gvr: &Gvr) -> Arc<Printer> {
        let crd = self.definition_of(gvr).await.unwrap_or_default();
        let of = crd.as_ref().map(|crd| crd.marker());
        let mut made = self.printers.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, printer)) = made.get(gvr)
            && *known == of
        {
            return printer.clone();
        }
        let body = crd.map(|crd| crd.body().to_bytes());
        let clusters = self.settings().stamp != Stamp::None;
        let printer = Arc::new(Printer::for_resource(gvr, body.as_deref(), clusters));
        made.insert(gvr.clone(), (of, printer.clone()));
        printer
    }
}
