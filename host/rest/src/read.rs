//! Reads: LIST, WATCH and GET, from the cache of one resource.
//!
//! Everything here works on a [`orrery_cache::Reader`] and values; the way to the members is the caller's.

mod frame;
mod list;
mod list_body;
pub(crate) mod live;
mod page;
mod shown;
mod warnings;
mod watch;

use std::sync::Arc;

use orrery_api::{Gvr, ObjectKey};
use orrery_cache::{FieldSelector, LabelSelector, Selection, SelectorError, Shape};
use orrery_markers::Marker;

use crate::negotiate::{Form, MetaVersion};
use crate::options::ListOptions;
use crate::query::{Query, quoted};
use crate::request::ResourceRequest;
use crate::status::Status;
use crate::table::{Marks, Printer};

pub(crate) use list::list;
pub(crate) use page::{fresh, unselected};
pub(crate) use shown::Shown;
pub(crate) use warnings::{Sight, header as warning, warnings};
pub(crate) use watch::{WatchSettings, WatchStream, watch};

/// What a read is about: a resource, or a part of it.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) gvr: Gvr,
    pub(crate) kind: Arc<str>,
    pub(crate) namespaced: bool,
    /// The namespace in the path; empty is all, or a cluster-scoped resource.
    pub(crate) namespace: String,
    /// The name in the path.
    pub(crate) name: Option<String>,
}

/// What a LIST or WATCH asks for, read and checked.
pub(crate) struct Wanted {
    pub(crate) scope: Scope,
    pub(crate) options: ListOptions,
    pub(crate) selection: Selection,
    pub(crate) rendering: Rendering,
}

/// How objects are written.
#[derive(Clone)]
pub(crate) enum Rendering {
    /// As they are.
    Plain,
    /// As rows.
    Table(TableRendering),
    /// Only their metadata.
    Partial(MetaVersion),
}

/// How rows are written.
#[derive(Clone)]
pub(crate) struct TableRendering {
    pub(crate) version: MetaVersion,
    pub(crate) printer: Arc<Printer>,
    pub(crate) include: IncludeObject,
    /// Of the list that is written.
    pub(crate) marks: Marks,
    /// The wall clock that ages are counted to.
    pub(crate) now: std::time::SystemTime,
}

/// What a row shows of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    None,
    Metadata,
    Object,
}

// === impl Scope ===

impl Scope {
    pub(crate) fn new(request: &ResourceRequest, shape: &Shape) -> Self {
        Self {
            gvr: request.gvr.clone(),
            kind: shape.kind.clone(),
            namespaced: shape.namespaced,
            namespace: request.namespace.clone(),
            name: request.name.clone(),
        }
    }

    /// The selection of a LIST or WATCH; 400 where a selector cannot be read, or asks for another name than the path.
    pub(crate) fn selection(&self, options: &ListOptions, shape: &Shape) -> Result<Selection, Status> {
        let bad = |error: SelectorError| Status::bad_request(error.to_string());
        let labels = LabelSelector::parse(&options.label_selector).map_err(bad)?;
        let fields = FieldSelector::parse(&options.field_selector, &shape.fields).map_err(bad)?;
        if let Some(name) = &self.name
            && !fields.is_everything()
            && fields.name() != Some(name)
        {
            return Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name"));
        }
        let namespace = (!self.namespace.is_empty()).then(|| self.namespace.as_str().into());
        let name = self.name.as_deref().map(Arc::from);
        Ok(Selection { namespace, name, labels, fields, extended: None })
    }

    /// The key of the one object that the selection can select, where it names one.
    pub(crate) fn only_key(&self, selection: &Selection) -> Option<ObjectKey> {
        let name = selection.name.as_deref().or_else(|| selection.fields.name())?;
        if !self.namespaced {
            return Some(ObjectKey::new("", name));
        }
        let namespace = selection.namespace.as_deref().or_else(|| selection.fields.namespace())?;
        Some(ObjectKey::new(namespace, name))
    }
}

// === impl Rendering ===

