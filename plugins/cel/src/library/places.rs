//! `indexOf` and `lastIndexOf` of strings from a place on: behind the end there is nothing to find, which is no error in
//! Kubernetes.

use cel::ExecutionError;
use cel::common::types::{CelInt, INT_TYPE, STRING_TYPE};
use cel::common::value::CowVal;

use super::{Add, Args, Given, arg, text};

pub(super) fn add(add: &mut Add) {
    add.member("@indexOf", STRING_TYPE, vec![STRING_TYPE, INT_TYPE], |args| {
        found(&args, |text, part, from| (from..=text.len() - part.len()).find(|&at| text[at..].starts_with(part)))
    });
    add.member("@lastIndexOf", STRING_TYPE, vec![STRING_TYPE, INT_TYPE], |args| {
        found(&args, |text, part, from| {
            (0..=from.min(text.len() - part.len())).rev().find(|&at| text[at..].starts_with(part))
        })
    });
}

/// Places are counted in characters.
fn found<'b, 'v>(args: &Args<'b, 'v>, find: impl Fn(&[char], &[char], usize) -> Option<usize>) -> Given<'b, 'v> {
    let [text, part] = [text(args, 0)?, text(args, 1)?].map(|text| text.chars().collect::<Vec<char>>());
    let from = *arg::<CelInt>(args, 2)?.inner();
    let out = || ExecutionError::function_error("indexOf", format!("there is no place {from}"));
    let from = usize::try_from(from).map_err(|_| out())?;
    let place = if part.is_empty() {
        Some(from.min(text.len()))
    } else if from >= text.len() || part.len() > text.len() {
        None
    } else {
        find(&text, &part, from)
    };
    Ok(CowVal::owned(CelInt::from(place.map_or(-1, |place| place as i64))))
}
