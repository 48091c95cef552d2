use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::RETRY_AFTER;
use http_body_util::{BodyExt as _, Limited};
use serde::Deserialize;

use crate::transport::{Body, SendError};
use crate::{AwayClass, AwayReason};

/// What went wrong with a request of ours, by what is to be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing can be had from the member for this resource now.
    Away(AwayReason),
    /// The member asks to wait (429).
    Wait(Duration, String),
    /// The version asked for is too old (410).
    Expired(String),
    /// The version asked for is above the member's (504 with cause ResourceVersionTooLarge).
    Ahead(String),
    /// The member does not take the options of the request (400, 406, 415, 422).
    NotUnderstood(String),
    /// A stream broke in its middle.
    Broken(String),
}

/// The parts of a `Status` that say what is to be done.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) code: u16,
    details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    causes: Option<Vec<Cause>>,
    retry_after_seconds: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cause {
    reason: String,
}

/// Longest body of an error that is read, and how long it may take.
const ERROR_BODY_MAX: usize = 64 << 10;
const ERROR_BODY_WAIT: Duration = Duration::from_secs(5);

// === impl Fault ===

impl Fault {
    pub(crate) fn away(class: AwayClass, text: impl Into<String>) -> Self {
        Self::Away(AwayReason::new(class, text))
    }

    /// The fault that an answer other than 2xx is.
    pub(crate) async fn of_answer(response: http::Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let reading = tokio::time::timeout(ERROR_BODY_WAIT, Limited::new(body, ERROR_BODY_MAX).collect());
        let bytes = reading.await.ok().and_then(Result::ok).map_or_else(Bytes::new, |all| all.to_bytes());
        let mut status: Status = serde_json::from_slice(&bytes).unwrap_or_default();
        if status.kind != "Status" {
            status = Status { message: excerpt(&bytes), ..Status::default() };
        }
        let seconds = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        Self::of_status(head.status, &status, seconds)
    }

    /// The fault that a `Status` with this code is.
    pub(crate) fn of_status(code: StatusCode, status: &Status, retry_after: Option<u64>) -> Self {
        let text = format!("{code}: {}", status.message);
        let details = status.details.as_ref();
        match code.as_u16() {
            401 => Self::away(AwayClass::Unauthorized, text),
            403 => Self::away(AwayClass::Forbidden, text),
            404 | 405 => Self::away(AwayClass::NotServed, text),
            410 => Self::Expired(text),
            429 => {
                let seconds = retry_after.or(details.and_then(|details| details.retry_after_seconds)).unwrap_or(1);
                Self::Wait(Duration::from_secs(seconds.clamp(1, 30)), text)
            }
            400 | 406 | 415 | 422 => Self::NotUnderstood(text),
            504 if status.is_ahead() => Self::Ahead(text),
            _ => Self::away(AwayClass::BadAnswer, text),
        }
    }

    /// The reason as which it is told.
    pub(crate) fn reason(&self) -> AwayReason {
        match self {
            Self::Away(reason) => reason.clone(),
            Self::Wait(_, text) | Self::Expired(text) | Self::Ahead(text) | Self::NotUnderstood(text) => {
                AwayReason::new(AwayClass::BadAnswer, text.clone())
            }
            Self::Broken(text) => AwayReason::new(AwayClass::Refused, text.clone()),
        }
    }

    /// Its name in metrics.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Away(reason) => reason.class.as_str(),
            Self::Wait(..) => "wait",
            Self::Expired(_) => "expired",
            Self::Ahead(_) => "ahead",
            Self::NotUnderstood(_) => "not_understood",
            Self::Broken(_) => "broken",
        }
    }
}

impl From<&SendError> for Fault {
    fn from(error: &SendError) -> Self {
        let class = match error {
            SendError::Unreachable { .. } | SendError::Busy { .. } => AwayClass::Refused,
            SendError::NoAnswer { .. } => AwayClass::NoAnswer,
            SendError::Credentials { .. } => AwayClass::Unauthorized,
            SendError::Duplicate { .. } => AwayClass::Duplicate,
        };
        Self::away(class, crate::transport::chain(error))
    }
}

// === impl Status ===

impl Status {
    /// Whether it says that a resourceVersion is in the future, as client-go decides it: by cause, else by message.
    pub(crate) fn is_ahead(&self) -> bool {
        let causes = self.details.as_ref().and_then(|details| details.causes.as_deref()).unwrap_or_default();
        causes.iter().any(|cause| cause.reason == "ResourceVersionTooLarge")
            || self.message.contains("Too large resource version")
    }
}

/// The beginning of a body that is no `Status`, for a message.
fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::full;

    async fn fault(code: u16, body: &str) -> Fault {
        let answer = http::Response::builder().status(code).header(RETRY_AFTER, "7").body(full(body.to_owned()));
        Fault::of_answer(answer.unwrap()).await
    }

    #[tokio::test]
    async fn an_answer_says_what_is_to_be_done() {
        assert!(matches!(fault(410, "{}").await, Fault::Expired(_)));
        assert!(matches!(fault(422, "{}").await, Fault::NotUnderstood(_)));
        assert_eq!(fault(429, "").await, Fault::Wait(Duration::from_secs(7), "429 Too Many Requests: ".to_owned()));
        assert_eq!(fault(403, "").await.reason().class, AwayClass::Forbidden);
        assert_eq!(fault(504, "").await.reason().class, AwayClass::BadAnswer);
        let ahead = r#"{"kind":"Status","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]},"code":504}"#;
        assert!(matches!(fault(504, ahead).await, Fault::Ahead(_)));
    }

    #[tokio::test]
    async fn a_page_of_something_that_is_no_api_server_is_told_by_its_beginning() {
        let reason = fault(502, "<html>\n <body>Bad   Gateway</body>").await.reason();
        assert_eq!(
            (reason.class, reason.text.as_str()),
            (AwayClass::BadAnswer, "502 Bad Gateway: <html> <body>Bad Gateway</body>")
        );
    }
}
