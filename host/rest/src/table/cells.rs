//! Cells, written as JSON one after another.

use std::io::Write as _;

/// What upstream prints for what it cannot tell.
pub(super) const UNKNOWN: &str = "<unknown>";

/// What upstream prints for what is not there.
pub(super) const NONE: &str = "<none>";

/// The cells of one row under way. The CLUSTER cell is put in at its place.
pub(super) struct Cells<'o> {
    out: &'o mut Vec<u8>,
    written: usize,
    cluster: Option<(usize, &'o str)>,
    conditions: &'static str,
}

// === impl Cells ===

impl<'o> Cells<'o> {
    /// Begins `"cells":[` with, where there is one, the CLUSTER cell's place and text.
    pub(super) fn begin(out: &'o mut Vec<u8>, cluster: Option<(usize, &'o str)>) -> Self {
        out.extend_from_slice(b"\"cells\":[");
        Self { out, written: 0, cluster, conditions: "" }
    }

    /// The text `text`.
    pub(super) fn text(&mut self, text: &str) {
        self.next();
        serde_json::to_writer(&mut *self.out, text).expect("text is JSON, and a Vec takes all");
    }

    /// `text`, or what stands for nothing.
    pub(super) fn text_or(&mut self, text: &str, nothing: &str) {
        self.text(if text.is_empty() { nothing } else { text });
    }

    /// A whole number.
    pub(super) fn integer(&mut self, number: i64) {
        self.next();
        write!(self.out, "{number}").expect("a Vec takes all");
    }

    /// Any JSON value.
    pub(super) fn json(&mut self, value: &serde_json::Value) {
        self.next();
        serde_json::to_writer(&mut *self.out, value).expect("a value is JSON, and a Vec takes all");
    }

    /// Conditions of the row, as a JSON array.
    pub(super) fn conditions(&mut self, conditions: &'static str) {
        self.conditions = conditions;
    }

    /// Closes the array, and adds the conditions.
    pub(super) fn end(mut self) {
        self.put_cluster();
        self.out.push(b']');
        if !self.conditions.is_empty() {
            self.out.extend_from_slice(b",\"conditions\":");
            self.out.extend_from_slice(self.conditions.as_bytes());
        }
    }

    fn next(&mut self) {
        self.put_cluster();
        self.separate();
    }

    fn put_cluster(&mut self) {
        if let Some((_, cluster)) = self.cluster.take_if(|(at, _)| *at == self.written) {
            self.separate();
            serde_json::to_writer(&mut *self.out, cluster).expect("text is JSON, and a Vec takes all");
        }
    }

    fn separate(&mut self) {
        if self.written > 0 {
            self.out.push(b',');
        }
        self.written += 1;
    }
}
