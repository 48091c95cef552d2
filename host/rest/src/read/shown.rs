use orrery_cache::Object;

use super::TableRendering;

/// What is written of an object in any form: one that the cache holds, or one that a member has just told.
pub(crate) trait Shown {
    /// Appends the JSON of the whole object.
    fn write_body(&self, out: &mut Vec<u8>);
    /// Appends the JSON of the object as an item of its kind's list.
    fn write_item(&self, out: &mut Vec<u8>);
    /// Appends the JSON of its metadata.
    fn write_metadata(&self, out: &mut Vec<u8>);
    /// Appends the cells of its row.
    fn write_cells(&self, table: &TableRendering, out: &mut Vec<u8>);
    /// The JSON metadata of a Table that shows only this object.
    fn table_metadata(&self) -> String;
}

// === impl Object ===

impl Shown for Object {
    fn write_body(&self, out: &mut Vec<u8>) {
        self.body().write_to(out);
    }

    fn write_item(&self, out: &mut Vec<u8>) {
        self.list_item().write_to(out);
    }

    fn write_metadata(&self, out: &mut Vec<u8>) {
        self.metadata().write_to(out);
    }

    fn write_cells(&self, table: &TableRendering, out: &mut Vec<u8>) {
        table.printer.cells(self, &table.marks, table.now, out);
    }

    fn table_metadata(&self) -> String {
        super::version_metadata(self.marker())
    }
}
