//! The model: all events ever, and maps made of them.

use super::*;

#[derive(Clone, Copy, Debug)]
enum Deed {
    Put {
        key: usize,
        app: &'static str,
        node: &'static str,
    },
    Delete {
        key: usize,
    },
    Mark,
    /// Watches that began before now end.
    Expire,
    /// Time passes, and what has aged is compressed and trimmed.
    Settle {
        seconds: u64,
    },
    Watch {
        back: usize,
        selection: usize,
    },
    /// A watch reads all that is there.
    Drain {
        watch: usize,
    },
    Exact {
        back: usize,
    },
}

/// What the model knows of one watch.
struct Watched {
    watch: Watch,
    selection: usize,
    /// Read up to here.
    cursor: Marker,
    started: Marker,
    is_over: bool,
}

/// All changes ever: (marker, key, the body as served after it).
#[derive(Default)]
struct Model {
    events: Vec<(Marker, ObjectKey, Option<Shown>)>,
    expired_below: Option<Marker>,
}

#[derive(Clone, Debug, PartialEq)]
struct Shown {
    app: &'static str,
    node: &'static str,
    body: String,
}

const APPS: [&str; 3] = ["web", "db", "job"];
const NODES: [&str; 2] = ["n1", "n2"];

fn keys() -> Vec<ObjectKey> {
    ["a/x", "a/y", "a/z", "b/x", "b/y", "c/x"]
        .map(|key| {
            let (namespace, name) = key.split_once('/').unwrap();
            ObjectKey::new(namespace, name)
        })
        .to_vec()
}

/// Selections, each with the model's own way to judge.
type Judge = fn(&ObjectKey, &Shown) -> bool;

