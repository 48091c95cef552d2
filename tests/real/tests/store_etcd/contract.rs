//! The contract of marker stores, on an etcd, directly and behind a proxy that loses each twentieth answer.

use std::sync::Arc;

use orrery_harness::Etcd;
use orrery_markers::MarkerStore;
use orrery_stores::contract::Place;
use orrery_stores::{EtcdSettings, contract_suite};

use super::lossy::LossyProxy;
use crate::{Seat, started};

/// An etcd of its own, and a directory by which a store knows its predecessor.
struct Direct {
    seat: Seat,
    _etcd: Etcd,
}

impl Direct {
    fn start() -> Self {
        let etcd = started().expect("etcd starts");
        Self { seat: Seat::at(&etcd).expect("a directory can be made"), _etcd: etcd }
    }
}

#[async_trait::async_trait]
impl Place for Direct {
    async fn open(&self) -> Arc<dyn MarkerStore> {
        Arc::new(self.seat.open().await.expect("etcd answers"))
    }
}

/// The same behind a proxy.
struct Lossy {
    seat: Seat,
    proxy: LossyProxy,
    _etcd: Etcd,
}

impl Lossy {
    async fn start() -> Self {
        let etcd = started().expect("etcd starts");
        let proxy = LossyProxy::start(etcd.port(), 20).await.expect("a port is free");
        let seat = Seat::of(EtcdSettings::new(vec![proxy.endpoint()])).expect("a directory can be made");
        Self { seat, proxy, _etcd: etcd }
    }
}

#[async_trait::async_trait]
impl Place for Lossy {
    async fn open(&self) -> Arc<dyn MarkerStore> {
        Arc::new(self.seat.open().await.expect("etcd answers now and then"))
    }
}

contract_suite!(direct, Direct::start());
contract_suite!(lossy, Lossy::start().await);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_thousand_appends_with_each_twentieth_answer_lost_each_stands_once_and_in_order() {
    let place = Lossy::start().await;
    let store = place.seat.open().await.unwrap();
    let written: Vec<_> = (1..=1000).map(|seq| crate::segment(seq, "lossy")).collect();
    for segment in &written {
        crate::append(&store, segment).await.unwrap();
    }
    assert_eq!(crate::load(&store).await.unwrap(), written);
    assert!(place.proxy.lost() >= 50, "{} answers were lost", place.proxy.lost());
    let settled = place.seat.metric("orrery_store_etcd_settled_total{outcome=\"done\"}");
    assert!(settled > 10.0, "{settled} appends were found done");
}
