use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kube::config::{Cluster, Kubeconfig};
use orrery_api::placement::ClusterAttributes;
use orrery_api::{ClusterName, ClusterNameError, nearest};
use sha2::{Digest as _, Sha256};

use super::kubeconfig::read_all;
use crate::MemberSpec;

/// The flags, or the lines of the configuration file, that say which clusters are members. Without any the current
/// context is the one member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberFlags {
    /// `--kubeconfig`: files that together are one kubeconfig; where empty, [`MemberFlags::default_kubeconfig`].
    pub kubeconfig: Vec<PathBuf>,
    /// `--context`: contexts of it.
    pub contexts: Vec<String>,
    /// `--all-contexts`: all of them.
    pub all_contexts: bool,
    /// `--member`: `NAME=FILE[#CONTEXT]`.
    pub members: Vec<String>,
    /// Labels and taints, by the member's name.
    pub attributes: BTreeMap<ClusterName, Arc<ClusterAttributes>>,
}

/// Why flags name no fleet.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// A kubeconfig cannot be read.
    #[error("kubeconfig {file} cannot be read")]
    Read {
        /// The file, or files.
        file: String,
        /// What is wrong.
        #[source]
        source: Box<kube::config::KubeconfigError>,
    },
    /// There is no kubeconfig at all.
    #[error(
        "no kubeconfig: give --kubeconfig FILE or --member NAME=FILE, set KUBECONFIG, or put one at ~/.kube/config"
    )]
    NoKubeconfig,
    /// No context is named, and the file has no current one.
    #[error("kubeconfig {file} has no current context; name one with --context, of: {known}")]
    NoContext {
        /// The file, or files.
        file: String,
        /// The contexts it has.
        known: String,
    },
    /// The file lacks the context.
    #[error("kubeconfig {file} has no context {context:?}; it has: {known}")]
    UnknownContext {
        /// The file, or files.
        file: String,
        /// The context asked for.
        context: String,
        /// The contexts it has.
        known: String,
    },
    /// `--member` is written otherwise.
    #[error("--member {0:?} is not NAME=FILE or NAME=FILE#CONTEXT")]
    Member(String),
    /// A name cannot be a cluster's.
    #[error("--member NAME=FILE[#CONTEXT] gives a cluster its name")]
    Name(#[from] ClusterNameError),
    /// Two members have one name.
    #[error("two members are named {0}; give one another name with --member NAME=FILE#CONTEXT")]
    SameName(ClusterName),
    /// Labels or taints of no member.
    #[error("labels or taints are given to {name}, which is no member; {hint}")]
    UnknownCluster {
        /// The name that no member has.
        name: ClusterName,
        /// Which was meant, or which there are.
        hint: String,
    },
    /// Two contexts are one cluster.
    #[error("members {first} and {second} are one cluster, {server}; name one of the two")]
    SameCluster {
        /// The earlier, as `NAME (context CONTEXT)`.
        first: String,
        /// The later.
        second: String,
        /// The URL of both.
        server: String,
    },
}

/// A context that was asked for, with the name it was given, if any.
struct Asked<'a> {
    name: Option<ClusterName>,
    files: &'a [PathBuf],
    context: String,
    cluster: Option<Cluster>,
}

// === impl MemberFlags ===

impl MemberFlags {
    /// The files that kubectl would read: those of `KUBECONFIG`, else `~/.kube/config` if it is there.
    pub fn default_kubeconfig() -> Vec<PathBuf> {
        if let Some(list) = std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
            return std::env::split_paths(&list).filter(|path| path.exists()).collect();
        }
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".kube/config"));
        home.into_iter().filter(|path| path.exists()).collect()
    }

    /// The members that the flags name, in their order: contexts, then `--member`s.
    ///
    /// # Errors
    /// Files that cannot be read, contexts that are not there, two members of one name, labels of none, two contexts of one
    /// cluster (by URL and CA; the fleet finds the others by their kube-system uid).
    pub fn resolve(&self) -> Result<Vec<MemberSpec>, ResolveError> {
        let alone = self.contexts.is_empty() && !self.all_contexts;
        let files = match self.kubeconfig.as_slice() {
            [] if alone && !self.members.is_empty() => Vec::new(),
            [] => Self::default_kubeconfig(),
            given => given.to_vec(),
        };
        let mut asked = if files.is_empty() { Vec::new() } else { self.asked_contexts(&files)? };
        let split = self.members.iter().map(|text| split_member(text)).collect::<Result<Vec<_>, _>>()?;
        for (name, file, context) in &split {
            let kubeconfig = read(file)?;
            let context = context.clone().map_or_else(|| current(file, &kubeconfig), Ok)?;
            asked.push(Asked { name: Some(name.clone()), ..ask(file, &kubeconfig, context)? });
        }
        if asked.is_empty() {
            return Err(ResolveError::NoKubeconfig);
        }
        let names = names(&asked)?;
        one_cluster_each(&asked, &names)?;
        self.attributes.keys().try_for_each(|name| one_of(&names, name))?;
        let spec = |(asked, name): (Asked<'_>, ClusterName)| MemberSpec {
            attributes: self.attributes.get(&name).cloned().unwrap_or_default(),
            name,
            kubeconfig: asked.files.to_vec(),
            context: Some(asked.context),
        };
        Ok(asked.into_iter().zip(names).map(spec).collect())
    }

    fn asked_contexts<'a>(&self, files: &'a [PathBuf]) -> Result<Vec<Asked<'a>>, ResolveError> {
        let kubeconfig = read(files)?;
        let mut contexts = self.contexts.clone();
        if self.all_contexts {
            contexts.extend(kubeconfig.contexts.iter().map(|named| named.name.clone()));
        } else if contexts.is_empty() && (self.members.is_empty() || !self.kubeconfig.is_empty()) {
            contexts.push(current(files, &kubeconfig)?);
        }
        let mut seen = std::collections::HashSet::new();
        contexts.retain(|context| seen.insert(context.clone()));
        contexts.into_iter().map(|context| ask(files, &kubeconfig, context)).collect()
    }
}

