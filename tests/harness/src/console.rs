//! Command blocks of Markdown: what a reader types, and what it prints.
//!
//! A block begins with a fence of three backticks and the word `sh` or `console`. In one of `sh` each line is a command
//! (blank lines and comments apart). In one of `console` `$ ` begins a command (a `\` at the
//! end of a line goes on with the next), and the lines up to the next command are what it prints. A line
//! `# meanwhile in NAME: COMMAND` after a command that does not end by itself says what is done then, in that member.

/// One command of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleStep {
    /// Number of its line in the text, from 1.
    pub line: usize,
    /// What is typed, without `$ `.
    pub command: String,
    /// What is done while it runs: cluster and command.
    pub meanwhile: Option<(String, String)>,
    /// What it prints, line by line.
    pub printed: Vec<String>,
}

/// All commands of the `console` blocks of `markdown`, with what they print.
pub fn console_steps(markdown: &str) -> Vec<ConsoleStep> {
    let mut steps: Vec<ConsoleStep> = Vec::new();
    let mut inside = false;
    let mut goes_on = false;
    let mut first_of_block = 0;
    for (number, line) in (1..).zip(markdown.lines()) {
        if line.trim_start().starts_with("```") {
            inside = !inside && line.trim() == "```console";
            (goes_on, first_of_block) = (false, steps.len());
            continue;
        }
        if !inside {
            continue;
        }
        let command = if goes_on { Some(line.trim()) } else { line.strip_prefix("$ ") };
        let Some(text) = command else {
            if let Some(step) = steps[first_of_block..].last_mut() {
                step.follow(line);
            }
            continue;
        };
        let (text, more) = text.strip_suffix('\\').map_or((text, false), |text| (text.trim_end(), true));
        if goes_on && let Some(step) = steps.last_mut() {
            step.command = format!("{} {text}", step.command);
        } else {
            steps.push(ConsoleStep { line: number, command: text.to_owned(), meanwhile: None, printed: Vec::new() });
        }
        goes_on = more;
    }
    steps
}

/// All commands of `sh` and `console` blocks of `markdown` in the order in which they stand, as steps; those of `sh`
/// blocks do not say what they print.
pub fn shell_commands(markdown: &str) -> Vec<ConsoleStep> {
    let (mut inside, mut goes_on) = (false, false);
    let as_console = markdown.lines().map(|line| {
        if line.trim().starts_with("```") {
            inside = line.trim() == "```sh";
            return if inside { "```console".to_owned() } else { line.to_owned() };
        }
        let is_command = inside && !goes_on && !line.trim().is_empty() && !line.starts_with('#');
        goes_on = inside && line.ends_with('\\');
        if is_command { format!("$ {line}") } else { line.to_owned() }
    });
    console_steps(&as_console.collect::<Vec<_>>().join("\n"))
}

// === impl ConsoleStep ===

impl ConsoleStep {
    fn follow(&mut self, line: &str) {
        match line.strip_prefix("# meanwhile in ").and_then(|rest| rest.split_once(": ")) {
            Some((cluster, command)) => self.meanwhile = Some((cluster.to_owned(), command.to_owned())),
            None => self.printed.push(line.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_console_blocks_are_read_and_each_command_has_what_it_prints() {
        let text = "a\n```sh\n$ no\n```\n```console\nnobody's\n$ one \\\n    two\nx\n\ny\n$ three -w\n# meanwhile in west: do it\nz\n```\nb\n$ no\n";
        let steps = console_steps(text);
        let step = |line, command: &str, printed: &[&str]| ConsoleStep {
            line,
            command: command.to_owned(),
            meanwhile: None,
            printed: printed.iter().map(|&line| line.to_owned()).collect(),
        };
        let meanwhile = Some(("west".to_owned(), "do it".to_owned()));
        let watched = ConsoleStep { meanwhile, ..step(12, "three -w", &["z"]) };
        assert_eq!(steps, [step(7, "one two", &["x", "", "y"]), watched]);
    }

    #[test]
    fn shell_blocks_are_commands_without_their_comments() {
        let steps =
            shell_commands("```sh\n# why\na one\n\nb \\\n  two\n```\n```text\nno\n```\n```console\n$ c\nx\n```\n");
        let commands: Vec<&str> = steps.iter().map(|step| step.command.as_str()).collect();
        assert_eq!(commands, ["a one", "b two", "c"]);
        assert_eq!(steps[2].printed, ["x"]);
    }
}
