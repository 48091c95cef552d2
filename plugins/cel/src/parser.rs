//! CEL's text as a syntax tree of the `cel` crate, with a place for each node.
//!
//! The crate has a parser of its own. It is not used here: it makes the component five times as large and an expression
//! twenty times as slow to read, which counts because an instance lives for one decision; and its faster one keeps no
//! places. That both read the same is held by a test.

use cel::common::ast::{
    CallExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, ListExpr, LiteralValue, MapEntryExpr, MapExpr, SelectExpr,
    operators,
};
use cel::common::types::{CelBytes, CelDouble, CelInt, CelString, CelUInt};

use crate::lexer::{Token, tokens};
use crate::macros;
use crate::source::{Problem, Source};

/// Bytes of one expression.
pub(crate) const MAX_TEXT: usize = 16 * 1024;
/// How deep an expression may be nested while it is read.
const MAX_NESTING: usize = 96;
/// How deep the tree may be: a sum of this many terms is as deep. It is evaluated on a stack of a known size.
const MAX_DEPTH: u16 = 400;

/// An expression that was read.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) expression: IdedExpr,
    pub(crate) source: Source,
}

/// Reads an expression; the first problem otherwise.
pub(crate) fn parse(text: &str) -> Result<Parsed, Problem> {
    if text.len() > MAX_TEXT {
        let message = format!("an expression has {MAX_TEXT} bytes at most, this one {}; use variables", text.len());
        return Err(Problem { line: 1, column: 1, message });
    }
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        at: 0,
        nesting: 0,
        builder: Builder { source: Source::new(text), depths: vec![0] },
    };
    let expression = parser.expression()?;
    match parser.peek() {
        Token::End => Ok(Parsed { expression, source: parser.builder.source }),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

/// Makes nodes. Macros use it too.
pub(crate) struct Builder {
    source: Source,
    depths: Vec<u16>,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, std::ops::Range<usize>)>,
    at: usize,
    nesting: usize,
    builder: Builder,
}

// === impl Builder ===

impl Builder {
    fn node(&mut self, start: usize, end: usize, expr: Expr) -> Result<IdedExpr, Problem> {
        let mut depth = 0;
        each_child(&expr, |child| depth = depth.max(self.depths.get(child.id as usize).copied().unwrap_or_default()));
        let id = self.source.add(start, end);
        self.depths.push(depth + 1);
        if depth >= MAX_DEPTH {
            let message = format!("the expression is more than {MAX_DEPTH} levels deep; use variables or a list");
            return Err(self.source.problem(id, message));
        }
        Ok(IdedExpr { id, expr })
    }

    /// A node that stands where the node `id` does.
    pub(crate) fn in_place_of(&mut self, id: u64, expr: Expr) -> Result<IdedExpr, Problem> {
        let (start, end) = self.source.span(id);
        self.node(start, end, expr)
    }

    /// A new id at the place of `id`, for the node that macros put over others.
    pub(crate) fn problem(&self, id: u64, message: impl Into<String>) -> Problem {
        self.source.problem(id, message)
    }
}

