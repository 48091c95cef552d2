//! Leases, and those who would hold them.

use super::Kind;
use crate::table::cells::Cells;
use crate::table::column::{AGE, NAME, text};
use crate::table::field::{Metadata, Object, Text, fields};
use crate::table::json::{Unreadable, read};

pub(super) static LEASES: Kind = Kind { columns: &[NAME, text("Holder", "Who holds the lease."), AGE], print: lease };

pub(super) static LEASE_CANDIDATES: Kind = Kind {
    columns: &[
        NAME,
        text("LeaseName", "The lease that it would hold."),
        text("BinaryVersion", "The version of the program."),
        text("EmulationVersion", "The version that the program behaves as."),
        AGE,
    ],
    print: lease_candidate,
};

fields! {
    struct LeaseSpec<'a> {
        holder_identity: Text<'a>,
    }

    struct CandidateSpec<'a> {
        lease_name: Text<'a>,
        binary_version: Text<'a>,
        emulation_version: Text<'a>,
    }
}

fn lease(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Object { metadata, spec, .. }: Object<Metadata<'_>, LeaseSpec<'_>> = read(body)?;
    cells.text(&metadata.name).text(&spec.holder_identity).age(&metadata.creation_timestamp);
    Ok(())
}

fn lease_candidate(body: &[u8], cells: &mut Cells<'_>) -> Result<(), Unreadable> {
    let Object { metadata, spec, .. }: Object<Metadata<'_>, CandidateSpec<'_>> = read(body)?;
    cells.text(&metadata.name).text(&spec.lease_name).text(&spec.binary_version).text(&spec.emulation_version);
    cells.age(&metadata.creation_timestamp);
    Ok(())
}
