use std::time::Duration;

use orrery_sim::{Mode, Pace, WatchLists};
use serde_json::Value;
use tokio::time::sleep;

use super::Driver;
use crate::client::Gone;
use crate::laws::{Fact, Item, View, difference};
use crate::truth::{Expected, Subject};

/// By then every client has what the members hold: a restarted host waits 15 s for silent members, a broken watch 10 s
/// between tries, a slow reader a minute, and the append of a failing store some seconds each.
const REST_MAX: Duration = Duration::from_secs(900);

// === impl Driver ===

impl Driver {
    /// Ends all faults, and waits until every client has what the members hold.
    pub(crate) async fn settle(&mut self) -> Result<(), String> {
        self.note(format_args!("all faults end"));
        for site in &self.sites {
            site.cluster.set_mode(Mode::Serving);
            site.cluster.set_pace(Pace::default());
            site.cluster.set_watch_lists(WatchLists::Understood);
            site.cluster.repeat(0);
            for subject in self.subjects.iter().filter(|subject| !site.cluster.serves(subject.gvr())) {
                site.cluster.define(subject.kind.clone());
            }
        }
        let begun = tokio::time::Instant::now();
        while let Some(difference) = self.difference().await {
            self.judge()?;
            if begun.elapsed() > REST_MAX {
                return Err(format!("member-faithful: after {} s of rest: {difference}", REST_MAX.as_secs()));
            }
            sleep(Duration::from_secs(1)).await;
        }
        self.note(format_args!("all clients have all after {} s", begun.elapsed().as_secs()));
        for subject in self.subjects.clone() {
            self.look(&subject).await?;
        }
        Ok(())
    }

    /// How some client, or a list of now, differs from what the members hold.
    async fn difference(&self) -> Option<String> {
        let members = self.members();
        for (scope, known) in &self.watchers {
            let subject = self.subjects.iter().find(|subject| subject.versions().contains(&scope.gvr))?;
            let Some((marker, view)) = known.get() else { return Some(format!("{scope:?} has no list")) };
            let expected = Expected::of(&members, subject, |cluster, key| scope.selects(cluster, key));
            if let Some(how) = difference(&view, &expected) {
                return Some(format!("{scope:?} at {marker}: {how}"));
            }
        }
        for subject in &self.subjects {
            let listed = match self.list(subject).await {
                Ok(view) => difference(&view, &Expected::of(&members, subject, |_, _| true)),
                Err(how) => Some(how),
            };
            if let Some(how) = listed {
                return Some(format!("the list of {}: {how}", subject.gvr()));
            }
        }
        None
    }

    async fn list(&self, subject: &Subject) -> Result<View, String> {
        let answer = self.address.get(&subject.gvr().path()).await;
        let (code, body) = answer.map_err(|_: Gone| "the host ended the request".to_owned())?;
        let list: Value = serde_json::from_slice(&body).unwrap_or_default();
        if code != 200 {
            return Err(format!("it is {code}: {list}"));
        }
        Ok(list["items"].as_array().into_iter().flatten().filter_map(Item::read).collect())
    }

    /// Reads each object by its name: it is as the list shows it.
    async fn look(&mut self, subject: &Subject) -> Result<(), String> {
        for (key, item) in self.list(subject).await? {
            let path = format!("{}/{}", subject.gvr().path_in(&key.namespace), key.name);
            let answer = self.address.get(&path).await;
            let (code, body) = answer.map_err(|_: Gone| "promise: the host ended a request".to_owned())?;
            let read = serde_json::from_slice(&body).ok().and_then(|object| Item::read(&object));
            if code != 200 || read.as_ref() != Some(&(key.clone(), item.clone())) {
                return Err(format!("unique: GET of {key} is {code} {read:?}, the list has {item:?}"));
            }
            self.laws.fact(subject.gvr(), item.marker, &Fact::State(key, item));
        }
        Ok(())
    }
}
