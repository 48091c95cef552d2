use proptest::prelude::*;

use super::super::strategies;
use super::*;

fn cluster() -> impl Strategy<Value = CheckpointCluster> {
    let state = (0..4, strategies::marker()).prop_map(|(state, since)| match state {
        0 => CheckpointState::New,
        1 => CheckpointState::Joined(since),
        2 => CheckpointState::Away(since),
        _ => CheckpointState::Left(since),
    });
    let version = || prop::option::of(strategies::version());
    let identity = prop::option::of(".{0,40}".prop_map(Arc::from));
    (strategies::cluster(), identity, state, version(), version()).prop_map(
        |(name, identity, state, complete, latest)| CheckpointCluster { name, identity, state, complete, latest },
    )
}

fn object() -> impl Strategy<Value = CheckpointObject> {
    (strategies::change(), strategies::marker(), prop::option::of(strategies::key())).prop_map(
        |(change, marker, served)| CheckpointObject {
            key: change.key,
            uid: change.uid,
            version: change.version,
            digest: change.digest,
            marker,
            terminating: change.terminating,
            served,
        },
    )
}

fn claim() -> impl Strategy<Value = CheckpointClaim> {
    (strategies::key(), strategies::cluster(), strategies::key(), any::<u32>(), strategies::marker())
        .prop_map(|(served, cluster, key, rank, marker)| CheckpointClaim { served, cluster, key, rank, marker })
}

fn gone() -> impl Strategy<Value = CheckpointGone> {
    (strategies::uid(), strategies::version(), strategies::marker()).prop_map(|(uid, version, marker)| CheckpointGone {
        uid,
        version,
        marker,
    })
}

fn data() -> impl Strategy<Value = CheckpointData> {
    let objects = prop::collection::vec(object(), 0..20);
    let gone = prop::collection::vec(gone(), 0..5);
    (
        strategies::marker(),
        prop::collection::vec((strategies::marker(), strategies::marker()), 0..5),
        prop::collection::vec((cluster(), objects, gone), 0..5),
        prop::collection::vec(claim(), 0..10),
    )
        .prop_map(|(head, terms, clusters, claims)| CheckpointData { head, terms, clusters, claims })
}

/// `objects` objects of one cluster, in the order of their keys.
fn large(objects: u64) -> CheckpointData {
    let cluster = CheckpointCluster {
        name: ClusterName::new("east").unwrap(),
        identity: None,
        state: CheckpointState::Joined(Marker::MAX),
        complete: None,
        latest: None,
    };
    let object = |number: u64| CheckpointObject {
        key: ObjectKey::new("team-payments", &format!("checkout-{number:08x}")),
        uid: Uid::from_uuid(u128::from(number) << 64 | 0xabcd),
        version: MemberVersion::from_number(5_000_000 + number * 3 % 1000),
        digest: Digest::new(3, number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        marker: Marker::new(1_790_000_000_000_000 + number * 7 % 100_000).unwrap(),
        terminating: false,
        served: None,
    };
    let objects = (0..objects).map(object).collect();
    CheckpointData {
        head: Marker::MAX,
        terms: Vec::new(),
        clusters: vec![(cluster, objects, Vec::new())],
        claims: Vec::new(),
    }
}

proptest! {
    #[test]
    fn any_checkpoint_is_read_as_it_was_written(data in data()) {
        prop_assert_eq!(decode_checkpoint(&encode_checkpoint(&data)).unwrap(), data);
    }

    #[test]
    fn a_spoilt_part_is_an_error(data in data(), damage in strategies::damage()) {
        let mut parts = encode_checkpoint(&data);
        let spoilt = damage.spoil(&parts[0]);
        let is_same = spoilt == parts[0];
        parts[0] = spoilt.into();
        prop_assert_eq!(decode_checkpoint(&parts).is_ok(), is_same);
    }

    #[test]
    fn content_that_nobody_wrote_never_panics(content: Vec<u8>) {
        let mut bytes = Form::Checkpoint.open();
        bytes.extend_from_slice(&part_head(0, Place::Last, Marker::MAX));
        bytes.extend_from_slice(&content);
        let _ = decode_checkpoint(&[seal(bytes)]);
    }
}

#[test]
fn a_large_checkpoint_has_parts_below_one_mebibyte_and_few_bytes_an_object() {
    let data = large(50_000);
    let parts = encode_checkpoint(&data);
    assert!(parts.len() > 2, "{} parts", parts.len());
    assert!(parts.iter().all(|part| part.len() < 1 << 20));
    let bytes: usize = parts.iter().map(Bytes::len).sum();
    assert!(bytes / 50_000 <= 40, "{bytes} bytes");
    assert_eq!(decode_checkpoint(&parts).unwrap(), data);
}

#[test]
fn a_part_that_is_lost_doubled_swapped_or_of_another_checkpoint_is_an_error() {
    let parts = encode_checkpoint(&large(50_000));
    let mut other = large(50_000);
    other.head = Marker::new(1).unwrap();
    let other = encode_checkpoint(&other);

    let mut foreign = parts.clone();
    foreign[1] = other[1].clone();
    let mut swapped = parts.clone();
    swapped.swap(0, 1);
    let mut doubled = parts.clone();
    doubled.insert(1, parts[1].clone());
    for broken in [&[], &parts[..1], &parts[1..], &foreign, &swapped, &doubled] {
        assert!(decode_checkpoint(broken).is_err());
    }
}

#[test]
fn an_object_before_the_first_cluster_is_an_error() {
    let mut bytes = Form::Checkpoint.open();
    bytes.extend_from_slice(&part_head(0, Place::Last, Marker::MAX));
    bytes.push(tag::OBJECT);
    assert_eq!(decode_checkpoint(&[seal(bytes)]), Err(NO_CLUSTER));
}
