//! The subset of Python that scripts use in assertions: `assert expression, message`, `name = expression`, `print(…)`.

use std::collections::BTreeMap;

/// A value. Python's int and float are the same type here, and True is 1.
pub(crate) type Value = f64;

/// Names and their values.
pub(crate) type Names = BTreeMap<String, Value>;

/// A statement that fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    /// The statement's line, counted from 0 at the first line of the code.
    pub line: usize,
    pub message: String,
    /// Whether the statement needs something that is not supported. Otherwise it is malformed, or its assertion is
    /// false.
    pub unsupported: bool,
}

/// Why a statement fails.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Reason {
    Wrong(String),
    Unsupported(String),
}

use Reason::{Unsupported, Wrong};

/// Runs the code. Assignments are stored in `names`. `Err` states which statement fails and why.
pub(crate) fn run(code: &str, names: &mut Names) -> Result<(), Failure> {
    for (line, statement) in statements(code) {
        execute(&statement, names).map_err(|reason| match reason {
            Wrong(message) => Failure { line, message, unsupported: false },
            Unsupported(message) => Failure { line, message, unsupported: true },
        })?;
    }
    Ok(())
}

/// Splits code into its statements, each with the line where it begins. Newlines and semicolons separate them, except
/// inside strings and brackets; comments are removed.
fn statements(code: &str) -> Vec<(usize, String)> {
    let (mut found, mut current) = (Vec::new(), String::new());
    let (mut line, mut began, mut depth, mut quote, mut comment) = (0, 0, 0_i32, None, false);
    for c in code.chars().chain(['\n']) {
        let ends = match (quote, c) {
            (_, '\n') => depth <= 0,
            (Some(_), _) => false,
            (None, c) => c == ';' && !comment,
        };
        if ends {
            let statement = std::mem::take(&mut current);
            if !statement.trim().is_empty() {
                found.push((began, statement.trim().to_string()));
            }
            (quote, depth) = (None, 0);
        } else if !comment {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, '(' | '[' | '{') => depth += 1,
                (None, ')' | ']' | '}') => depth -= 1,
                _ => {}
            }
            if current.trim().is_empty() {
                began = line;
            }
            if quote.is_none() && c == '#' {
                comment = true;
            } else {
                current.push(c);
            }
        }
        if c == '\n' {
            line += 1;
            comment = false;
        }
    }
    if !current.trim().is_empty() {
        found.push((began, current.trim().to_string()));
    }
    found
}

fn execute(statement: &str, names: &mut Names) -> Result<(), Reason> {
    if statement.starts_with("print") || statement.starts_with("import ") {
        return Ok(());
    }
    if let Some(rest) = statement.strip_prefix("assert") {
        let mut parser = Parser::new(rest, names)?;
        let value = parser.expression()?;
        if !parser.at_end() && !parser.take(",") {
            let (found, rest) = (&parser.tokens[parser.at], rest.trim());
            return Err(Wrong(format!("assert {rest}: expected an operator or the end, found {found:?}")));
        }
        let expression = parser.tokens[..parser.at - usize::from(!parser.at_end())].join(" ");
        if value == 0.0 {
            return Err(Wrong(format!("assertion failed: {expression}{}", seen(&expression, names))));
        }
        return Ok(());
    }
    let Some((name, operator, rest)) = assignment(statement) else {
        return Err(Unsupported(format!("expected assert, print or name = value, found {statement:?}")));
    };
    let mut value = Parser::new(rest, names)?.whole()?;
    if let Some(operator) = operator {
        value = Parser::new(&format!("{name} {operator} {value:?}"), names)?.whole()?;
    }
    names.insert(name.to_string(), value);
    Ok(())
}

/// Splits `name = value` or `name += value` into name, operator (`+`) and value; `None` for other statements.
fn assignment(statement: &str) -> Option<(&str, Option<&str>, &str)> {
    let (name, rest) = statement.split_once('=')?;
    let operator = ["//", "+", "-", "*", "/", "%"].into_iter().find(|operator| name.ends_with(operator));
    let name = name.strip_suffix(operator.unwrap_or_default())?.trim();
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (plain && !rest.starts_with('=')).then_some((name, operator, rest))
}

/// The names of `tcp_info` fields in an expression with their values, for messages.
fn seen(expression: &str, names: &Names) -> String {
    let mut shown: Vec<&str> = Vec::new();
    for word in expression.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if word.starts_with("tcpi_") && !shown.contains(&word) {
            shown.push(word);
        }
    }
    let values: Vec<String> = shown.iter().filter_map(|n| names.get(*n).map(|v| format!("{n} = {v}"))).collect();
    if values.is_empty() {
        String::new()
    } else {
        format!(" (found {})", values.join(", "))
    }
}

/// Each level of brackets, signs and `not` uses stack space, so the number of levels is limited.
const MAX_DEPTH: u32 = 50;

struct Parser<'a> {
    tokens: Vec<String>,
    at: usize,
    depth: u32,
    names: &'a Names,
}

/// Operators, brackets and the comma. Longer operators come first, so that `<=` is not parsed as `<`.
const OPERATORS: [&str; 17] =
    ["<=", ">=", "==", "!=", "//", "**", "<", ">", "+", "-", "*", "/", "%", "(", ")", ",", "&"];

impl<'a> Parser<'a> {
    fn new(text: &str, names: &'a Names) -> Result<Self, Reason> {
        let mut tokens = Vec::new();
        let mut rest = text.trim_start();
        while let Some(c) = rest.chars().next() {
            let length = if c.is_alphanumeric() || c == '_' || c == '.' {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').unwrap_or(rest.len())
            } else if c == '"' || c == '\'' {
                rest[1..].find(c).map_or(rest.len(), |i| i + 2)
            } else if let Some(op) = OPERATORS.iter().find(|op| rest.starts_with(**op)) {
                op.len()
            } else {
                return Err(Wrong(format!("{}: expected a value or an operator, found {c:?}", text.trim())));
            };
            tokens.push(rest[..length].to_string());
            rest = rest[length..].trim_start();
        }
        Ok(Parser { tokens, at: 0, depth: 0, names })
    }

