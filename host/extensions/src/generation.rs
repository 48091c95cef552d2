//! One generation of an extension: a revision, loaded. It never changes; another revision is another generation.

use orrery_api::Gvr;
use orrery_api::extension::{Capability, CelTarget, Normalize};
use orrery_api::placement::{PlacementQuestion, PlacementRequest, Reason, Score, Verdict};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use twox_hash::XxHash3_64;

use crate::inputs::{self, Paths};
use crate::revision::Revision;
use crate::runtime::wit::placement_types;
use crate::runtime::wit::types::Call;
use crate::runtime::{CallError, Caller, Guest};

/// A revision that can be asked.
pub(crate) struct Generation {
    pub(crate) number: u64,
    pub(crate) id: String,
    pub(crate) revision: Revision,
    guest: Guest,
    unit_paths: Paths,
    object_paths: Paths,
    candidate_paths: Paths,
    /// Ends once another generation serves and the time to finish is over.
    pub(crate) drained: CancellationToken,
}

/// What a generation is asked, in the form that it is recorded and asked again.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) question: PlacementQuestion,
    pub(crate) request: placement_types::Request,
    pub(crate) scores: Vec<i64>,
}

// === impl Asked ===

impl Asked {
    /// The unit as people name it.
    pub(crate) fn unit_name(&self) -> String {
        let unit: Value = serde_json::from_str(&self.request.unit).unwrap_or_default();
        let text = |key: &str| unit[key].as_str().unwrap_or_default();
        format!("{} {}/{}{}", text("resource"), text("namespace"), text("name"), text("generateName"))
    }

    /// The candidates, in their order.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.request.candidates.iter().map(|candidate| candidate.name.as_str()).collect()
    }
}

// === impl Generation ===

impl Generation {
    pub(crate) fn new(number: u64, revision: Revision, guest: Guest) -> Self {
        let inputs = &revision.code.manifest.inputs;
        Self {
            number,
            id: revision.id(),
            unit_paths: Paths::of(inputs.unit.as_deref()),
            object_paths: Paths::of(inputs.object.as_deref()),
            candidate_paths: Paths::of(inputs.candidate.as_deref()),
            revision,
            guest,
            drained: CancellationToken::new(),
        }
    }

    pub(crate) fn guest(&self) -> &Guest {
        &self.guest
    }

    /// From now on only these fields of clusters are sent, as it reads no others.
    pub(crate) fn reads_of_clusters(&mut self, fields: &[String]) {
        self.candidate_paths = Paths::of(Some(fields));
    }

    pub(crate) fn object_paths(&self) -> &Paths {
        &self.object_paths
    }

    /// Whether it says which labels objects of `gvr` seem to have.
    pub(crate) fn gives_labels(&self, gvr: &Gvr) -> bool {
        self.guest.labels.is_some() && self.revision.selects(CelTarget::VirtualLabel, gvr)
    }

    /// Whether it is the selector `name` of objects of `gvr`.
    pub(crate) fn answers_selector(&self, name: &str, gvr: &Gvr) -> bool {
        let selects = self.guest.selector.is_some() && self.revision.selects(CelTarget::NamedSelector, gvr);
        selects && self.revision.selector_name() == name
    }

    /// Whether it selects objects at all.
    pub(crate) fn is_selector(&self) -> bool {
        let is_for = matches!(self.revision.target, None | Some(CelTarget::VirtualLabel | CelTarget::NamedSelector));
        is_for && (self.guest.labels.is_some() || self.guest.selector.is_some())
    }

    /// The frame of a call.
    pub(crate) fn caller(&self) -> Caller {
        let asked = &self.revision.code.manifest.capabilities;
        let is_asked = |capability: &Capability| asked.contains(capability);
        let granted = self.revision.capabilities.iter().copied().filter(is_asked).collect();
        Caller::new(self.revision.limits, granted, &self.revision.code.manifest.metrics)
    }

