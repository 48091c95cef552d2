use http::Response;
use orrery_cache::Reader;
use orrery_markers::Marker;

use super::Wanted;
use super::list_body::ListBody;
use super::page::Page;
use crate::body::{Body, Encoding, json_chunks};
use crate::status::Status;

/// Answers a LIST. `knows` says whether the log contains a marker.
pub(crate) async fn list(
    reader: &Reader,
    knows: &(dyn Fn(Marker) -> bool + Sync),
    Wanted { scope, options, selection, rendering }: Wanted,
    encoding: Encoding,
) -> Result<Response<Body>, Status> {
    let page = Page::read(reader, knows, &scope, &options, selection).await?;
    Ok(json_chunks(ListBody::new(page, &scope, rendering), encoding))
}
