//! CEL as Kubernetes has it: each expression of `cel.txt` is evaluated by a ValidatingAdmissionPolicy of a kube-apiserver and
//! by the component in the host. What comes of it there is what the table says, and here it is the same, but for what
//! `docs/cel.md` lists. `UPDATE_EXPECT=1` writes what the API server does into the table.

#[path = "cel/policy.rs"]
mod policy;
#[path = "cel/rules.rs"]
mod rules;
#[path = "cel/table.rs"]
mod table;

use std::collections::BTreeMap;
use std::{env, fs, thread};

use anyhow::{Context, Result, bail, ensure};
use orrery_harness::{ClusterSpec, HostSpec, repository};
use serde_json::{Value, json};

use table::{Case, Outcome, Seen, cases, compare_ours, compare_upstream, differences, rewritten};

/// What `object` is.
fn object(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"tier": "gold", "sky.example.com/moon": "full"}},
        "data": {"text": "día", "number": "7"},
    })
}

/// The expression that shows the type and the value of a variable.
fn shown(variable: &str) -> String {
    format!("'= %s %s'.format([dyn(type(variables.{variable})), dyn(variables.{variable})])")
}

/// What `ask` gives for each, asked of several at a time.
fn side_by_side<T: Sync, U: Send>(all: &[T], ask: impl Fn(&T) -> Result<U> + Sync) -> Result<Vec<U>> {
    const AT_ONCE: usize = 4;
    let ask = &ask;
    thread::scope(|scope| {
        let shares = all.chunks(all.len().div_ceil(AT_ONCE).max(1));
        let asking: Vec<_> =
            shares.map(|share| scope.spawn(move || share.iter().map(ask).collect::<Result<Vec<U>>>())).collect();
        let mut answers = Vec::new();
        for thread in asking {
            answers.extend(thread.join().unwrap_or_else(|_| bail!("asking panicked"))?);
        }
        Ok(answers)
    })
}

#[test]
fn expressions_give_here_what_they_give_in_kubernetes() -> Result<()> {
    let file = repository().join("tests/compat/cel.txt");
    let text = fs::read_to_string(&file)?;
    let all = cases(&text);
    ensure!(all.len() >= 300, "there are only {}", all.len());
    let expressions: Vec<&str> = all.iter().map(|case| case.expression.as_str()).collect();

    let member = ClusterSpec::bare("east").start()?;
    let folder = tempfile::tempdir()?;
    let host = HostSpec::new().member(&member).flag(format!("--extensions={}", folder.path().display())).start()?;
    let (upstream, through) = (member.client()?, host.client()?);
    let (theirs, ours) = thread::scope(|scope| {
        let theirs = scope.spawn(|| policy::outcomes(&upstream, &expressions));
        let ours = rules::outcomes(&through, folder.path(), &expressions);
        (theirs.join().unwrap_or_else(|_| bail!("asking the API server panicked")), ours)
    });
    let theirs = theirs?;
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, rewritten(&text, &theirs))?;
    }
    let ours = ours?;

    let all = cases(&fs::read_to_string(&file)?);
    let listed = differences(&fs::read_to_string(repository().join("docs/cel.md"))?);
    let mut wrong = compare_upstream(&all, &theirs);
    wrong.extend(compare_ours(&all, &listed, &ours));
    ensure!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    wrong_expectations_are_caught(&all, &listed, &theirs, &ours)
}

/// What compares could be what never finds anything: so each outcome is expected otherwise once.
fn wrong_expectations_are_caught(
    all: &[Case],
    listed: &BTreeMap<String, Outcome>,
    theirs: &BTreeMap<String, Seen>,
    ours: &BTreeMap<String, Seen>,
) -> Result<()> {
    for (expression, other) in [("1 + 2", "int 4"), ("1 / 0", "int 0"), ("1 + 1u", "error"), ("7u % 2u", "int 1")] {
        let mut changed = all.to_vec();
        let case = changed.iter_mut().find(|case| case.expression == expression);
        case.with_context(|| format!("{expression} is not in the table"))?.outcome = Some(Outcome::read(other));
        let found = [compare_upstream(&changed, theirs), compare_ours(&changed, listed, ours)];
        let is_named = |wrong: &Vec<String>| wrong.len() == 1 && wrong[0].starts_with(expression);
        ensure!(found.iter().all(is_named), "{expression} as {other}: {found:?}");
    }
    let (expression, outcome) = listed.first_key_value().context("there are differences")?;
    let mut fewer = listed.clone();
    fewer.remove(expression);
    ensure!(compare_ours(all, &fewer, ours).len() == 1, "{expression} is {outcome} here, and it is not found");
    Ok(())
}
