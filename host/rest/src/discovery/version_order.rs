use std::cmp::Ordering;

/// Compares two API versions by Kubernetes' own priority, the one to prefer first: GA before beta before alpha, then the
/// higher major, then the higher minor (`v2, v1, v1beta2, v1beta1, v1alpha1`); other texts come last, in the order of
/// their bytes (AM pkg/version/helpers.go).
pub(super) fn preferred_first(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// (stability, major, minor), the larger the more preferred.
fn parse(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (major, rest) = rest.split_at(digits);
    let major = major.parse().ok()?;
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let (stability, minor) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
        (Some(minor), _) => (1, minor),
        (_, Some(minor)) => (0, minor),
        _ => return None,
    };
    let decimal = minor.bytes().all(|byte| byte.is_ascii_digit());
    Some((stability, major, minor.parse().ok().filter(|_| decimal)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_kubernetes_own_order() {
        let mut versions = [
            "v1alpha1",
            "foo1",
            "v1beta1",
            "v10",
            "v1",
            "v2",
            "v11beta2",
            "v3alpha1",
            "foo10",
            "v12alpha1",
            "v11alpha2",
            "v1beta2",
            "v1beta",
        ];
        versions.sort_by(|a, b| preferred_first(a, b));
        assert_eq!(
            versions.join(" "),
            "v10 v2 v1 v11beta2 v1beta2 v1beta1 v12alpha1 v11alpha2 v3alpha1 v1alpha1 foo1 foo10 v1beta"
        );
    }
}