    fn at_end(&self) -> bool {
        self.at == self.tokens.len()
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|t| t == token);
        self.at += usize::from(found);
        found
    }

    fn take_one_of(&mut self, tokens: &[&'static str]) -> Option<&'static str> {
        tokens.iter().find(|t| self.take(t)).copied()
    }

    fn whole(mut self) -> Result<Value, Reason> {
        let value = self.expression()?;
        if self.at_end() {
            Ok(value)
        } else {
            Err(Wrong(format!("expected an operator or the end, found {:?}", self.tokens[self.at])))
        }
    }

    fn expression(&mut self) -> Result<Value, Reason> {
        let mut value = self.conjunction()?;
        while self.take("or") {
            let right = self.conjunction()?;
            value = if value == 0.0 { right } else { value };
        }
        Ok(value)
    }

    fn conjunction(&mut self) -> Result<Value, Reason> {
        let mut value = self.negation()?;
        while self.take("and") {
            let right = self.negation()?;
            value = if value == 0.0 { value } else { right };
        }
        Ok(value)
    }

    /// Parses with `inner`, one level deeper.
    fn nested(&mut self, inner: impl FnOnce(&mut Self) -> Result<Value, Reason>) -> Result<Value, Reason> {
        if self.depth == MAX_DEPTH {
            return Err(Unsupported(format!("expressions may be nested at most {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let value = inner(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn negation(&mut self) -> Result<Value, Reason> {
        if self.take("not") {
            return Ok(f64::from(u8::from(self.nested(Self::negation)? == 0.0)));
        }
        // Comparisons may be chained: a <= b <= c.
        let mut left = self.sum()?;
        let (mut compared, mut holds) = (false, true);
        while let Some(op) = self.take_one_of(&["<=", ">=", "==", "!=", "<", ">"]) {
            let right = self.sum()?;
            compared = true;
            holds &= match op {
                "<=" => left <= right,
                ">=" => left >= right,
                // An exact comparison is right: scripts compare integers, which a float represents exactly.
                "==" => left.to_bits() == right.to_bits() || left - right == 0.0,
                "!=" => left - right != 0.0,
                "<" => left < right,
                _ => left > right,
            };
            left = right;
        }
        Ok(if compared { f64::from(u8::from(holds)) } else { left })
    }

    fn sum(&mut self) -> Result<Value, Reason> {
        let mut value = self.product()?;
        while let Some(op) = self.take_one_of(&["+", "-", "&"]) {
            let right = self.product()?;
            value = match op {
                "+" => value + right,
                "-" => value - right,
                _ => ((value as i64) & (right as i64)) as f64,
            };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Value, Reason> {
        let mut value = self.unary()?;
        while let Some(op) = self.take_one_of(&["*", "//", "/", "%"]) {
            let right = self.unary()?;
            value = match op {
                "*" => value * right,
                "/" => value / right,
                "//" => (value / right).floor(),
                _ => value - right * (value / right).floor(),
            };
        }
        Ok(value)
    }

    fn unary(&mut self) -> Result<Value, Reason> {
        if self.take("-") {
            return Ok(-self.nested(Self::unary)?);
        }
        if self.take("(") {
            let value = self.nested(Self::expression)?;
            return if self.take(")") { Ok(value) } else { Err(Wrong("expected ) after (, found none".into())) };
        }
        let Some(token) = self.tokens.get(self.at).cloned() else {
            return Err(Wrong("expected a value, found the end".into()));
        };
        self.at += 1;
        if let Some(number) = crate::number::integer(&token).map(|n| n as f64).or_else(|| token.parse().ok()) {
            return Ok(number);
        }
        if self.take("(") {
            return self.function(&token);
        }
        match token.as_str() {
            "True" => Ok(1.0),
            "False" => Ok(0.0),
            name => self.names.get(name).copied().ok_or_else(|| unknown(name, self.names)),
        }
    }

    fn function(&mut self, name: &str) -> Result<Value, Reason> {
        let mut arguments = Vec::new();
        while !self.take(")") {
            arguments.push(self.nested(Self::expression)?);
            if !self.take(",") && self.tokens.get(self.at).is_none_or(|t| t != ")") {
                return Err(Wrong(format!("expected ) after {name}(, found none")));
            }
        }
        match (name, arguments.as_slice()) {
            ("min", [first, rest @ ..]) => Ok(rest.iter().fold(*first, |a, b| a.min(*b))),
            ("max", [first, rest @ ..]) => Ok(rest.iter().fold(*first, |a, b| a.max(*b))),
            ("abs", [x]) => Ok(x.abs()),
            ("int", [x]) => Ok(x.trunc()),
            ("float", [x]) => Ok(*x),
            _ => {
                let count = arguments.len();
                Err(Unsupported(format!("expected min, max, abs, int or float, found {name} of {count} values")))
            }
        }
    }
}

/// The reason why a statement fails that uses a name without a value.
fn unknown(name: &str, names: &Names) -> Reason {
    if !name.starts_with("tcpi_") {
        return Wrong(format!("{name} has no value here"));
    }
    let there: Vec<&str> = names.keys().map(String::as_str).filter(|name| name.starts_with("tcpi_")).collect();
    if there.is_empty() {
        Wrong(format!("{name} has no value before there is a connection"))
    } else {
        Unsupported(format!("the endpoint has no {name}; it has {}", there.join(", ")))
    }
}

#[cfg(test)]
mod tests;
