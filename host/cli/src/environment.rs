use std::fmt;

/// The process environment, as far as a command reads it.
pub struct Environment(Box<dyn Fn(&str) -> Option<String> + Send + Sync>);

// === impl Environment ===

impl Environment {
    /// The environment of this process. A variable that is not UTF-8 is as one that is not set.
    pub fn of_process() -> Self {
        Self(Box::new(|name| std::env::var(name).ok()))
    }

    /// An environment of just these variables.
    pub fn of(variables: &[(&str, &str)]) -> Self {
        let owned: Vec<_> = variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self(Box::new(move |name| owned.iter().find(|(set, _)| set == name).map(|(_, value)| value.clone())))
    }

    /// What `name` says; nothing where it is not set or empty.
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}
