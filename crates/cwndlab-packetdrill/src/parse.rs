//! From text to [`Script`].

use crate::script::{Action, Call, Event, Script, ScriptError, When};
use crate::segment::parse_packet;
use cwndlab_units::Time;

/// packetdrill's default tolerance.
const TOLERANCE: Time = Time::from_micros(4_000);

pub(crate) type Result<T> = std::result::Result<T, ScriptError>;

pub(crate) fn syntax<T>(line: usize, message: impl Into<String>) -> Result<T> {
    Err(ScriptError { line, message: message.into(), unsupported: false })
}

pub(crate) fn unsupported<T>(line: usize, message: impl Into<String>) -> Result<T> {
    Err(ScriptError { line, message: message.into(), unsupported: true })
}

/// Parses a whole script.
pub(crate) fn parse(text: &str) -> Result<Script> {
    let text = without_comments(text);
    let mut reader = Reader { text: &text, at: 0, line: 1 };
    let mut script = Script { tolerance: TOLERANCE, ..Script::default() };
    loop {
        reader.skip_space();
        let Some(next) = reader.peek() else { break };
        if next == '`' {
            let command = reader.quoted("`", "`")?;
            if script.events.is_empty() {
                script.setup.push(command);
            } else {
                // A command without a time, as the last restores settings: nothing to do.
                drop(command);
            }
        } else if reader.rest().starts_with("--") {
            let (line, option) = (reader.line, reader.take_line());
            option_line(line, option.trim(), &mut script)?;
        } else {
            let event = reader.event()?;
            script.events.push(event);
        }
    }
    Ok(script)
}

fn option_line(line: usize, option: &str, script: &mut Script) -> Result<()> {
    if let Some(us) = option.strip_prefix("--tolerance_usecs=") {
        script.tolerance = match us.trim().parse() {
            Ok(us) => Time::from_micros(us),
            Err(_) => return syntax(line, format!("{option}: expected microseconds, as in --tolerance_usecs=4000")),
        };
    }
    // The others tell the tool about addresses and interfaces.
    Ok(())
}

/// Blanks `//`, `/* */` and, where a line begins with it, `#`, keeping the lines. Code and commands keep their `#`.
fn without_comments(text: &str) -> String {
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
            let end = rest.find("*/").map_or(rest.len(), |i| i + 2);
            out.extend(rest[..end].chars().filter(|c| *c == '\n'));
            rest = &rest[end..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
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

    /// What stands between `open` and `close`, both taken.
    fn quoted(&mut self, open: &str, close: &str) -> Result<String> {
        let line = self.line;
        let Some(end) = self.rest()[open.len()..].find(close) else {
            return syntax(line, format!("{open} without {close}"));
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
            Some('%') => Action::Code(self.quoted("%{", "}%")?),
            Some('`') => Action::Command(self.quoted("`", "`")?),
            Some(c) if c.is_ascii_alphabetic() => Action::Call { call: self.call()?, end },
            _ => return syntax(line, "expected a system call, < or > and a segment, %{ code }% or a `command`"),
        };
        Ok(Event { line, when, action })
    }

    /// `0.1`, `+.1`, `*`, `0.1~0.2`, `+.1~+.2`
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
                    return syntax(self.line, "a range of relative times is written +a~+b");
                }
                self.advance(1);
            }
            until = Some(self.seconds()?);
        }
        Ok(When { relative, at: Some(at), until })
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.advance(1);
        }
    }

    /// Decimal seconds; digits after the point are exact.
    fn seconds(&mut self) -> Result<Time> {
        self.skip_blanks();
        let rest = self.rest();
        let mut end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        // The dots of an ellipsis are no decimal point.
        if let Some(dots) = rest[..end].find("..") {
            end = dots;
        }
        let digits = self.advance(end);
        let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
        let nanos = format!("{fraction:0<9}");
        let whole = if whole.is_empty() && !fraction.is_empty() { "0" } else { whole };
        match (whole.parse::<u64>(), nanos[..9].parse::<u64>()) {
            (Ok(seconds), Ok(nanos)) => Ok(Time::from_secs(seconds) + Time::from_nanos(nanos)),
            _ => syntax(self.line, format!("expected a time in seconds, found {digits:?}")),
        }
    }

    /// `name(a, b, [c], {d}) = 3 EINVAL (text)`
    fn call(&mut self) -> Result<Call> {
        let line = self.line;
        let Some(open) = self.rest().find('(') else { return syntax(line, "expected a system call with ( )") };
        let name = self.advance(open).trim().to_string();
        let mut depth = 0_usize;
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
        let Some(length) = length else { return syntax(line, format!("{name}( without its )")) };
        let inside = self.advance(length);
        let arguments = split_arguments(&inside[1..inside.len() - 1]);
        self.skip_space();
        if self.peek() != Some('=') {
            return syntax(line, format!("{name}(…) needs = and its result"));
        }
        self.advance(1);
        let tail = self.take_line();
        let mut words = tail.split_whitespace();
        let result = match words.next() {
            Some("?") => None,
            Some(word) => match integer(word) {
                Some(n) => Some(n),
                None => return syntax(line, format!("{name}(…) = {word}: expected an integer or ?")),
            },
            None => return syntax(line, format!("{name}(…) = : expected an integer or ?")),
        };
        let errno = words.next().filter(|w| w.starts_with('E')).map(str::to_string);
        Ok(Call { name, arguments, result, errno })
    }
}

/// A decimal or hexadecimal integer.
pub(crate) fn integer(word: &str) -> Option<i64> {
    match word.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
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
