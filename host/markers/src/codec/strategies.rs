//! Arbitrary values for the tests of both forms.

use orrery_api::{ClusterName, ObjectKey, Uid};
use proptest::prelude::*;

use crate::{Change, ChangeKind, Digest, Marker, MemberVersion};

pub(super) fn marker() -> impl Strategy<Value = Marker> {
    let number = prop_oneof![1..=Marker::MAX.get(), 1..9u64, 1_790_000_000_000_000..1_790_000_000_000_100u64];
    number.prop_map(|number| Marker::new(number).unwrap())
}

pub(super) fn cluster() -> impl Strategy<Value = ClusterName> {
    prop_oneof!["[a-c]", "[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?"].prop_map(|name| ClusterName::new(&name).unwrap())
}

pub(super) fn key() -> impl Strategy<Value = ObjectKey> {
    let name = prop_oneof!["web-[0-9a-f]{2}", ".{0,20}", "[a-zé]{200,300}"];
    (prop_oneof!["", "ns-[ab]", ".{0,9}"], name).prop_map(|(namespace, name)| ObjectKey::new(&namespace, &name))
}

pub(super) fn uid() -> impl Strategy<Value = Uid> {
    prop_oneof![4 => any::<u128>().prop_map(Uid::from_uuid), 1 => ".{0,40}".prop_map(|text| Uid::new(&text))]
}

pub(super) fn version() -> impl Strategy<Value = MemberVersion> {
    prop_oneof![any::<u64>(), 1000..1100u64].prop_map(MemberVersion::from_number)
}

pub(super) fn digest() -> impl Strategy<Value = Digest> {
    prop_oneof![any::<u64>().prop_map(Digest::from_bits), any::<u64>().prop_map(|content| Digest::new(7, content))]
}

pub(super) fn change() -> impl Strategy<Value = Change> {
    let kind = prop_oneof![Just(ChangeKind::Added), Just(ChangeKind::Modified), Just(ChangeKind::Deleted)];
    (key(), uid(), version(), digest(), kind, any::<bool>()).prop_map(
        |(key, uid, version, digest, kind, terminating)| Change { key, uid, version, digest, kind, terminating },
    )
}

/// A way to spoil bytes.
#[derive(Clone, Debug)]
pub(super) enum Damage {
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, u8),
    Swap(prop::sample::Index, prop::sample::Index),
}

pub(super) fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        (index(), any::<u8>()).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        index().prop_map(Damage::Cut),
        (index(), any::<u8>()).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        (index(), index()).prop_map(|(one, other)| Damage::Swap(one, other)),
    ]
}

impl Damage {
    pub(super) fn spoil(&self, bytes: &[u8]) -> Vec<u8> {
        let mut spoilt = bytes.to_vec();
        match self {
            Self::Flip(at, bits) => spoilt[at.index(bytes.len())] ^= bits,
            Self::Cut(at) => spoilt.truncate(at.index(bytes.len())),
            Self::Insert(at, byte) => spoilt.insert(at.index(bytes.len()), *byte),
            Self::Swap(one, other) => spoilt.swap(one.index(bytes.len()), other.index(bytes.len())),
        }
        spoilt
    }
}
