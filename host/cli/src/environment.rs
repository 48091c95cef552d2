use std::fmt;

/// The process environment, as far as a command reads it.
pub struct Environment(Variables);

enum Variables {
    OfProcess,
    Given(Vec<(String, String)>),
}

// === impl Environment ===

impl Environment {
    /// The environment of this process. A variable that is not UTF-8 is as one that is not set.
    pub fn of_process() -> Self {
        Self(Variables::OfProcess)
    }

    /// An environment of just these variables.
    pub fn of(variables: &[(&str, &str)]) -> Self {
        Self(Variables::Given(variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }

    /// What `name` says; nothing where it is not set or empty.
    pub fn get(&self, name: &str) -> Option<String> {
        let value = match &self.0 {
            Variables::OfProcess => std::env::var(name).ok(),
            Variables::Given(variables) => {
                variables.iter().find(|(set, _)| set == name).map(|(_, value)| value.clone())
            }
        };
        value.filter(|value| !value.is_empty())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}