    /// What it is told when a stage of placement asks.
    pub(crate) fn asked(&self, question: PlacementQuestion, request: &PlacementRequest<'_>) -> Asked {
        let unit = inputs::unit(request.unit, &self.unit_paths).to_string();
        let candidate = |candidate: &orrery_api::placement::Candidate| placement_types::Candidate {
            name: candidate.name.to_string(),
            doc: inputs::candidate_limited(candidate, &self.candidate_paths).to_string(),
        };
        let replicas = request.unit.pods.as_ref().map(|pods| u32::try_from(pods.replicas).unwrap_or(u32::MAX));
        let request_ = placement_types::Request {
            call: self.call(request.now_ms, &unit),
            unit,
            replicas,
            current: Vec::new(),
            candidates: request.candidates.iter().map(candidate).collect(),
        };
        Asked { question, request: request_, scores: request.scores.iter().map(|score| i64::from(*score)).collect() }
    }

    /// The first field of every request. The same question has the same seed.
    pub(crate) fn call(&self, now_ms: u64, question: &str) -> Call {
        Call {
            plugin: self.revision.name.name.clone(),
            generation: self.number,
            params: self.revision.params.to_string(),
            now_ms,
            seed: XxHash3_64::oneshot(question.as_bytes()),
            trace: String::new(),
            hints: "{}".to_owned(),
        }
    }

    /// Verdicts on the candidates, in their order.
    pub(crate) async fn judge(&self, caller: &Caller, asked: &Asked) -> Result<Vec<Verdict>, CallError> {
        let count = asked.request.candidates.len();
        let ranked = || placement_types::RankedRequest { base: asked.request.clone(), scores: asked.scores.clone() };
        match asked.question {
            PlacementQuestion::Filter => {
                let verdicts = self.guest.filter(caller, &asked.request).await?;
                Ok(exactly(count, verdicts)?.into_iter().map(filtered).collect())
            }
            PlacementQuestion::Score => {
                let scores = exactly(count, self.guest.score(caller, &asked.request).await?)?;
                let scores = normalized(self.revision.normalize(), &scores);
                Ok(scores.into_iter().map(Verdict::Stays).collect())
            }
            PlacementQuestion::Select => selected(count, &self.guest.select(caller, &ranked()).await?),
            PlacementQuestion::Split => {
                let replicas = exactly(count, self.guest.split(caller, &ranked()).await?)?;
                split(asked.request.replicas, &replicas)
            }
        }
    }
}

fn exactly<T>(count: usize, answers: Vec<T>) -> Result<Vec<T>, CallError> {
    if answers.len() == count {
        return Ok(answers);
    }
    Err(CallError::Result(format!("{} answers on {count} clusters", answers.len())))
}

fn filtered(verdict: placement_types::Verdict) -> Verdict {
    if verdict.keep {
        return Verdict::Stays(Score::default());
    }
    let reason = verdict.reason.map(|reason| (reason.code, reason.message));
    let (code, message) = reason.unwrap_or_else(|| ("Dropped".to_owned(), "it gives no reason".to_owned()));
    Verdict::Dropped(Reason { code: code.into(), message })
}

/// Raw scores as 0 to 100. Where all are equal none is better.
fn normalized(normalize: Normalize, raw: &[i64]) -> Vec<Score> {
    let least = raw.iter().copied().min().unwrap_or(0);
    let most = raw.iter().copied().max().unwrap_or(0);
    let range = most.abs_diff(least);
    let score = |raw: &i64| match normalize {
        Normalize::None => Score::share(raw.clamp(&0, &100).unsigned_abs(), 100),
        Normalize::Minmax if range > 0 => Score::share(raw.abs_diff(least), range),
        Normalize::Reverse if range > 0 => Score::share(raw.abs_diff(most), range),
        Normalize::Minmax | Normalize::Reverse => Score::MAX,
    };
    raw.iter().map(score).collect()
}