fn selections() -> Vec<(Selection, Judge)> {
    let fields = |text| FieldSelector::parse(text, &FieldTable::of(&Gvr::new("", "v1", "pods"), true)).unwrap();
    vec![
        (Selection::everything(), |_, _| true),
        (selection(Some("a"), ""), |key, _| &*key.namespace == "a"),
        (selection(Some("b"), "app=web"), |key, shown| &*key.namespace == "b" && shown.app == "web"),
        (selection(None, "app in (web,db)"), |_, shown| shown.app != "job"),
        (Selection { name: Some("x".into()), ..selection(Some("a"), "") }, |key, _| {
            &*key.namespace == "a" && &*key.name == "x"
        }),
        (Selection { fields: fields("spec.nodeName=n1"), ..selection(None, "app!=job") }, |_, shown| {
            shown.node == "n1" && shown.app != "job"
        }),
        (selection(Some("nobody"), ""), |_, _| false),
        (says(selection(None, ""), r#""nodeName":"n1""#), |_, shown| shown.node == "n1"),
        (says(selection(Some("a"), "app!=job"), r#""nodeName":"n2""#), |key, shown| {
            &*key.namespace == "a" && shown.app != "job" && shown.node == "n2"
        }),
    ]
}

// === impl Model ===

impl Model {
    /// The state at `marker`.
    fn at(&self, marker: Marker) -> BTreeMap<ObjectKey, Shown> {
        let mut state = BTreeMap::new();
        for (_, key, shown) in self.events.iter().filter(|(at, ..)| *at <= marker) {
            match shown {
                Some(shown) => drop(state.insert(key.clone(), shown.clone())),
                None => drop(state.remove(key)),
            }
        }
        state
    }

    /// What a watch from `marker` has to be told: kind, marker and body.
    fn after(&self, marker: Marker, judge: Judge) -> Vec<(ChangeKind, Marker, String)> {
        let mut state = self.at(marker);
        let mut told = Vec::new();
        for (at, key, after) in self.events.iter().filter(|(at, ..)| *at > marker) {
            let before = state.get(key).filter(|shown| judge(key, shown)).cloned();
            let after_in = after.as_ref().filter(|shown| judge(key, shown));
            match (&before, after_in) {
                (None, Some(new)) => told.push((ChangeKind::Added, *at, new.body.clone())),
                (Some(_), Some(new)) => told.push((ChangeKind::Modified, *at, new.body.clone())),
                (Some(old), None) => told.push((ChangeKind::Deleted, *at, with_marker(&old.body, *at))),
                (None, None) => {}
            }
            match after {
                Some(shown) => drop(state.insert(key.clone(), shown.clone())),
                None => drop(state.remove(key)),
            }
        }
        told
    }

    /// A marker `back` changes before the head.
    fn marker_back(&self, back: usize, head: Marker) -> Marker {
        let mut markers: Vec<_> = self.events.iter().map(|(at, ..)| *at).collect();
        markers.insert(0, marker(10));
        markers.push(head);
        markers[markers.len().saturating_sub(1 + back)]
    }
}

fn with_marker(body: &str, marker: Marker) -> String {
    let start = body.find(r#""resourceVersion":""#).unwrap() + r#""resourceVersion":""#.len();
    let end = start + body[start..].find('"').unwrap();
    format!("{}{marker}{}", &body[..start], &body[end..])
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let key = || 0..keys().len();
    prop_oneof![
        12 => (key(), prop::sample::select(&APPS[..]), prop::sample::select(&NODES[..]))
            .prop_map(|(key, app, node)| Deed::Put { key, app, node }),
        5 => key().prop_map(|key| Deed::Delete { key }),
        1 => Just(Deed::Mark),
        1 => Just(Deed::Expire),
        3 => (0..200u64).prop_map(|seconds| Deed::Settle { seconds }),
        4 => (0..60usize, 0..selections().len()).prop_map(|(back, selection)| Deed::Watch { back, selection }),
        4 => any::<usize>().prop_map(|watch| Deed::Drain { watch }),
        3 => (0..60usize).prop_map(|back| Deed::Exact { back }),
    ]
}

/// A cache and its model side by side.
struct Bench {
    writer: Writer,
    reader: Reader,
    model: Model,
    watches: Vec<Watched>,
    head: u64,
    now: Instant,
    pending: Vec<Apply>,
}

// === impl Bench ===

impl Bench {
    fn new(bytes_max: u64) -> Self {
        let (writer, reader, _) = cache(bytes_max);
        let (model, watches, pending) = (Model::default(), vec![], vec![]);
        Self { writer, reader, model, watches, head: 10, now: Instant::now(), pending }
    }

    fn next_marker(&mut self, step: u64) -> Marker {
        self.head += 1 + step;
        marker(self.head)
    }

    fn run(&mut self, deed: Deed, batch: usize) {
        let keys = keys();
        match deed {
            Deed::Put { key, app, node } => self.put(&keys[key], app, node),
            Deed::Delete { key } => self.delete(&keys[key]),
            Deed::Mark => {
                let marker = self.next_marker(5);
                self.pending.push(Apply::Mark { marker });
            }
            _ => self.flush(),
        }
        if self.pending.len() > batch {
            self.flush();
        }
        match deed {
            Deed::Expire => {
                self.model.expired_below = Some(self.reader.head());
                self.writer.expire_started_before(self.reader.head());
            }
            Deed::Settle { seconds } => {
                self.now += Duration::from_secs(seconds);
                self.reader.settle(self.now);
            }
            Deed::Watch { back, selection } => self.watch(back, selection),
            Deed::Drain { watch } if !self.watches.is_empty() => {
                let index = watch % self.watches.len();
                self.drain(index);
            }
            Deed::Exact { back } => self.exact(back),
            _ => {}
        }
    }

    fn put(&mut self, key: &ObjectKey, app: &'static str, node: &'static str) {
        let at = self.next_marker(0);
        let apply = put(at.get(), key, app, node);
        let Apply::Put { object, .. } = &apply else { unreachable!() };
        let text = std::str::from_utf8(&object.body).unwrap();
        let labels = format!(r#""labels":{{"orrery.dev/cluster":"east","app":"{app}"}}"#);
        let annotated = format!(r#""resourceVersion":"{at}","annotations":{{"orrery.dev/cluster":"east"}}"#);
        let body = format!(r#"{{"kind":"Pod","apiVersion":"v1",{}"#, &text[1..])
            .replace(&format!(r#""labels":{{"app":"{app}"}}"#), &labels)
            .replace(&format!(r#""resourceVersion":"{at}""#), &annotated);
        self.model.events.push((at, key.clone(), Some(Shown { app, node, body })));
        self.pending.push(apply);
    }

    fn delete(&mut self, key: &ObjectKey) {
        if self.model.at(Marker::MAX).contains_key(key) {
            let at = self.next_marker(0);
            self.model.events.push((at, key.clone(), None));
            self.pending.push(Apply::Delete { marker: at, served: key.clone() });
        }
    }

    fn flush(&mut self) {
        if !self.pending.is_empty() {
            let not_shown = self.writer.apply(std::mem::take(&mut self.pending), self.now);
            assert!(not_shown.is_empty());
            assert_eq!(self.reader.head(), marker(self.head));
        }
    }

    fn watch(&mut self, back: usize, selection: usize) {
        let started = self.model.marker_back(back, self.reader.head());
        match self.reader.watch(started, selections()[selection].0.clone()) {
            Ok(watch) => {
                self.watches.push(Watched { watch, selection, cursor: started, started, is_over: false });
            }
            Err(expired) => assert!(expired.floor > started && expired.floor <= self.reader.head()),
        }
    }

    /// Law 4: a watch tells exactly what came after, in order, or says that it cannot.
    fn drain(&mut self, index: usize) {
        let (floor, head) = (self.reader.floor(), self.reader.head());
        let watched = &mut self.watches[index];
        if watched.is_over {
            return;
        }
        let (events, end) = drain(&mut watched.watch);
        match end {
            Some(Step::Expired) => assert!(self.model.expired_below.is_some_and(|below| watched.started < below)),
            Some(Step::Slow) => assert!(watched.cursor < floor, "{} {floor}", watched.cursor),
            Some(Step::Events(_)) => unreachable!(),
            None => {
                let told: Vec<_> = events.iter().map(|event| (event.kind, event.marker, body(&event.object))).collect();
                assert_eq!(told, self.model.after(watched.cursor, selections()[watched.selection].1));
                assert!(events.iter().all(|event| event.object.marker() == event.marker));
                assert_eq!(watched.watch.position(), head);
            }
        }
        watched.is_over = end.is_some();
        watched.cursor = head;
    }

    /// Law 5: a list at a marker is the state there.
    fn exact(&mut self, back: usize) {
        let wanted = self.model.marker_back(back, self.reader.head());
        match self.reader.at(wanted) {
            Ok(snapshot) => self.compare(&snapshot, wanted),
            Err(expired) => assert!(expired.floor > wanted),
        }
    }

    fn compare(&self, snapshot: &Snapshot, wanted: Marker) {
        assert_eq!(snapshot.marker(), wanted);
        let state = self.model.at(wanted);
        let expected: Vec<_> = state.values().map(|shown| shown.body.clone()).collect();
        assert_eq!(bodies(snapshot), expected);
        assert_eq!(snapshot.len(), state.len());
        for namespace in ["a", "b", "nobody"] {
            let expected = state.keys().filter(|key| &*key.namespace == namespace);
            let found: Vec<_> = snapshot.range(Some(namespace), None).map(|object| object.served()).collect();
            assert_eq!(snapshot.count(Some(namespace)), found.len());
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
        for after in keys() {
            let expected: Vec<_> = state.keys().filter(|key| **key > after && &*key.namespace == "b").collect();
            let found = snapshot.range(Some("b"), Some(&after)).map(|object| object.served());
            assert_eq!(found.collect::<Vec<_>>(), expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_cache_shows_what_its_model_shows(
        deeds in prop::collection::vec(any_deed(), 1..120),
        batch in 0..6usize,
        bytes_max in prop_oneof![Just(1u64 << 30), 40_000..200_000u64],
    ) {
        let mut bench = Bench::new(bytes_max);
        for deed in deeds {
            bench.run(deed, batch);
        }
        bench.flush();
        let (latest, head) = (bench.reader.latest(), bench.reader.head());
        bench.compare(&latest, head);
        (0..bench.watches.len()).for_each(|index| bench.drain(index));
    }
}
