//! Ranges of IP addresses: `cidr("10.0.0.0/8")`.

use std::net::IpAddr;

use cel::ExecutionError;
use cel::common::types::{CelString, STRING_TYPE, Type};
use cel::common::value::{CowVal, FromVal, Val};

use super::address::{self, Ip, address, bool, int};
use super::{Add, Args, Given, arg, opaque, text};

pub(super) static TYPE: Type = Type::new_unspecified_type("cidr");

/// An address and how many of its first bits all addresses of the range have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    address: IpAddr,
    bits: u32,
}

opaque::value!(Cidr);

pub(super) fn add(add: &mut Add) {
    let of = || TYPE.to_owned();
    let ip = || address::TYPE.to_owned();
    add.function("cidr", vec![STRING_TYPE], |args| Ok(CowVal::owned(Cidr::parse(text(&args, 0)?).map_err(failed)?)));
    add.function("isCIDR", vec![STRING_TYPE], |args| bool(Cidr::parse(text(&args, 0)?).is_ok()));
    add.function("string", vec![of()], |args| Ok(CowVal::owned(CelString::from(this(&args)?.shown()))));
    add.member("containsIP", of(), vec![ip()], contains_ip);
    add.member("containsIP", of(), vec![STRING_TYPE], contains_ip);
    add.member("containsCIDR", of(), vec![of()], contains_cidr);
    add.member("containsCIDR", of(), vec![STRING_TYPE], contains_cidr);
    add.member("ip", of(), vec![], |args| Ok(CowVal::owned(Ip(this(&args)?.address))));
    add.member("masked", of(), vec![], |args| Ok(CowVal::owned(this(&args)?.masked())));
    add.member("prefixLength", of(), vec![], |args| int(i64::from(this(&args)?.bits)));
}

fn failed(message: String) -> ExecutionError {
    ExecutionError::function_error("cidr", message)
}

fn this<'a>(args: &'a Args<'_, '_>) -> Result<&'a Cidr, ExecutionError> {
    arg(args, 0)
}

fn contains_ip<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    bool(this(&args)?.contains(address(&args, 1)?))
}

fn contains_cidr<'b, 'v>(args: Args<'b, 'v>) -> Given<'b, 'v> {
    let value: &(dyn Val + 'v) = args[1].as_ref();
    let other = match Cidr::from_val(value) {
        Some(other) => other.clone(),
        None => Cidr::parse(text(&args, 1)?).map_err(failed)?,
    };
    let this = this(&args)?;
    bool(other.bits >= this.bits && this.contains(other.address))
}

// === impl Cidr ===

impl Cidr {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no range of addresses; write it as 10.0.0.0/8");
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let address = address::parse(address)?;
        let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
        let has_zero = bits.len() > 1 && bits.starts_with('0');
        let bits: u32 = bits.parse().ok().filter(|_| is_number && !has_zero).ok_or_else(wrong)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        if bits > most { Err(wrong()) } else { Ok(Self { address, bits }) }
    }

    fn contains(&self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).checked_shr(32 - self.bits).unwrap_or(0) == 0,
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                (a.to_bits() ^ b.to_bits()).checked_shr(128 - self.bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }

    /// The first address of the range.
    fn masked(&self) -> Self {
        let address = match self.address {
            IpAddr::V4(address) => {
                IpAddr::V4((address.to_bits() & u32::MAX.checked_shl(32 - self.bits).unwrap_or(0)).into())
            }
            IpAddr::V6(address) => {
                IpAddr::V6((address.to_bits() & u128::MAX.checked_shl(128 - self.bits).unwrap_or(0)).into())
            }
        };
        Self { address, bits: self.bits }
    }

    pub(super) fn shown(&self) -> String {
        format!("{}/{}", self.address, self.bits)
    }
}
