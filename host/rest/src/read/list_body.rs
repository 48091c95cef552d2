use bytes::Bytes;
use orrery_api::ObjectKey;
use orrery_cache::Object;

use super::page::{Objects, Page};
use super::{Rendering, Scope};
use crate::body::CHUNK_BYTES;

/// The JSON of a list in pieces of about [`CHUNK_BYTES`], copied together from the objects' bytes while it is sent: a
/// list of any length holds one piece and a snapshot.
pub(super) struct ListBody {
    page: Page,
    rendering: Rendering,
    state: State,
}

enum State {
    /// Nothing is written yet; this comes first.
    Head(Vec<u8>),
    /// The next object is the one after this key, or the one at this place.
    Items(Place),
    Done,
}

#[derive(Clone)]
enum Place {
    Start,
    After(ObjectKey),
    At(usize),
}

// === impl ListBody ===

impl ListBody {
    pub(super) fn new(mut page: Page, scope: &Scope, mut rendering: Rendering) -> Self {
        let mut head = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4);
        let metadata = page.metadata();
        if let Rendering::Table(table) = &mut rendering
            && table.printer.looks_at_lists()
        {
            table.marks = table.printer.list(page.gather());
        }
        rendering.write_list_head(&scope.kind, &scope.gvr.api_version(), &metadata, &mut head);
        Self { page, rendering, state: State::Head(head) }
    }

    /// Appends objects from `place` on until the piece is full. `None` when none is left.
    fn fill(&self, place: &Place, out: &mut Vec<u8>) -> Option<Place> {
        let mut first = matches!(place, Place::Start);
        let mut write = |object: &Object| {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            self.rendering.write_item(object, out);
            out.len() >= CHUNK_BYTES
        };
        match &self.page.objects {
            Objects::These(objects) => {
                let from = if let Place::At(at) = place { *at } else { 0 };
                let full = objects[from..].iter().position(|object| write(object))?;
                Some(Place::At(from + full + 1))
            }
            Objects::Selected(selection) => {
                let after = if let Place::After(key) = place { Some(key) } else { None };
                let mut range = self.page.snapshot.range(selection.namespace.as_deref(), after);
                let full = range.find(|object| selection.selects(object) && write(object))?;
                Some(Place::After(full.served().clone()))
            }
        }
    }
}

impl Iterator for ListBody {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let (mut out, place) = match std::mem::replace(&mut self.state, State::Done) {
            State::Head(head) => (head, Place::Start),
            // A piece ends with the object that fills it, which is seldom larger than a quarter of it.
            State::Items(place) => (Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4), place),
            State::Done => return None,
        };
        match self.fill(&place, &mut out) {
            Some(next) => self.state = State::Items(next),
            None => out.extend_from_slice(b"]}\n"),
        }
        Some(Bytes::from(out))
    }
}
