//! The little of Python that scripts assert in: `assert expression, message`, `name = expression`, `print(…)`.

use std::collections::BTreeMap;

/// A value: Python's int and float are one here, True is 1.
pub(crate) type Value = f64;

/// Names and their values.
pub(crate) type Names = BTreeMap<String, Value>;

/// Runs the code; `Err` says which statement fails and why. Assignments stay in `names`.
pub(crate) fn run(code: &str, names: &mut Names) -> Result<(), String> {
    for statement in code.split(['\n', ';']) {
        let statement = statement.split('#').next().unwrap_or_default().trim();
        if statement.is_empty() || statement.starts_with("print") || statement.starts_with("import ") {
            continue;
        }
        if let Some(rest) = statement.strip_prefix("assert") {
            let mut parser = Parser::new(rest, names)?;
            let value = parser.expression()?;
            if !parser.at_end() && !parser.take(",") {
                return Err(format!("{statement}: cannot read it beyond the expression"));
            }
            if value == 0.0 {
                return Err(format!("assertion failed: {}{}", rest.trim(), seen(rest, names)));
            }
        } else if let Some((name, rest)) = assignment(statement) {
            let value = Parser::new(rest, names)?.whole()?;
            names.insert(name.to_string(), value);
        } else {
            return Err(format!("{statement}: only assert, print and assignments are supported"));
        }
    }
    Ok(())
}

fn assignment(statement: &str) -> Option<(&str, &str)> {
    let (name, rest) = statement.split_once('=')?;
    let name = name.trim();
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (plain && !rest.starts_with('=')).then_some((name, rest))
}

/// The names in an expression with their values, for the message.
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

struct Parser<'a> {
    tokens: Vec<String>,
    at: usize,
    names: &'a Names,
}

/// Longest first.
const OPERATORS: [&str; 17] =
    ["<=", ">=", "==", "!=", "//", "**", "<", ">", "+", "-", "*", "/", "%", "(", ")", ",", "&"];

impl<'a> Parser<'a> {
    fn new(text: &str, names: &'a Names) -> Result<Self, String> {
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
                return Err(format!("{text}: {c:?} is not supported"));
            };
            tokens.push(rest[..length].to_string());
            rest = rest[length..].trim_start();
        }
        Ok(Parser { tokens, at: 0, names })
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

    fn whole(mut self) -> Result<Value, String> {
        let value = self.expression()?;
        if self.at_end() {
            Ok(value)
        } else {
            Err(format!("{:?} is not expected here", self.tokens[self.at]))
        }
    }

    fn expression(&mut self) -> Result<Value, String> {
        let mut value = self.conjunction()?;
        while self.take("or") {
            let right = self.conjunction()?;
            value = if value == 0.0 { right } else { value };
        }
        Ok(value)
    }

    fn conjunction(&mut self) -> Result<Value, String> {
        let mut value = self.negation()?;
        while self.take("and") {
            let right = self.negation()?;
            value = if value == 0.0 { value } else { right };
        }
        Ok(value)
    }

    fn negation(&mut self) -> Result<Value, String> {
        if self.take("not") {
            return Ok(f64::from(u8::from(self.negation()? == 0.0)));
        }
        // Comparisons chain: a <= b <= c.
        let mut left = self.sum()?;
        let (mut compared, mut holds) = (false, true);
        while let Some(op) = self.take_one_of(&["<=", ">=", "==", "!=", "<", ">"]) {
            let right = self.sum()?;
            compared = true;
            holds &= match op {
                "<=" => left <= right,
                ">=" => left >= right,
                // Integers, exact in a float.
                "==" => left.to_bits() == right.to_bits() || left - right == 0.0,
                "!=" => left - right != 0.0,
                "<" => left < right,
                _ => left > right,
            };
            left = right;
        }
        Ok(if compared { f64::from(u8::from(holds)) } else { left })
    }

    fn sum(&mut self) -> Result<Value, String> {
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

    fn product(&mut self) -> Result<Value, String> {
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

    fn unary(&mut self) -> Result<Value, String> {
        if self.take("-") {
            return Ok(-self.unary()?);
        }
        if self.take("(") {
            let value = self.expression()?;
            return if self.take(")") { Ok(value) } else { Err("( without )".into()) };
        }
        let Some(token) = self.tokens.get(self.at).cloned() else { return Err("an expression is missing".into()) };
        self.at += 1;
        if let Some(number) = crate::parse::integer(&token).map(|n| n as f64).or_else(|| token.parse().ok()) {
            return Ok(number);
        }
        if self.take("(") {
            return self.function(&token);
        }
        match token.as_str() {
            "True" => Ok(1.0),
            "False" => Ok(0.0),
            name => self.names.get(name).copied().ok_or_else(|| format!("{name} is not known here")),
        }
    }

    fn function(&mut self, name: &str) -> Result<Value, String> {
        let mut arguments = Vec::new();
        while !self.take(")") {
            arguments.push(self.expression()?);
            if !self.take(",") && self.tokens.get(self.at).is_none_or(|t| t != ")") {
                return Err(format!("{name}( without )"));
            }
        }
        match (name, arguments.as_slice()) {
            ("min", [first, rest @ ..]) => Ok(rest.iter().fold(*first, |a, b| a.min(*b))),
            ("max", [first, rest @ ..]) => Ok(rest.iter().fold(*first, |a, b| a.max(*b))),
            ("abs", [x]) => Ok(x.abs()),
            ("int", [x]) => Ok(x.trunc()),
            ("float", [x]) => Ok(*x),
            _ => Err(format!("function {name} of {} values is not supported", arguments.len())),
        }
    }
}

#[cfg(test)]
mod tests;
