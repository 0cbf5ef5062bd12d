//! Parses the text of a [`Script`].

use crate::error::{too_late, wrong, Result, LONGEST_S};
use crate::number::integer;
use crate::script::{Action, Call, Event, Script, When};
use crate::segment::parse_packet;
use cwndlab_units::Time;

/// Names of errors that socket calls return.
const ERRORS: [&str; 32] = [
    "EACCES",
    "EADDRINUSE",
    "EADDRNOTAVAIL",
    "EAFNOSUPPORT",
    "EAGAIN",
    "EALREADY",
    "EBADF",
    "ECONNABORTED",
    "ECONNREFUSED",
    "ECONNRESET",
    "EDESTADDRREQ",
    "EFAULT",
    "EHOSTUNREACH",
    "EINPROGRESS",
    "EINTR",
    "EINVAL",
    "EISCONN",
    "EMFILE",
    "EMSGSIZE",
    "ENETUNREACH",
    "ENOBUFS",
    "ENOMEM",
    "ENOPROTOOPT",
    "ENOTCONN",
    "ENOTSOCK",
    "EOPNOTSUPP",
    "EPERM",
    "EPIPE",
    "EPROTONOSUPPORT",
    "ETIMEDOUT",
    "EUNATCH",
    "EWOULDBLOCK",
];
const EVENTS: &str = "a system call, < or > and a segment, %{ code }% or a `command`";
const TIMES: &str = "a time in seconds (0.1, +.1, 0.1~0.2, +.1~+.2 or *)";

/// Parses a whole script.
pub(crate) fn parse(text: &str) -> Result<Script> {
    let text = without_comments(text)?;
    let mut reader = Reader { text: &text, at: 0, line: 1 };
    let mut script = Script::default();
    loop {
        reader.skip_space();
        let Some(next) = reader.peek() else { break };
        if next == '`' {
            let line = reader.line;
            let command = reader.quoted("`", "`")?;
            if script.events.is_empty() {
                script.setup.push((line, command));
            } else {
                // A command without a time after the first event restores settings at the script's end, so there is
                // nothing to do.
                drop(command);
            }
        } else if reader.rest().starts_with("--") {
            let (line, options) = (reader.line, reader.take_line());
            for option in options.split_whitespace() {
                script.options.set(line, option)?;
            }
        } else {
            let event = reader.event()?;
            script.events.push(event);
        }
    }
    if script.events.is_empty() {
        return wrong(reader.line, format!("the script has no events: expected {TIMES} and {EVENTS}"));
    }
    Ok(script)
}

