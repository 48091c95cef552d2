use std::time::Duration;

use super::Cluster;

/// Whether and how the cluster answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As it should.
    #[default]
    Serving,
    /// Connections are refused.
    Refusing,
    /// Connections are accepted and never answered; streams stand still. It goes on where it stood when it serves again.
    Silent,
    /// Requests for objects are answered with this code: 401, 403, 429, 500 ...
    Failing(u16),
}

/// How quickly the cluster answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Before the head of each answer.
    pub head: Duration,
    /// Before each piece of a list.
    pub list: Duration,
    /// Before each piece of a watch.
    pub watch: Duration,
    /// Whether pieces are cut in two where no event ends, and hold one event each.
    pub chopped: bool,
}

/// Whether the cluster understands `sendInitialEvents`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchLists {
    /// It does.
    #[default]
    Understood,
    /// 422.
    Refused,
    /// It takes it for a plain watch from now on, as servers before 1.27 do.
    Ignored,
}

/// What is wrong with the cluster now. Counters are compared by streams with what they were when they began.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) mode: Mode,
    pub(crate) pace: Pace,
    pub(crate) watch_lists: WatchLists,
    pub(crate) counts: Counts,
    /// So many events from now the connections break within one.
    pub(crate) cut_after: Option<u32>,
    /// So many events from now all watches end.
    pub(crate) end_after: Option<u32>,
    /// No bookmark is sent, but the one that ends initial events.
    pub(crate) lacks_bookmarks: bool,
    /// So many events are sent twice.
    pub(crate) repeat: u32,
}

/// How often streams were told something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) cuts: u64,
    pub(crate) ends: u64,
    pub(crate) expiries: u64,
    pub(crate) bookmarks: u64,
}

// === impl Faults ===

impl Faults {
    /// Breaks all connections.
    pub(crate) fn cut(&mut self) {
        self.counts.cuts += 1;
    }
}

// === impl Cluster ===

impl Cluster {
    /// Sets whether it answers; refusing breaks what is open.
    pub fn set_mode(&self, mode: Mode) {
        self.change(|world| {
            world.faults.mode = mode;
            if mode == Mode::Refusing {
                world.faults.cut();
            }
        });
    }

    /// Whether it answers.
    pub fn mode(&self) -> Mode {
        self.world().faults.mode
    }

    /// Sets how quickly it answers.
    pub fn set_pace(&self, pace: Pace) {
        self.change(|world| world.faults.pace = pace);
    }

    /// Sets whether it understands `sendInitialEvents`.
    pub fn set_watch_lists(&self, watch_lists: WatchLists) {
        self.change(|world| world.faults.watch_lists = watch_lists);
    }

    /// Sets its minor version, as 37.
    pub fn set_minor(&self, minor: u32) {
        self.change(|world| world.minor = minor);
    }

    /// Sets the bearer token that it takes; without one it takes everybody.
    pub fn set_token(&self, token: Option<&str>) {
        self.change(|world| world.token = token.map(Into::into));
    }

    /// Breaks every connection.
    pub fn cut(&self) {
        self.change(|world| world.faults.cut());
    }

    /// Breaks every connection within the event that is sent after the next `events`.
    pub fn cut_after(&self, events: u32) {
        self.change(|world| world.faults.cut_after = Some(events));
    }

    /// Ends every watch after the next `events` events.
    pub fn end_after(&self, events: u32) {
        self.change(|world| world.faults.end_after = Some(events));
    }

    /// Sets whether it sends bookmarks beside those that end initial events.
    pub fn set_bookmarks(&self, sent: bool) {
        self.change(|world| world.faults.lacks_bookmarks = !sent);
    }

    /// Sends the next `events` events twice.
    pub fn repeat(&self, events: u32) {
        self.change(|world| world.faults.repeat = events);
    }

    /// Ends every watch as a server does at its deadline.
    pub fn end_watches(&self) {
        self.change(|world| world.faults.counts.ends += 1);
    }

    /// Tells every watch that its version is too old.
    pub fn expire_watches(&self) {
        self.change(|world| world.faults.counts.expiries += 1);
    }

    /// Sends a bookmark on every watch.
    pub fn bookmark(&self) {
        self.change(|world| world.faults.counts.bookmarks += 1);
    }

    /// Its API server is started anew: connections break, and no watch can begin before now. Lists at older versions go
    /// on working, from etcd.
    pub fn restart(&self) {
        self.change(|world| {
            let revision = world.revision;
            world.tables.iter_mut().for_each(|table| table.watch_floor = table.watch_floor.max(revision));
            world.faults.cut();
        });
    }
}
