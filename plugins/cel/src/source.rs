//! Where things stand in the text of an expression.

/// The text of an expression and the span of each node of its syntax tree, by the node's id.
#[derive(Debug, Default)]
pub(crate) struct Source {
    text: String,
    spans: Vec<(u32, u32)>,
}

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Counted from 1.
    pub(crate) line: usize,
    /// Counted from 1, in characters.
    pub(crate) column: usize,
    /// What is wrong and what to do.
    pub(crate) message: String,
}

// === impl Source ===

impl Source {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), spans: vec![(0, 0)] }
    }

    /// Gives the node from byte `start` up to byte `end` an id.
    pub(crate) fn add(&mut self, start: usize, end: usize) -> u64 {
        self.spans.push((start as u32, end as u32));
        (self.spans.len() - 1) as u64
    }

    /// Where the node begins and ends.
    pub(crate) fn span(&self, id: u64) -> (usize, usize) {
        let span = self.spans.get(id as usize).copied().unwrap_or_default();
        (span.0 as usize, span.1 as usize)
    }

    /// How the node was written.
    pub(crate) fn written(&self, id: u64) -> &str {
        let (start, end) = self.span(id);
        self.text.get(start..end).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// A problem with the node.
    pub(crate) fn problem(&self, id: u64, message: impl Into<String>) -> Problem {
        Problem::at(&self.text, self.span(id).0, message)
    }
}

// === impl Problem ===

impl Problem {
    /// A problem at a byte of `text`.
    pub(crate) fn at(text: &str, byte: usize, message: impl Into<String>) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line, column, message: message.into() }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}