/// Removes comments (`//`, `/* */` and, at the start of a line, `#`) but keeps line breaks, so that line numbers stay
/// correct. Code and commands are left as they are.
fn without_comments(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let (mut in_code, mut in_command) = (false, false);
    while let Some(c) = rest.chars().next() {
        let plain = !in_code && !in_command;
        if rest.starts_with("%{") {
            in_code = true;
        } else if rest.starts_with("}%") {
            in_code = false;
        } else if c == '`' && !in_code {
            in_command = !in_command;
        }
        let line_start = out.is_empty() || out.ends_with('\n');
        if plain && (rest.starts_with("//") || (c == '#' && line_start)) {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if plain && rest.starts_with("/*") {
            let Some(end) = rest[2..].find("*/").map(|at| at + 4) else {
                return wrong(out.matches('\n').count() + 1, "expected */ after /*, found the script's end");
            };
            out.extend(rest[..end].chars().filter(|c| *c == '\n'));
            rest = &rest[end..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    Ok(out)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn advance(&mut self, bytes: usize) -> String {
        let taken = self.text[self.at..self.at + bytes].to_string();
        self.line += taken.matches('\n').count();
        self.at += bytes;
        taken
    }

    fn skip_space(&mut self) {
        let space = self.rest().len() - self.rest().trim_start().len();
        self.advance(space);
    }

    fn take_line(&mut self) -> String {
        let end = self.rest().find('\n').unwrap_or(self.rest().len());
        self.advance(end)
    }

    /// Consumes the text from `open` to `close`, and returns the part between them.
    fn quoted(&mut self, open: &str, close: &str) -> Result<String> {
        let line = self.line;
        let Some(end) = self.rest()[open.len()..].find(close) else {
            return wrong(line, format!("expected {close} after {open}, found the script's end"));
        };
        self.advance(open.len());
        let inner = self.advance(end);
        self.advance(close.len());
        Ok(inner)
    }

    fn event(&mut self) -> Result<Event> {
        let when = self.when()?;
        self.skip_space();
        let mut end = None;
        if self.rest().starts_with("...") {
            self.advance(3);
            self.skip_space();
            if self.peek() == Some('+') {
                self.advance(1);
            }
            end = Some(self.seconds()?);
            self.skip_space();
        }
        let line = self.line;
        let action = match self.peek() {
            Some('<') => {
                self.advance(1);
                Action::Inject(parse_packet(line, &self.take_line())?)
            }
            Some('>') => {
                self.advance(1);
                Action::Expect(parse_packet(line, &self.take_line())?)
            }
            Some('%') if self.rest().starts_with("%{") => Action::Code(self.quoted("%{", "}%")?),
            Some('`') => Action::Command(self.quoted("`", "`")?),
            Some(c) if c.is_ascii_alphabetic() => Action::Call { call: self.call()?, end },
            _ => return wrong(line, format!("expected {EVENTS}, found {}", self.next_word())),
        };
        Ok(Event { line, when, action })
    }

    /// The next word on this line, for messages.
    fn next_word(&self) -> String {
        let line = self.rest().lines().next().unwrap_or_default();
        match line.split_whitespace().next() {
            Some(word) => format!("{word:?}"),
            None => "nothing".to_string(),
        }
    }

    /// Parses a time: `0.1`, `+.1`, `*`, `0.1~0.2` or `+.1~+.2`.
    fn when(&mut self) -> Result<When> {
        if self.peek() == Some('*') {
            self.advance(1);
            return Ok(When { relative: false, at: None, until: None });
        }
        let relative = self.peek() == Some('+');
        if relative {
            self.advance(1);
        }
        let at = self.seconds()?;
        let mut until = None;
        self.skip_blanks();
        if self.peek() == Some('~') {
            self.advance(1);
            self.skip_blanks();
            if relative {
                if self.peek() != Some('+') {
                    return wrong(self.line, format!("expected +a~+b, found {} after ~", self.next_word()));
                }
                self.advance(1);
            }
            until = Some(self.seconds()?);
            if until < Some(at) {
                return wrong(self.line, "expected a range of times, found one that ends before it begins");
            }
        }
        Ok(When { relative, at: Some(at), until })
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.advance(1);
        }
    }

    /// Parses decimal seconds; digits after the ninth decimal place are ignored.
    fn seconds(&mut self) -> Result<Time> {
        self.skip_blanks();
        let rest = self.rest();
        let mut end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        // The dots of an ellipsis are not a decimal point.
        if let Some(dots) = rest[..end].find("..") {
            end = dots;
        }
        let word = self.next_word();
        let digits = self.advance(end);
        let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
        let nanos = format!("{fraction:0<9}");
        let whole = if whole.is_empty() && !fraction.is_empty() { "0" } else { whole };
        match (whole.parse::<u64>(), nanos[..9].parse::<u64>()) {
            (Ok(seconds), Ok(_)) if seconds > LONGEST_S => too_late(self.line),
            (Ok(seconds), Ok(nanos)) => Ok(Time::from_secs(seconds) + Time::from_nanos(nanos)),
            _ => wrong(self.line, format!("expected {TIMES}, found {word}")),
        }
    }

    /// Parses a call: `name(a, b, [c], {d}) = 3 EINVAL (text)`.
    fn call(&mut self) -> Result<Call> {
        let line = self.line;
        let first = self.rest().lines().next().unwrap_or_default();
        let name = first.split('(').next().unwrap_or_default().trim().to_string();
        if !first.contains('(') || name.contains(char::is_whitespace) {
            return wrong(
                line,
                format!("expected a system call as in write(4, ..., 1000) = 1000, found {:?}", first.trim()),
            );
        }
        self.advance(first.find('(').unwrap_or_default());
        let mut depth = 0_i32;
        let mut length = None;
        for (i, c) in self.rest().char_indices() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                length = Some(i + 1);
                break;
            }
        }
        let Some(length) = length else {
            return wrong(line, format!("expected the ) of {name}(, found the script's end"));
        };
        let inside = self.advance(length);
        let arguments = split_arguments(&inside[1..inside.len() - 1]);
        self.skip_space();
        if self.peek() != Some('=') {
            return wrong(line, format!("expected = and its result after {name}(…), found {}", self.next_word()));
        }
        self.advance(1);
        let tail = self.take_line();
        let mut words = tail.split_whitespace();
        let result = match words.next() {
            Some("?") => None,
            Some(word) => match integer(word) {
                Some(n) => Some(n),
                None => return wrong(line, format!("{name}(…) = {word}: expected an integer or ?")),
            },
            None => return wrong(line, format!("{name}(…) = : expected an integer or ?")),
        };
        let errno = words.next().filter(|word| !word.starts_with('(')).map(str::to_string);
        let text = words.next().is_some_and(|word| word.starts_with('(')) && tail.trim_end().ends_with(')');
        if let Some(error) = &errno {
            if !ERRORS.contains(&error.as_str()) {
                return wrong(line, format!("{name}(…): expected an error's name such as EAGAIN, found {error:?}"));
            }
            if !text {
                return wrong(
                    line,
                    format!("{name}(…): expected the text of {error} in ( ) as in packetdrill, found none"),
                );
            }
        }
        Ok(Call { name, arguments, result, errno })
    }
}

/// Splits at commas outside brackets.
fn split_arguments(text: &str) -> Vec<String> {
    let (mut depth, mut current, mut arguments) = (0_i32, String::new(), Vec::new());
    for c in text.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                arguments.push(current.trim().to_string());
                current.clear();
                continue;
            }
            _ => {}
        }
        current.push(c);
    }
    if !current.trim().is_empty() || !arguments.is_empty() {
        arguments.push(current.trim().to_string());
    }
    arguments
}

#[cfg(test)]
mod tests;
