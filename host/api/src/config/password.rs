use serde::Deserialize;

/// A password. It is shown nowhere, so that a configuration may be.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Password(String);

// === impl Password ===

impl Password {
    /// The password that `text` is, as it stands in a file: without the line's end.
    pub fn new(text: &str) -> Self {
        Self(text.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// The password itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(a password)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_loses_the_end_of_its_line_and_is_not_shown() {
        let password = Password::new(" se cret \r\n");
        assert_eq!(password.reveal(), " se cret ");
        assert!(!format!("{password:?}").contains("cret"));
    }
}
