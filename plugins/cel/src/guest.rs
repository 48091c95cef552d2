//! What the component exports.

use crate::bindings::exports::orrery::cel::explain;
use crate::bindings::exports::orrery::plugin::{
    lifecycle, named_selector, placement_filter, placement_score, placement_select, placement_split, virtual_labels,
};
use crate::bindings::orrery::plugin::placement_types::{RankedRequest, Request, Verdict};
use crate::bindings::orrery::plugin::selector_types::{Batch, MatchRequest, Plan, PlanRequest};
use crate::bindings::orrery::plugin::types::Failure;
use crate::stages;

/// The component: every export is a function of its arguments.
#[derive(Debug)]
pub struct Cel;

impl lifecycle::Guest for Cel {
    fn check_params(params: String) -> Result<(), Failure> {
        stages::check(&params)
    }
}

impl placement_filter::Guest for Cel {
    fn filter(req: Request) -> Result<Vec<Verdict>, Failure> {
        stages::filter(&req)
    }
}

impl placement_score::Guest for Cel {
    fn score(req: Request) -> Result<Vec<i64>, Failure> {
        stages::score(&req)
    }
}

impl placement_select::Guest for Cel {
    fn select(req: RankedRequest) -> Result<Vec<u32>, Failure> {
        stages::select(&req)
    }
}

impl placement_split::Guest for Cel {
    fn split(req: RankedRequest) -> Result<Vec<u32>, Failure> {
        stages::split(&req)
    }
}

impl virtual_labels::Guest for Cel {
    fn labels(req: Batch) -> Result<Vec<Vec<(String, String)>>, Failure> {
        stages::labels(&req)
    }
}

impl named_selector::Guest for Cel {
    fn prepare(req: PlanRequest) -> Result<Plan, Failure> {
        stages::prepare(&req)
    }

    fn matches(req: MatchRequest) -> Result<Vec<bool>, Failure> {
        stages::matches(&req)
    }
}

impl explain::Guest for Cel {
    fn explain(request: String) -> Result<String, Failure> {
        crate::explain::explain(&request)
    }
}

#[cfg(target_arch = "wasm32")]
crate::bindings::export!(Cel with_types_in crate::bindings);