/// An object goes to one cluster: the first that is chosen.
fn selected(count: usize, chosen: &[u32]) -> Result<Vec<Verdict>, CallError> {
    let mut rank = vec![None; count];
    for (place, at) in chosen.iter().enumerate() {
        let index = usize::try_from(*at).unwrap_or(usize::MAX);
        match rank.get_mut(index) {
            Some(slot @ None) => *slot = Some(place),
            Some(Some(_)) => return Err(CallError::Result(format!("it chose cluster {at} twice"))),
            None => return Err(CallError::Result(format!("it chose cluster {at} of {count}"))),
        }
    }
    let verdict = |rank: &Option<usize>| match rank {
        Some(0) => Verdict::Stays(Score::MAX),
        Some(rank) => {
            Verdict::Dropped(Reason::new("NotFirst", format!("it is choice {} of {}", rank + 1, chosen.len())))
        }
        None => Verdict::Dropped(Reason::new("NotSelected", "it was not selected")),
    };
    Ok(rank.iter().map(verdict).collect())
}

/// An object goes to one cluster: the first of those with the most replicas.
fn split(asked: Option<u32>, replicas: &[u32]) -> Result<Vec<Verdict>, CallError> {
    let sum: u64 = replicas.iter().copied().map(u64::from).sum();
    if let Some(asked) = asked.filter(|asked| u64::from(*asked) != sum) {
        return Err(CallError::Result(format!("it split {asked} replicas into {sum}")));
    }
    let most = replicas.iter().copied().max().unwrap_or(0);
    let first = replicas.iter().position(|replicas| *replicas == most);
    let verdict = |(at, own): (usize, &u32)| match first {
        Some(first) if at == first => Verdict::Stays(Score::MAX),
        _ => Verdict::Dropped(Reason::new("FewerReplicas", format!("it gets {own} of {sum} replicas, another {most}"))),
    };
    Ok(replicas.iter().enumerate().map(verdict).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(scores: &[Score]) -> Vec<u8> {
        scores.iter().map(|score| score.value()).collect()
    }

    #[test]
    fn raw_scores_become_0_to_100_as_the_manifest_says() {
        let raw = [i64::MIN, 0, i64::MAX];
        assert_eq!(values(&normalized(Normalize::Minmax, &raw)), [0, 50, 100]);
        assert_eq!(values(&normalized(Normalize::Reverse, &raw)), [100, 49, 0]);
        assert_eq!(values(&normalized(Normalize::None, &[-5, 30, 500])), [0, 30, 100]);
        assert_eq!(values(&normalized(Normalize::Minmax, &[7, 7])), [100, 100], "none is better");
        assert_eq!(values(&normalized(Normalize::Reverse, &[])), Vec::<u8>::new());
    }

    #[test]
    fn of_the_selected_the_first_is_chosen_and_an_index_is_there_once() {
        let verdicts = selected(3, &[2, 0]).unwrap();
        assert_eq!(verdicts[2], Verdict::Stays(Score::MAX));
        assert!(matches!(&verdicts[0], Verdict::Dropped(reason) if reason.message == "it is choice 2 of 2"));
        assert!(matches!(&verdicts[1], Verdict::Dropped(reason) if reason.code == "NotSelected"));
        for (chosen, problem) in [([1, 1], "it chose cluster 1 twice"), ([0, 3], "it chose cluster 3 of 3")] {
            assert_eq!(selected(3, &chosen).unwrap_err(), CallError::Result(problem.into()));
        }
    }

    #[test]
    fn a_split_adds_up_and_the_most_replicas_win() {
        let verdicts = split(Some(5), &[1, 2, 2]).unwrap();
        assert_eq!(verdicts[1], Verdict::Stays(Score::MAX));
        assert!(matches!(&verdicts[2], Verdict::Dropped(reason) if reason.code == "FewerReplicas"));
        let wrong = split(Some(4), &[u32::MAX, 2]).unwrap_err();
        assert_eq!(wrong, CallError::Result("it split 4 replicas into 4294967297".into()));
    }
}
