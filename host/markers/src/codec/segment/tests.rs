use std::collections::HashMap;

use proptest::prelude::*;

use super::super::strategies;
use super::*;
use crate::{Digest, MemberVersion};

fn record() -> impl Strategy<Value = Record> {
    let marked = || (strategies::marker(), strategies::cluster());
    prop_oneof![
        6 => (marked(), strategies::change())
            .prop_map(|((marker, cluster), change)| Record::Change { marker, cluster, change }),
        1 => strategies::marker().prop_map(|marker| Record::Term { marker }),
        1 => (strategies::cluster(), strategies::version(), strategies::version())
            .prop_map(|(cluster, complete, latest)| Record::Progress { cluster, complete, latest }),
        1 => (marked(), ".{0,40}").prop_map(|((marker, cluster), identity)| Record::Joined {
            marker,
            cluster,
            identity: identity.into()
        }),
        1 => marked().prop_map(|(marker, cluster)| Record::Left { marker, cluster }),
        1 => marked().prop_map(|(marker, cluster)| Record::Away { marker, cluster }),
        1 => (marked(), strategies::key(), strategies::key())
            .prop_map(|((marker, cluster), served, key)| Record::Claim { marker, served, cluster, key }),
        1 => (strategies::cluster(), strategies::key())
            .prop_map(|(cluster, served)| Record::Freed { served, cluster }),
    ]
}

/// Objects whose keys both ends know, as a log does.
type Known = HashMap<(ClusterName, Uid), ObjectKey>;

fn learn(known: &mut Known, record: &Record) {
    if let Record::Change { cluster, change, .. } = record {
        known.insert((cluster.clone(), change.uid.clone()), change.key.clone());
    }
}

fn encode(records: &[Record], head: Marker) -> Bytes {
    let mut known = Known::new();
    let mut writer = SegmentWriter::new(UnixMicros(42));
    for record in records {
        let knows = match record {
            Record::Change { cluster, change, .. } => {
                known.get(&(cluster.clone(), change.uid.clone())) == Some(&change.key)
            }
            _ => false,
        };
        writer.push(record, knows);
        learn(&mut known, record);
    }
    let len = writer.bytes_len();
    let bytes = writer.finish(head);
    assert_eq!(bytes.len(), len);
    bytes
}

fn decode(bytes: &[u8]) -> Result<(SegmentHeader, Vec<Record>), CorruptSegment> {
    let mut known = Known::new();
    let (header, mut reader) = SegmentReader::new(bytes)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next(|cluster, uid| known.get(&(cluster.clone(), uid.clone())).cloned())? {
        learn(&mut known, &record);
        records.push(record);
    }
    Ok((header, records))
}

/// The frame and checksum of a segment around any content.
fn framed(content: &[u8]) -> Bytes {
    let mut bytes = Form::Segment.open();
    bytes.extend_from_slice(content);
    seal(bytes)
}

fn change(number: u64, kind: ChangeKind) -> Record {
    Record::Change {
        marker: Marker::new(1_790_000_000_000_000 + number).unwrap(),
        cluster: ClusterName::new("east").unwrap(),
        change: Change {
            key: ObjectKey::new("team-payments", &format!("checkout-7d9c6b5f4-{number:05x}")),
            uid: Uid::from_uuid(u128::from(number) << 64 | 0xabcd),
            version: MemberVersion::from_number(5_000_000 + number * 7),
            digest: Digest::new(3, number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            kind,
            terminating: false,
        },
    }
}

proptest! {
    #[test]
    fn any_records_are_read_as_they_were_written(
        records in prop::collection::vec(record(), 0..60),
        head in strategies::marker(),
    ) {
        let (header, read) = decode(&encode(&records, head)).unwrap();
        prop_assert_eq!(header, SegmentHeader { at: UnixMicros(42), head });
        prop_assert_eq!(read, records);
    }

    #[test]
    fn a_spoilt_segment_is_an_error(
        records in prop::collection::vec(record(), 0..20),
        head in strategies::marker(),
        damage in strategies::damage(),
    ) {
        let bytes = encode(&records, head);
        let spoilt = damage.spoil(&bytes);
        prop_assert_eq!(decode(&spoilt).is_ok(), spoilt == bytes);
    }

    #[test]
    fn content_that_nobody_wrote_never_panics(content: Vec<u8>) {
        let _ = decode(&content);
        let _ = decode(&framed(&content));
    }

    #[test]
    fn content_spoilt_before_its_checksum_was_made_never_panics(
        records in prop::collection::vec(record(), 0..20),
        damage in strategies::damage(),
    ) {
        let bytes = encode(&records, Marker::MAX);
        let content = Form::Segment.payload(&bytes).unwrap();
        let _ = decode(&framed(&damage.spoil(content)));
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_an_error() {
    let bytes = encode(&[change(1, ChangeKind::Added), change(1, ChangeKind::Deleted)], Marker::MAX);
    for at in 0..bytes.len() {
        assert!(decode(&bytes[..at]).is_err(), "cut at {at}");
        for bit in 0..8 {
            let mut spoilt = bytes.to_vec();
            spoilt[at] ^= 1 << bit;
            assert!(decode(&spoilt).is_err(), "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn a_change_of_a_known_object_takes_at_most_thirty_bytes_and_a_new_one_eighty() {
    let per_record = |records: &[Record]| encode(records, Marker::MAX).len() as f64 / records.len() as f64;
    let new: Vec<_> = (0..1000).map(|number| change(number, ChangeKind::Added)).collect();
    assert!(per_record(&new) <= 80.0, "{}", per_record(&new));

    let mut writer = SegmentWriter::new(UnixMicros(42));
    for number in 0..1000 {
        writer.push(&change(number, ChangeKind::Modified), true);
    }
    let known = writer.bytes_len() as f64 / 1000.0;
    assert!((16.0..=30.0).contains(&known), "{known}");
}

#[test]
fn a_known_object_that_the_reader_does_not_know_is_an_error_that_names_it() {
    let mut writer = SegmentWriter::new(UnixMicros(0));
    writer.push(&change(1, ChangeKind::Modified), true);
    let bytes = writer.finish(Marker::MAX);
    let (_, mut reader) = SegmentReader::new(&bytes).unwrap();
    let error = reader.next(|_, _| None).unwrap_err();
    assert!(error.to_string().contains("\"east\""), "{error}");
}

#[test]
fn a_length_beyond_the_end_is_an_error_and_reserves_nothing() {
    let mut content = [0u64.to_le_bytes(), 1u64.to_le_bytes()].concat();
    content.extend_from_slice(&[tag::LEFT, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    assert_eq!(decode(&framed(&content)), Err(CorruptSegment::Content("it ends within a value")));
}

#[test]
fn another_format_and_another_form_are_refused_by_name() {
    let mut bytes = encode(&[], Marker::MAX).to_vec();
    bytes[4] = 9;
    assert_eq!(decode(&bytes).unwrap_err(), CorruptSegment::Format { found: 9 });
    let checkpoint = super::super::CheckpointWriter::new(Marker::MAX).finish();
    assert!(matches!(decode(&checkpoint[0]), Err(CorruptSegment::Foreign { expected: "segment", .. })));
}