impl Rendering {
    /// The rendering that was negotiated, with the `printer` that a Table needs.
    pub(crate) fn new(form: Form, query: &Query, printer: Option<Arc<Printer>>) -> Result<Self, Status> {
        Ok(match (form, printer) {
            (Form::Table(version), Some(printer)) => Self::Table(TableRendering {
                version,
                include: IncludeObject::parse(query)?,
                printer,
                marks: Marks::default(),
                now: std::time::SystemTime::now(),
            }),
            (Form::Partial(version) | Form::PartialList(version), _) => Self::Partial(version),
            (Form::Plain | Form::Table(_), _) => Self::Plain,
        })
    }

    /// Appends one object as the answer to a GET of it.
    pub(crate) fn write_object(&self, object: &impl Shown, out: &mut Vec<u8>) {
        match self {
            Self::Plain => object.write_body(out),
            Self::Partial(version) => write_partial(object, *version, out),
            Self::Table(table) => table.write_one(object, true, out),
        }
    }

    /// Appends a list of `kind` up to its first item. A `metadata` is JSON.
    pub(crate) fn write_list_head(&self, kind: &str, api_version: &str, metadata: &str, out: &mut Vec<u8>) {
        let (kind, api_version) = match self {
            Self::Plain => (kind, api_version),
            Self::Partial(version) => ("PartialObjectMetadata", version.api_version()),
            Self::Table(table) => return table.write_head(metadata, true, out),
        };
        let head = format!(r#"{{"kind":"{kind}List","apiVersion":"{api_version}","metadata":{metadata},"items":["#);
        out.extend_from_slice(head.as_bytes());
    }

    /// Appends one item of a list.
    pub(crate) fn write_item(&self, object: &impl Shown, out: &mut Vec<u8>) {
        match self {
            Self::Plain => object.write_item(out),
            Self::Partial(version) => write_partial(object, *version, out),
            Self::Table(table) => table.write_row(object, out),
        }
    }
}

// === impl TableRendering ===

impl TableRendering {
    /// Appends a Table of one row. Of a watch only the first event says what the columns are.
    pub(crate) fn write_one(&self, object: &impl Shown, columns: bool, out: &mut Vec<u8>) {
        self.write_head(&object.table_metadata(), columns, out);
        self.write_row(object, out);
        out.extend_from_slice(b"]}");
    }

    /// Appends a Table up to its first row.
    pub(crate) fn write_head(&self, metadata: &str, columns: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"kind":"Table","apiVersion":""#);
        out.extend_from_slice(self.version.api_version().as_bytes());
        out.extend_from_slice(br#"","metadata":"#);
        out.extend_from_slice(metadata.as_bytes());
        out.extend_from_slice(br#","columnDefinitions":"#);
        out.extend_from_slice(if columns { self.printer.column_definitions() } else { b"null" });
        out.extend_from_slice(br#","rows":["#);
    }

    /// Appends one row.
    pub(crate) fn write_row(&self, object: &impl Shown, out: &mut Vec<u8>) {
        out.push(b'{');
        object.write_cells(self, out);
        out.extend_from_slice(br#","object":"#);
        match self.include {
            IncludeObject::None => out.extend_from_slice(b"null"),
            IncludeObject::Metadata => write_partial(object, self.version, out),
            IncludeObject::Object => object.write_body(out),
        }
        out.push(b'}');
    }
}

// === impl IncludeObject ===

impl IncludeObject {
    fn parse(query: &Query) -> Result<Self, Status> {
        match query.get("includeObject").unwrap_or_default() {
            "" | "Metadata" => Ok(Self::Metadata),
            "None" => Ok(Self::None),
            "Object" => Ok(Self::Object),
            other => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', \
                 'Object', 'None', or empty",
                quoted(other)
            ))),
        }
    }
}

/// Appends an object's PartialObjectMetadata.
pub(crate) fn write_partial(object: &impl Shown, version: MetaVersion, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"kind":"PartialObjectMetadata","apiVersion":""#);
    out.extend_from_slice(version.api_version().as_bytes());
    out.extend_from_slice(br#"","metadata":"#);
    object.write_metadata(out);
    out.push(b'}');
}

/// Metadata that holds a resourceVersion only.
fn version_metadata(marker: Marker) -> String {
    format!(r#"{{"resourceVersion":"{marker}"}}"#)
}

#[cfg(test)]
mod tests;