// === impl Parser ===

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn start(&self) -> usize {
        self.tokens[self.at].1.start
    }

    /// The end of what was read last.
    fn end(&self) -> usize {
        self.tokens[self.at.saturating_sub(1)].1.end
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].0.clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(found) if *found == sign);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Problem> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(sign)) }
    }

    fn unexpected(&self, wanted: &str) -> Problem {
        let found = match self.peek() {
            Token::End => "the expression ends here".to_owned(),
            _ => format!("{} cannot stand here", &self.text[self.tokens[self.at].1.clone()]),
        };
        Problem::at(self.text, self.start(), format!("{found}; expected {wanted}"))
    }

    fn node(&mut self, start: usize, expr: Expr) -> Result<IdedExpr, Problem> {
        self.builder.node(start, self.end(), expr)
    }

    fn call(&mut self, start: usize, function: &str, args: Vec<IdedExpr>) -> Result<IdedExpr, Problem> {
        self.node(start, Expr::Call(CallExpr { func_name: function.to_owned(), target: None, args }))
    }

    fn expression(&mut self) -> Result<IdedExpr, Problem> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            let message = format!("the expression is nested more than {MAX_NESTING} levels deep; use variables");
            return Err(Problem::at(self.text, self.start(), message));
        }
        let start = self.start();
        let mut expression = self.logic("||", operators::LOGICAL_OR)?;
        if self.takes("?") {
            let then = self.logic("||", operators::LOGICAL_OR)?;
            self.expect(":")?;
            let otherwise = self.expression()?;
            expression = self.call(start, operators::CONDITIONAL, vec![expression, then, otherwise])?;
        }
        self.nesting -= 1;
        Ok(expression)
    }

    /// A chain of `||` or `&&`, as a balanced tree: these may be long.
    fn logic(&mut self, sign: &str, function: &str) -> Result<IdedExpr, Problem> {
        let mut terms = vec![self.logic_term(sign)?];
        while self.takes(sign) {
            terms.push(self.logic_term(sign)?);
        }
        self.balanced(terms, function)
    }

    fn logic_term(&mut self, sign: &str) -> Result<IdedExpr, Problem> {
        if sign == "||" { self.logic("&&", operators::LOGICAL_AND) } else { self.relation() }
    }

    fn balanced(&mut self, mut terms: Vec<IdedExpr>, function: &str) -> Result<IdedExpr, Problem> {
        if terms.len() < 2 {
            return Ok(terms.remove(0));
        }
        let right = terms.split_off(terms.len().div_ceil(2));
        let (left, right) = (self.balanced(terms, function)?, self.balanced(right, function)?);
        let (start, end) = (self.builder.source.span(left.id).0, self.builder.source.span(right.id).1);
        let call = CallExpr { func_name: function.to_owned(), target: None, args: vec![left, right] };
        self.builder.node(start, end, Expr::Call(call))
    }

    fn relation(&mut self) -> Result<IdedExpr, Problem> {
        let start = self.start();
        let mut left = self.sum()?;
        loop {
            let function = match self.peek() {
                Token::Sign("<") => operators::LESS,
                Token::Sign("<=") => operators::LESS_EQUALS,
                Token::Sign(">") => operators::GREATER,
                Token::Sign(">=") => operators::GREATER_EQUALS,
                Token::Sign("==") => operators::EQUALS,
                Token::Sign("!=") => operators::NOT_EQUALS,
                Token::Identifier(word) if word == "in" => operators::IN,
                _ => return Ok(left),
            };
            self.next();
            let right = self.sum()?;
            left = self.call(start, function, vec![left, right])?;
        }
    }

    fn sum(&mut self) -> Result<IdedExpr, Problem> {
        let start = self.start();
        let mut left = self.product()?;
        loop {
            let function = match self.peek() {
                Token::Sign("+") => operators::ADD,
                Token::Sign("-") => operators::SUBSTRACT,
                _ => return Ok(left),
            };
            self.next();
            let right = self.product()?;
            left = self.call(start, function, vec![left, right])?;
        }
    }

    fn product(&mut self) -> Result<IdedExpr, Problem> {
        let start = self.start();
        let mut left = self.unary()?;
        loop {
            let function = match self.peek() {
                Token::Sign("*") => operators::MULTIPLY,
                Token::Sign("/") => operators::DIVIDE,
                Token::Sign("%") => operators::MODULO,
                _ => return Ok(left),
            };
            self.next();
            let right = self.unary()?;
            left = self.call(start, function, vec![left, right])?;
        }
    }

    /// `!` and `-` before a member; an even number of either is none.
    fn unary(&mut self) -> Result<IdedExpr, Problem> {
        let start = self.start();
        let Some(sign) = ["!", "-"].into_iter().find(|sign| self.takes(sign)) else { return self.member() };
        let mut count = 1;
        while self.takes(sign) {
            count += 1;
        }
        if sign == "-" && count == 1 && matches!(self.peek(), Token::Int(_) | Token::Double(_)) {
            let literal = self.literal(true)?;
            let literal = self.node(start, literal)?;
            return self.selections(start, literal);
        }
        let member = self.member()?;
        if count % 2 == 0 {
            return Ok(member);
        }
        let function = if sign == "!" { operators::LOGICAL_NOT } else { operators::NEGATE };
        self.call(start, function, vec![member])
    }

    fn member(&mut self) -> Result<IdedExpr, Problem> {
        let start = self.start();
        let primary = self.primary()?;
        self.selections(start, primary)
    }

    /// `.field`, `.?field`, `.method(…)`, `[index]` and `[?index]` after an operand.
    fn selections(&mut self, start: usize, mut operand: IdedExpr) -> Result<IdedExpr, Problem> {
        loop {
            if self.takes("[") {
                let function = if self.takes("?") { operators::OPT_INDEX } else { operators::INDEX };
                let index = self.expression()?;
                self.expect("]")?;
                operand = self.call(start, function, vec![operand, index])?;
            } else if self.takes(".") {
                operand = self.selection(start, operand)?;
            } else {
                return Ok(operand);
            }
        }
    }

    fn selection(&mut self, start: usize, operand: IdedExpr) -> Result<IdedExpr, Problem> {
        let is_optional = self.takes("?");
        let name_start = self.start();
        let (field, is_quoted) = match self.peek().clone() {
            Token::Identifier(name) if name != "in" => (name, false),
            Token::Quoted(name) => (name, true),
            _ => return Err(self.unexpected("the name of a field or a function")),
        };
        self.next();
        if is_optional {
            let name = Expr::Literal(LiteralValue::String(CelString::from(field)));
            let name = self.node(name_start, name)?;
            return self.call(start, operators::OPT_SELECT, vec![operand, name]);
        }
        if is_quoted || !self.takes("(") {
            return self.node(start, Expr::Select(SelectExpr { operand: Box::new(operand), field, test: false }));
        }
        let args = self.arguments(")")?;
        let call = self.node(start, Expr::Unspecified)?.id;
        macros::member(&mut self.builder, call, field, operand, args)
    }

    fn arguments(&mut self, close: &str) -> Result<Vec<IdedExpr>, Problem> {
        let mut arguments = Vec::new();
        if self.takes(close) {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            if self.takes(close) {
                return Ok(arguments);
            }
            self.expect(",")?;
        }
    }

    fn primary(&mut self) -> Result<IdedExpr, Problem> {
        let start = self.start();
        if self.takes("(") {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.takes("[") {
            let list = self.list()?;
            return self.node(start, list);
        }
        if self.takes("{") {
            let map = self.map()?;
            return self.node(start, map);
        }
        let is_absolute = self.takes(".");
        match self.peek().clone() {
            Token::Identifier(name) => self.identifier(start, name, is_absolute),
            _ if is_absolute => Err(self.unexpected("a name")),
            _ => {
                let literal = self.literal(false)?;
                self.node(start, literal)
            }
        }
    }

    fn identifier(&mut self, start: usize, name: String, is_absolute: bool) -> Result<IdedExpr, Problem> {
        if RESERVED.contains(&name.as_str()) {
            return Err(Problem::at(self.text, start, format!("{name} is a reserved word and cannot be a name")));
        }
        self.next();
        let literal = match name.as_str() {
            "true" | "false" if !is_absolute => LiteralValue::Boolean((name == "true").into()),
            "null" if !is_absolute => LiteralValue::Null,
            _ => {
                let name = if is_absolute { format!(".{name}") } else { name };
                if !self.takes("(") {
                    return self.node(start, Expr::Ident(name));
                }
                let args = self.arguments(")")?;
                let call = self.node(start, Expr::Unspecified)?.id;
                return macros::global(&mut self.builder, call, &name, args);
            }
        };
        self.node(start, Expr::Literal(literal))
    }

    fn literal(&mut self, is_negative: bool) -> Result<Expr, Problem> {
        let start = self.start();
        let problem = |message: &str| Err(Problem::at(self.text, start, message));
        let literal = match self.peek().clone() {
            Token::Int(value) if is_negative => LiteralValue::Int(CelInt::from((value as i64).wrapping_neg())),
            Token::Int(value) => match i64::try_from(value) {
                Ok(value) => LiteralValue::Int(CelInt::from(value)),
                Err(_) => return problem("the number does not fit into an int; write it with a u"),
            },
            Token::Uint(value) => LiteralValue::UInt(CelUInt::from(value)),
            Token::Double(value) => LiteralValue::Double(CelDouble::from(if is_negative { -value } else { value })),
            Token::Text(text) => LiteralValue::String(CelString::from(text)),
            Token::Bytes(bytes) => LiteralValue::Bytes(CelBytes::from(bytes)),
            _ => return Err(self.unexpected("a value")),
        };
        self.next();
        Ok(Expr::Literal(literal))
    }

    fn list(&mut self) -> Result<Expr, Problem> {
        let (mut elements, mut optional) = (Vec::new(), Vec::new());
        // The grammar has a comma in an empty list, too.
        if self.takes(",") {
            self.expect("]")?;
            return Ok(Expr::List(ListExpr::new(elements)));
        }
        while !self.takes("]") {
            if self.takes("?") {
                optional.push(elements.len());
            }
            elements.push(self.expression()?);
            if !self.takes(",") && !matches!(self.peek(), Token::Sign("]")) {
                return Err(self.unexpected(", or ]"));
            }
        }
        Ok(Expr::List(ListExpr::new_with_optionals(elements, optional)))
    }

    fn map(&mut self) -> Result<Expr, Problem> {
        let mut entries = Vec::new();
        while !self.takes("}") {
            let start = self.start();
            let optional = self.takes("?");
            let key = self.expression()?;
            self.expect(":")?;
            let value = self.expression()?;
            let id = self.node(start, Expr::Unspecified)?.id;
            entries.push(IdedEntryExpr { id, expr: EntryExpr::MapEntry(MapEntryExpr { key, value, optional }) });
            if !self.takes(",") && !matches!(self.peek(), Token::Sign("}")) {
                return Err(self.unexpected(", or }"));
            }
        }
        Ok(Expr::Map(MapExpr { entries }))
    }
}

/// Words that the language definition keeps for later.
const RESERVED: [&str; 18] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "package",
    "return",
    "var",
    "void",
    "while",
];

/// Calls `visit` with each direct part of `expr`.
pub(crate) fn each_child<'a>(expr: &'a Expr, mut visit: impl FnMut(&'a IdedExpr)) {
    match expr {
        Expr::Call(call) => {
            call.target.iter().for_each(|target| visit(target));
            call.args.iter().for_each(visit);
        }
        Expr::Comprehension(comprehension) => {
            visit(&comprehension.iter_range);
            visit(&comprehension.accu_init);
            visit(&comprehension.loop_cond);
            visit(&comprehension.loop_step);
            visit(&comprehension.result);
        }
        Expr::List(list) => list.elements.iter().for_each(visit),
        Expr::Map(map) => map.entries.iter().for_each(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => {
                visit(&entry.key);
                visit(&entry.value);
            }
            EntryExpr::StructField(field) => visit(&field.value),
        }),
        Expr::Select(select) => visit(&select.operand),
        Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
}

#[cfg(test)]
mod tests;
