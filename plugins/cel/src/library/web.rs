//! URLs: `url("https://…")` and its parts, as Kubernetes has them.
//!
//! A URL is absolute, or a path that begins with a slash. It is read as far as its parts are asked for; what is refused
//! follows Go's `url.ParseRequestURI`.

use cel::ExecutionError;
use cel::common::types::{CelBool, CelList, CelMapKey, CelString, STRING_TYPE, Type};
use cel::common::value::{CowVal, Val};

use super::{Add, Args, Given, arg, opaque, text};
use crate::data::map_of;

pub(super) static TYPE: Type = Type::new_unspecified_type("url");

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    scheme: String,
    host: String,
    path: String,
    query: String,
}

opaque::value!(Url);

pub(super) fn add(add: &mut Add) {
    let of = || TYPE.to_owned();
    add.function("url", vec![STRING_TYPE], |args| {
        let parsed = Url::parse(text(&args, 0)?).map_err(|message| ExecutionError::function_error("url", message))?;
        Ok(CowVal::owned(parsed))
    });
    add.function("isURL", vec![STRING_TYPE], |args| {
        Ok(CowVal::owned(CelBool::from(Url::parse(text(&args, 0)?).is_ok())))
    });
    add.member("getScheme", of(), vec![], |args| part(this(&args)?.scheme.clone()));
    add.member("getHost", of(), vec![], |args| part(this(&args)?.host.clone()));
    add.member("getHostname", of(), vec![], |args| part(this(&args)?.host_and_port().0.to_owned()));
    add.member("getPort", of(), vec![], |args| part(this(&args)?.host_and_port().1.to_owned()));
    add.member("getEscapedPath", of(), vec![], |args| part(escaped(&this(&args)?.path)));
    add.member("getQuery", of(), vec![], query);
}

fn this<'a>(args: &'a Args<'_, '_>) -> Result<&'a Url, ExecutionError> {
    arg(args, 0)
}

fn part<'b, 'v>(text: String) -> Given<'b, 'v> {
    Ok(CowVal::owned(CelString::from(text)))
}

/// The values of each name, in their order.
fn query<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    let mut fields: Vec<(String, Vec<Box<dyn Val + 'v>>)> = Vec::new();
    for pair in this(&args)?.query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(name), Some(value)) = (unescaped(name, true), unescaped(value, true)) else { continue };
        let value: Box<dyn Val + 'v> = Box::new(CelString::from(value));
        match fields.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => fields.push((name, vec![value])),
        }
    }
    let lists = fields
        .into_iter()
        .map(|(name, values)| (CelMapKey::from(name), Box::new(CelList::from(values)) as Box<dyn Val + 'v>));
    Ok(CowVal::owned(map_of(lists)))
}

// === impl Url ===

impl Url {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no absolute URL or path");
        if text.is_empty() || text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err(wrong());
        }
        let (scheme, rest) = match text.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
            _ if text.starts_with('/') => (String::new(), text),
            _ => return Err(wrong()),
        };
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, path) = match rest.strip_prefix("//") {
            Some(rest) if !scheme.is_empty() || !rest.starts_with('/') => {
                let end = rest.find('/').unwrap_or(rest.len());
                rest.split_at(end)
            }
            _ => ("", rest),
        };
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        if !is_host(host) || unescaped(path, false).is_none() {
            return Err(wrong());
        }
        Ok(Self { scheme, host: host.to_owned(), path: path.to_owned(), query: query.to_owned() })
    }

    /// Brackets around an IPv6 address are no part of its name.
    fn host_and_port(&self) -> (&str, &str) {
        if let Some(rest) = self.host.strip_prefix('[') {
            let (name, rest) = rest.split_once(']').unwrap_or((rest, ""));
            return (name, rest.strip_prefix(':').unwrap_or_default());
        }
        self.host.rsplit_once(':').unwrap_or((&self.host, ""))
    }

    pub(super) fn shown(&self) -> String {
        let scheme = if self.scheme.is_empty() { String::new() } else { format!("{}:", self.scheme) };
        let host = if self.host.is_empty() { String::new() } else { format!("//{}", self.host) };
        let query = if self.query.is_empty() { String::new() } else { format!("?{}", self.query) };
        format!("{scheme}{host}{}{query}", self.path)
    }
}

/// Whether a text is a URL.
pub(super) fn is_url(text: &str) -> bool {
    Url::parse(text).is_ok()
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// A name or address with or without a port, which is a number.
fn is_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => {
            let Some((address, rest)) = rest.split_once(']') else { return false };
            let is_address =
                address.split('%').next().is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok());
            return is_address && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port));
        }
        None => host,
    };
    let (name, port) = name.rsplit_once(':').unwrap_or((name, ""));
    is_port(port) && !name.contains([' ', '%', ':', '[', ']', '<', '>', '"', '\\', '^', '`', '{', '}', '|'])
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A path as Go's `EscapedPath` gives it: as it was written where all in it may stand there, else escaped anew.
fn escaped(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte);
    if path.bytes().all(|byte| is_plain(byte) || b"!'()*[]%".contains(&byte)) {
        return path.to_owned();
    }
    let bytes = unescaped(path, false).unwrap_or_default().into_bytes();
    let written = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    bytes.into_iter().map(written).collect()
}

/// The text without percent signs; none if one is no escape.
fn unescaped(text: &str, plus_is_blank: bool) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let (high, low) = ((rest.next()? as char).to_digit(16)?, (rest.next()? as char).to_digit(16)?);
                bytes.push((high * 16 + low) as u8);
            }
            b'+' if plus_is_blank => bytes.push(b' '),
            other => bytes.push(other),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
