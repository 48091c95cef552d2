//! Cells, written as JSON one after another.

use std::io::Write as _;
use std::time::SystemTime;

use super::age;

/// What upstream prints for what it cannot tell.
pub(super) const UNKNOWN: &str = "<unknown>";

/// What upstream prints for what is not there.
pub(super) const NONE: &str = "<none>";

/// What upstream prints for what nobody has set.
pub(super) const UNSET: &str = "<unset>";

/// The cells of one row under way. The CLUSTER cell is put in at its place.
pub(super) struct Cells<'o> {
    out: &'o mut Vec<u8>,
    now: SystemTime,
    written: usize,
    cluster: Option<(usize, &'o str)>,
    conditions: &'static str,
    marked: bool,
}

// === impl Cells ===

impl<'o> Cells<'o> {
    /// Begins `"cells":[` of a row at `now` with, where there is one, the CLUSTER cell's place and text.
    pub(super) fn begin(out: &'o mut Vec<u8>, now: SystemTime, cluster: Option<(usize, &'o str)>) -> Self {
        out.extend_from_slice(b"\"cells\":[");
        Self { out, now, written: 0, cluster, conditions: "", marked: false }
    }

    /// Says whether the object is marked among those of its list.
    pub(super) fn mark(&mut self, marked: bool) {
        self.marked = marked;
    }

    /// Whether the object is marked among those of its list.
    pub(super) fn is_marked(&self) -> bool {
        self.marked
    }

    /// The time that ages are counted to.
    pub(super) fn now(&self) -> SystemTime {
        self.now
    }

    /// The text `text`.
    pub(super) fn text(&mut self, text: impl AsRef<str>) -> &mut Self {
        self.next();
        write_text(text.as_ref(), self.out);
        self
    }

    /// `text`, or what stands for nothing.
    pub(super) fn text_or(&mut self, text: impl AsRef<str>, nothing: &str) -> &mut Self {
        let text = text.as_ref();
        self.text(if text.is_empty() { nothing } else { text })
    }

    /// The text of a field that has one, or what stands for nothing.
    pub(super) fn field_or(&mut self, field: Option<impl AsRef<str>>, nothing: &str) -> &mut Self {
        match field {
            Some(text) => self.text(text),
            None => self.text(nothing),
        }
    }

    /// How long ago the RFC 3339 `time` was.
    pub(super) fn age(&mut self, time: impl AsRef<str>) -> &mut Self {
        self.text(age::since(time.as_ref(), self.now))
    }

    /// A whole number.
    pub(super) fn integer(&mut self, number: i64) -> &mut Self {
        self.next();
        write!(self.out, "{number}").expect("a Vec takes all");
        self
    }

    /// How many there are.
    pub(super) fn count(&mut self, count: usize) -> &mut Self {
        self.next();
        write!(self.out, "{count}").expect("a Vec takes all");
        self
    }

    /// True or false.
    pub(super) fn boolean(&mut self, value: bool) -> &mut Self {
        self.next();
        write!(self.out, "{value}").expect("a Vec takes all");
        self
    }

    /// Any JSON value.
    pub(super) fn json(&mut self, value: &serde_json::Value) -> &mut Self {
        self.next();
        serde_json::to_writer(&mut *self.out, value).expect("a value is JSON, and a Vec takes all");
        self
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
            write_text(cluster, self.out);
        }
    }

    fn separate(&mut self) {
        if self.written > 0 {
            self.out.push(b',');
        }
        self.written += 1;
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("text is JSON, and a Vec takes all");
}
