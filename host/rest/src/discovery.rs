//! What the fleet serves: the union of what its members serve, as the documents of both forms of discovery.

mod aggregated;
mod legacy;
mod union;
mod version_order;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, VARY};
use http::{Response, StatusCode};
use orrery_fleet::Fleet;
use sha2::{Digest as _, Sha512};

use crate::body::{Body, Encoding, full, json};
use crate::negotiate::{DiscoveryForm, discovery_form, object_form};
use crate::status::Status;

pub(crate) use union::Catalog;

/// The fleet's catalog, made anew when a member joins or leaves or serves something else. A member that is away changes
/// nothing: the fleet keeps what it last served.
#[derive(Debug, Default)]
pub(crate) struct Discovered(Mutex<Option<(u64, Arc<Documents>)>>);

/// A catalog with its two large documents.
#[derive(Debug)]
pub(crate) struct Documents {
    /// All resources.
    pub(crate) catalog: Catalog,
    core: Tagged,
    groups: Tagged,
}

/// A document with its entity tag.
#[derive(Clone, Debug)]
struct Tagged {
    json: Bytes,
    etag: String,
}

/// Which of the two entry points of discovery is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// `/api`.
    Core,
    /// `/apis`.
    Groups,
}

const AGGREGATED_TYPE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

// === impl Discovered ===

impl Discovered {
    /// What `fleet` serves now.
    pub(crate) fn of(&self, fleet: &Fleet) -> Arc<Documents> {
        let version = *fleet.changed().borrow();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, documents)) = &*kept
            && *of == version
        {
            return documents.clone();
        }
        let served: Vec<_> = fleet.members().iter().filter_map(|member| member.discovery()).collect();
        let documents = Arc::new(Documents::new(Catalog::union(served.iter().map(|discovery| &**discovery))));
        *kept = Some((version, documents.clone()));
        documents
    }
}

// === impl Documents ===

impl Documents {
    pub(crate) fn new(catalog: Catalog) -> Self {
        let core = Tagged::new(aggregated::document(catalog.groups.iter().filter(|group| group.name.is_empty())));
        let groups = Tagged::new(aggregated::document(catalog.groups.iter().filter(|group| !group.name.is_empty())));
        Self { catalog, core, groups }
    }

    /// The answer of `/api` or `/apis` in the form that the client accepts; 304 where it has it.
    pub(crate) fn entry(
        &self,
        entry: Entry,
        headers: &HeaderMap,
        server_address: &str,
        encoding: Encoding,
    ) -> Result<Response<Body>, Status> {
        if let DiscoveryForm::Legacy(accepted) = discovery_form(accept(headers))? {
            let encoding = accepted.encoding(encoding);
            return Ok(match entry {
                Entry::Core => json(StatusCode::OK, legacy::api_versions(&self.catalog, server_address), encoding),
                Entry::Groups => json(StatusCode::OK, legacy::group_list(&self.catalog), encoding),
            });
        }
        let document = match entry {
            Entry::Core => &self.core,
            Entry::Groups => &self.groups,
        };
        Ok(document.answer(headers, encoding))
    }

    /// The answer of `/apis/GROUP`; `None` where nobody serves it.
    pub(crate) fn group(
        &self,
        name: &str,
        headers: &HeaderMap,
        encoding: Encoding,
    ) -> Option<Result<Response<Body>, Status>> {
        let group = self.catalog.group(name).filter(|_| !name.is_empty())?;
        Some(
            object_form(accept(headers))
                .map(|accepted| json(StatusCode::OK, legacy::group(group), accepted.encoding(encoding))),
        )
    }

    /// The answer of `/api/VERSION` (`group` empty) or `/apis/GROUP/VERSION`; `None` where nobody serves it.
    pub(crate) fn group_version(
        &self,
        group: &str,
        version: &str,
        headers: &HeaderMap,
        encoding: Encoding,
    ) -> Option<Result<Response<Body>, Status>> {
        let found = self.catalog.group(group)?.version(version)?;
        Some(
            object_form(accept(headers))
                .map(|accepted| json(StatusCode::OK, legacy::resource_list(group, found), accepted.encoding(encoding))),
        )
    }
}

// === impl Tagged ===

impl Tagged {
    fn new(mut json: Vec<u8>) -> Self {
        let etag = format!("\"{:X}\"", Bytes::copy_from_slice(&Sha512::digest(&json)));
        json.push(b'\n');
        Self { json: json.into(), etag }
    }

    fn answer(&self, headers: &HeaderMap, encoding: Encoding) -> Response<Body> {
        let known = headers.get(IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == self.etag.as_bytes());
        let mut response = if known {
            let mut response = Response::new(full(Bytes::new()));
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            let mut response = json(StatusCode::OK, self.json.to_vec(), encoding);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(AGGREGATED_TYPE));
            response
        };
        let headers = response.headers_mut();
        headers.insert(ETAG, HeaderValue::from_str(&self.etag).expect("hex digits in quotes"));
        headers.append(VARY, HeaderValue::from_static("Accept"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
        response
    }
}

fn accept(headers: &HeaderMap) -> Option<&str> {
    headers.get(ACCEPT).and_then(|accept| accept.to_str().ok())
}

#[cfg(test)]
mod tests;
