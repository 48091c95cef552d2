use std::fmt;

use http::StatusCode;
use orrery_api::GroupResource;

/// A `meta.k8s.io/v1 Status`, the body of every refusal, with the texts and details of upstream's `api/errors` (AM
/// pkg/api/errors/errors.go). Boxed: it is the error side of nearly every result of this crate.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub(crate) struct Status(Box<Fields>);

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    kind: &'static str,
    api_version: &'static str,
    metadata: ListMeta,
    status: &'static str,
    message: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
    code: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
struct ListMeta {
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    resume: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<Cause>,
    #[serde(skip_serializing_if = "is_zero")]
    retry_after_seconds: u32,
}

/// One cause in a Status: which field, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Cause {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) field: &'static str,
}

// === impl Status ===

impl Status {
    /// 400.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// 401. The message is upstream's, so that clients and people know it.
    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// 403.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message)
    }

    /// 404 of an object, which is named as clients name it.
    pub(crate) fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", format!("{resource} {name:?} not found")).about(resource, name)
    }

    /// 404 of something that is no object of a resource.
    pub(crate) fn nothing_here(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with(Details::default())
    }

    /// 404 of a resource that a group does not have.
    pub(crate) fn no_such_resource() -> Self {
        Self::nothing_here("the server could not find the requested resource")
    }

    /// 405 of a verb on a resource.
    pub(crate) fn method_not_allowed(resource: &GroupResource, message: impl Into<String>) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).about(resource, "")
    }

    /// 406.
    pub(crate) fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// 409 of a name that is taken.
    pub(crate) fn already_exists(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {name:?} already exists");
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(resource, name)
    }

    /// 409 of a write on another state than the current one.
    pub(crate) fn conflict(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {name:?}: {why}");
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(resource, name)
    }

    /// 422 of an object that is of this kind.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, why: &str) -> Self {
        let dot = if group.is_empty() { "" } else { "." };
        let message = format!("{kind}{dot}{group} {name:?} is invalid: {why}");
        let details = Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes: vec![Cause { reason: "", message: why.to_owned(), field: "" }],
            ..Details::default()
        };
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).with(details)
    }

    /// What a member refused, in its words.
    pub(crate) fn passed_on(code: StatusCode, message: impl Into<String>) -> Self {
        let reason = match code {
            StatusCode::FORBIDDEN => "Forbidden",
            StatusCode::CONFLICT => "Conflict",
            StatusCode::UNPROCESSABLE_ENTITY => "Invalid",
            StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
            StatusCode::GATEWAY_TIMEOUT => "Timeout",
            StatusCode::BAD_REQUEST => "BadRequest",
            _ => "",
        };
        Self::new(code, reason, message)
    }

    /// It with these causes.
    pub(crate) fn with_causes(self, causes: Vec<Cause>) -> Self {
        self.with(Details { causes, ..Details::default() })
    }

    /// 413 of a body that no API server takes.
    pub(crate) fn too_large_body(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// 504 of what may or may not have been done. Clients do not repeat it by themselves.
    pub(crate) fn timeout(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message)
    }

    /// 410 without a way to go on.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// 410 of a page, with the token that continues from the same key in the state of now.
    pub(crate) fn expired_page(token: String) -> Self {
        let mut status = Self::expired(INCONSISTENT_CONTINUE);
        status.0.metadata.resume = Some(token);
        status
    }

    /// 410 of a watch whose start the history no longer holds. Upstream names the oldest version that it has.
    pub(crate) fn too_old(requested: u64, oldest: u64) -> Self {
        Self::expired(format!("too old resource version: {requested} ({oldest})"))
    }

    /// 413 of a list that nobody would want whole.
    pub(crate) fn too_large_answer(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// 422 of one or more list options.
    pub(crate) fn invalid_list_options(errors: &[Cause]) -> Self {
        let texts: Vec<_> = errors.iter().map(|error| format!("{}: {}", error.field, error.message)).collect();
        let list = if let [one] = texts.as_slice() { one.clone() } else { format!("[{}]", texts.join(", ")) };
        let message = format!("ListOptions.meta.k8s.io \"\" is invalid: {list}");
        let details = Details {
            group: "meta.k8s.io".to_owned(),
            kind: "ListOptions".to_owned(),
            causes: errors.to_vec(),
            ..Details::default()
        };
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).with(details)
    }

    /// 429: the same request will be served later.
    pub(crate) fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message)
            .with(Details { retry_after_seconds, ..Details::default() })
    }

    /// 500.
    pub(crate) fn internal(message: &str) -> Self {
        let cause = Cause { reason: "", message: message.to_owned(), field: "" };
        let details = Details { causes: vec![cause], ..Details::default() };
        let message = format!("Internal error occurred: {message}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message).with(details)
    }

    /// 503, always with a Retry-After: clients retry no 503 without one.
    pub(crate) fn unavailable(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
            .with(Details { retry_after_seconds, ..Details::default() })
    }

    /// 504 of a resourceVersion that has not come. Clients know it by its cause.
    pub(crate) fn too_large(requested: u64, current: u64) -> Self {
        let cause =
            Cause { reason: "ResourceVersionTooLarge", message: "Too large resource version".to_owned(), field: "" };
        let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message).with(Details {
            causes: vec![cause],
            retry_after_seconds: 1,
            ..Details::default()
        })
    }

    /// The HTTP status it goes with.
    pub(crate) fn code(&self) -> StatusCode {
        StatusCode::from_u16(self.0.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Seconds for the `Retry-After` header; 0 is none.
    pub(crate) fn retry_after_seconds(&self) -> u32 {
        self.0.details.as_ref().map_or(0, |details| details.retry_after_seconds)
    }

    /// Its text.
    #[cfg(test)]
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// As JSON, without a line end.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a Status holds texts and numbers only")
    }

    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Fields {
            kind: "Status",
            api_version: "v1",
            metadata: ListMeta::default(),
            status: "Failure",
            message: message.into(),
            reason,
            details: None,
            code: code.as_u16(),
        }))
    }

    fn about(self, resource: &GroupResource, name: &str) -> Self {
        self.with(Details {
            name: name.to_owned(),
            group: resource.group.to_string(),
            kind: resource.resource.to_string(),
            ..Details::default()
        })
    }

    fn with(mut self, details: Details) -> Self {
        self.0.details = Some(details);
        self
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Status {}

// The words of a 410 in the middle of a paged list (AS pkg/storage/etcd3/errors.go); clients and tests look for them.
const INCONSISTENT_CONTINUE: &str = "The provided continue parameter is too old to display a consistent list result. \
     You can start a new list without the continue parameter, or use the continue token in this response to retrieve \
     the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that \
     were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde wants")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests;