// === impl Asked ===

impl Asked<'_> {
    fn shown(&self, name: &ClusterName) -> String {
        format!("{name} (context {})", self.context)
    }
}

fn read(files: &[PathBuf]) -> Result<Kubeconfig, ResolveError> {
    read_all(files).map_err(|source| ResolveError::Read { file: shown(files), source: Box::new(source) })
}

fn shown(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn known(kubeconfig: &Kubeconfig) -> String {
    kubeconfig.contexts.iter().map(|named| named.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn current(files: &[PathBuf], kubeconfig: &Kubeconfig) -> Result<String, ResolveError> {
    let context = kubeconfig.current_context.clone().filter(|context| !context.is_empty());
    context.ok_or_else(|| ResolveError::NoContext { file: shown(files), known: known(kubeconfig) })
}

fn ask<'a>(files: &'a [PathBuf], kubeconfig: &Kubeconfig, context: String) -> Result<Asked<'a>, ResolveError> {
    let Some(named) = kubeconfig.contexts.iter().find(|named| named.name == context) else {
        return Err(ResolveError::UnknownContext { file: shown(files), context, known: known(kubeconfig) });
    };
    let entry = named.context.as_ref().map(|entry| entry.cluster.as_str());
    let cluster = kubeconfig.clusters.iter().find(|cluster| Some(cluster.name.as_str()) == entry);
    Ok(Asked { name: None, files, context, cluster: cluster.and_then(|named| named.cluster.clone()) })
}

/// `NAME=FILE[#CONTEXT]`.
fn split_member(text: &str) -> Result<(ClusterName, Vec<PathBuf>, Option<String>), ResolveError> {
    let (name, place) = text.split_once('=').ok_or_else(|| ResolveError::Member(text.to_owned()))?;
    let (file, context) = place.split_once('#').map_or((place, None), |(file, context)| (file, Some(context)));
    if file.is_empty() || context == Some("") {
        return Err(ResolveError::Member(text.to_owned()));
    }
    Ok((ClusterName::new(name)?, vec![file.into()], context.map(str::to_owned)))
}

/// The names of all, in order. Of made names that meet each other, or a given one, each gets six hex digits of a hash
/// of its context: so a name does not depend on the order.
fn names(asked: &[Asked<'_>]) -> Result<Vec<ClusterName>, ResolveError> {
    let plain = |asked: &Asked<'_>| asked.name.clone().map_or_else(|| ClusterName::from_context(&asked.context), Ok);
    let plain = asked.iter().map(plain).collect::<Result<Vec<_>, _>>()?;
    let meets = |name: &ClusterName| plain.iter().filter(|other| *other == name).count() > 1;
    let mut taken = BTreeMap::new();
    let mut names = Vec::with_capacity(asked.len());
    for (asked, name) in asked.iter().zip(&plain) {
        let name = if asked.name.is_none() && meets(name) { hashed(name, &asked.context)? } else { name.clone() };
        if taken.insert(name.clone(), ()).is_some() {
            return Err(ResolveError::SameName(name));
        }
        names.push(name);
    }
    Ok(names)
}

fn hashed(name: &ClusterName, context: &str) -> Result<ClusterName, ClusterNameError> {
    let hash = Sha256::digest(context.as_bytes());
    let cut: String = name.as_str().chars().take(ClusterName::CHARS_MAX - 7).collect();
    ClusterName::new(&format!("{}-{:02x}{:02x}{:02x}", cut.trim_end_matches('-'), hash[0], hash[1], hash[2]))
}

fn one_cluster_each(asked: &[Asked<'_>], names: &[ClusterName]) -> Result<(), ResolveError> {
    let mut seen: Vec<(usize, Place)> = Vec::new();
    for (at, asked_one) in asked.iter().enumerate() {
        let Some(place) = asked_one.cluster.as_ref().and_then(Place::of) else { continue };
        if let Some((first, _)) = seen.iter().find(|(_, other)| *other == place) {
            return Err(ResolveError::SameCluster {
                first: asked[*first].shown(&names[*first]),
                second: asked_one.shown(&names[at]),
                server: place.server,
            });
        }
        seen.push((at, place));
    }
    Ok(())
}

fn one_of(members: &[ClusterName], name: &ClusterName) -> Result<(), ResolveError> {
    if members.contains(name) {
        return Ok(());
    }
    let members: Vec<&str> = members.iter().map(ClusterName::as_str).collect();
    let hint = match nearest(name.as_str(), &members) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("members are {}", members.join(", ")),
    };
    Err(ResolveError::UnknownCluster { name: name.clone(), hint })
}

/// What makes two entries of a kubeconfig one cluster.
#[derive(PartialEq)]
struct Place {
    server: String,
    authority: Option<Vec<u8>>,
    via: (Option<String>, Option<String>),
}

// === impl Place ===

impl Place {
    fn of(cluster: &Cluster) -> Option<Self> {
        let data = cluster.certificate_authority_data.as_ref().and_then(|text| {
            use base64::Engine as _;
            base64::engine::general_purpose::STANDARD.decode(text.trim()).ok()
        });
        Some(Self {
            server: cluster.server.clone()?.trim_end_matches('/').to_owned(),
            authority: data.or_else(|| std::fs::read(cluster.certificate_authority.as_ref()?).ok()),
            via: (cluster.proxy_url.clone(), cluster.tls_server_name.clone()),
        })
    }
}

#[cfg(test)]
mod tests;
