//! Whatever happens to a member.

use proptest::prelude::*;

use super::*;
use orrery_sim::Mode;

/// What may happen to a member in the property below.
#[derive(Clone, Debug)]
enum Deed {
    Put(u8, u8),
    Delete(u8),
    DeleteTwo(u8, u8),
    Bookmark,
    End,
    Reset,
    Expire,
    Compact,
    Freeze(u8),
    Refuse(u8),
    Restore,
    Wait(u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        6 => (0u8..6, any::<u8>()).prop_map(|(name, text)| Deed::Put(name, text)),
        3 => (0u8..6).prop_map(Deed::Delete),
        1 => (0u8..6, 0u8..6).prop_map(|(a, b)| Deed::DeleteTwo(a, b)),
        2 => Just(Deed::Bookmark),
        2 => Just(Deed::End),
        1 => Just(Deed::Reset),
        1 => Just(Deed::Expire),
        1 => Just(Deed::Compact),
        1 => (1u8..40).prop_map(Deed::Freeze),
        1 => (1u8..40).prop_map(Deed::Refuse),
        1 => Just(Deed::Restore),
        3 => (0u8..20).prop_map(Deed::Wait),
    ]
}

async fn act(fake: &Fake, deed: &Deed) {
    let name = |at: &u8| format!("o{at}");
    match deed {
        Deed::Put(at, text) => fake.put("n", &name(at), &text.to_string()),
        Deed::Delete(at) => fake.delete("n", &name(at)),
        Deed::DeleteTwo(a, b) => fake.delete_all(&[("n", &name(a)), ("n", &name(b))]),
        Deed::Bookmark => fake.cluster.bookmark(),
        Deed::End => fake.cluster.end_watches(),
        Deed::Reset => fake.cluster.cut(),
        Deed::Expire => fake.cluster.expire_watches(),
        Deed::Compact => fake.cluster.compact(fake.cluster.revision()),
        Deed::Freeze(seconds) => {
            fake.cluster.set_mode(Mode::Silent);
            sleep(Duration::from_secs(u64::from(*seconds))).await;
            fake.cluster.set_mode(Mode::Serving);
        }
        Deed::Refuse(seconds) => {
            fake.cluster.set_mode(Mode::Refusing);
            sleep(Duration::from_secs(u64::from(*seconds))).await;
            fake.cluster.set_mode(Mode::Serving);
        }
        Deed::Restore => {
            restore(fake);
            // An etcd is not restored in less.
            fake.cluster.set_mode(Mode::Refusing);
            sleep(Duration::from_secs(4)).await;
            fake.cluster.set_mode(Mode::Serving);
        }
        Deed::Wait(tenths) => sleep(Duration::from_millis(u64::from(*tenths) * 100)).await,
    }
}

/// Three versions are lost.
fn restore(fake: &Fake) {
    fake.cluster.restore(&fake.cluster.snapshot_at(fake.cluster.revision().saturating_sub(3).max(1)));
}

proptest! {
    /// After whatever faults, a receiver that drops what is not new has the member's objects.
    #[test]
    fn whatever_happens_the_observations_lead_to_the_members_state(deeds in prop::collection::vec(deed(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let agreed = runtime.block_on(async {
            let fake = Fake::new("a");
            let mut seen = begin(&fake, Start::Fresh);
            let acting = async {
                for deed in &deeds {
                    act(&fake, deed).await;
                }
            };
            let mut acting = std::pin::pin!(acting);
            loop {
                tokio::select! {
                    () = &mut acting => break,
                    _ = seen.next() => {}
                }
            }
            fake.put("n", "last", "x");
            timeout(Duration::from_secs(600), seen.until_is(&fake)).await.is_ok()
        });
        prop_assert!(agreed);
    }
}
