//! IP addresses and ranges of them: `ip("…")` and `cidr("…")`, as Kubernetes has them. What Kubernetes refuses, such as an
//! IPv4 address in IPv6 and a zone, is refused here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cel::ExecutionError;
use cel::common::types::{CelBool, CelInt, CelString, STRING_TYPE, Type};
use cel::common::value::{CowVal, FromVal, Val};

use super::{Add, Args, Given, arg, opaque, text};

pub(super) static TYPE: Type = Type::new_unspecified_type("ip");

/// An address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ip(pub(super) IpAddr);

opaque::value!(Ip);

pub(super) fn add(add: &mut Add) {
    let of = || TYPE.to_owned();
    add.function("ip", vec![STRING_TYPE], |args| {
        let parsed = parse(text(&args, 0)?).map_err(|message| ExecutionError::function_error("ip", message))?;
        Ok(CowVal::owned(Ip(parsed)))
    });
    add.function("isIP", vec![STRING_TYPE], |args| bool(parse(text(&args, 0)?).is_ok()));
    add.function("ip.isCanonical", vec![STRING_TYPE], |args| {
        let written = text(&args, 0)?;
        let parsed = parse(written).map_err(|message| ExecutionError::function_error("ip", message))?;
        bool(parsed.to_string() == written)
    });
    add.function("string", vec![of()], |args| Ok(CowVal::owned(CelString::from(this(&args)?.to_string()))));
    add.member("family", of(), vec![], |args| int(if this(&args)?.is_ipv4() { 4 } else { 6 }));
    add.member("isUnspecified", of(), vec![], |args| bool(this(&args)?.is_unspecified()));
    add.member("isLoopback", of(), vec![], |args| bool(this(&args)?.is_loopback()));
    add.member("isLinkLocalMulticast", of(), vec![], |args| bool(is_link_local_multicast(this(&args)?)));
    add.member("isLinkLocalUnicast", of(), vec![], |args| {
        bool(match this(&args)? {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
        })
    });
    add.member("isGlobalUnicast", of(), vec![], |args| bool(is_global_unicast(this(&args)?)));
}

/// Reads an address as Go's `netip` does, without what Kubernetes refuses beside.
pub(super) fn parse(text: &str) -> Result<IpAddr, String> {
    let wrong = || format!("{text:?} is no IP address");
    let parsed: IpAddr = text.parse().map_err(|_| wrong())?;
    match parsed {
        IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => {
            Err(format!("{text:?} is an IPv4 address in IPv6; write it as IPv4"))
        }
        other => Ok(other),
    }
}

fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

/// As Go's `IsGlobalUnicast`: private addresses are, too.
fn is_global_unicast(address: IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address == Ipv4Addr::BROADCAST,
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    };
    !is_link_local
        && !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && address != IpAddr::V6(Ipv6Addr::UNSPECIFIED)
}

fn this(args: &Args<'_, '_>) -> Result<IpAddr, ExecutionError> {
    arg::<Ip>(args, 0).map(|ip| ip.0)
}

pub(super) fn bool<'b, 'v>(value: bool) -> Given<'b, 'v> {
    Ok(CowVal::owned(CelBool::from(value)))
}

pub(super) fn int<'b, 'v>(value: i64) -> Given<'b, 'v> {
    Ok(CowVal::owned(CelInt::from(value)))
}

/// The argument as an address: one already, or the text of one.
pub(super) fn address<'b, 'v>(args: &Args<'b, 'v>, at: usize) -> Result<IpAddr, ExecutionError> {
    let value: &(dyn Val + 'v) = args[at].as_ref();
    match Ip::from_val(value) {
        Some(ip) => Ok(ip.0),
        None => parse(text(args, at)?).map_err(|message| ExecutionError::function_error("ip", message)),
    }
}
