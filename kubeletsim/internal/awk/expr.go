package awk

import (
	"math"
	"slices"
	"strings"
)

// place is the target of an assignment: a variable, an element of an array, or a field.
type place struct {
	cell  func(in *interpreter) *cell
	key   func(in *interpreter) string
	field expression
}

func (p *parser) expr() expression { return p.ternary().eval }

func (p *parser) ternary() operand {
	defer p.nested()()
	left := p.or()
	if p.is("|") && !p.noGreater { // print has its own pipe
		panic(&UnsupportedError{"a pipe from a command"})
	}
	if left.place != nil && p.is("=", "+=", "-=", "*=", "/=", "%=", "^=") {
		op := strings.TrimSuffix(p.tok.text, "=")
		p.advance()
		p.skipLines()
		right := p.ternary().eval
		to := left.place
		return operand{eval: func(in *interpreter) value {
			if op == "" {
				v := right(in)
				return in.assign(to, v)
			}
			v := right(in).num()
			return in.assign(to, num(arithmetic(in, op, in.load(to).num(), v)))
		}}
	}
	if !p.accept("?") {
		return left
	}
	p.skipLines()
	then := p.ternary().eval
	p.skipLines()
	p.expect(":")
	p.skipLines()
	otherwise, condition := p.ternary().eval, left.eval
	return operand{eval: func(in *interpreter) value {
		if condition(in).holds() {
			return then(in)
		}
		return otherwise(in)
	}}
}

func arithmetic(in *interpreter, op string, a, b float64) float64 {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "^":
		return math.Pow(a, b)
	}
	if b == 0 {
		in.fail("division by zero")
	}
	if op == "%" {
		return math.Mod(a, b)
	}
	return a / b
}

func (p *parser) or() operand {
	left := p.and()
	for p.accept("||") {
		p.skipLines()
		a, b := left.eval, p.and().eval
		left = operand{eval: func(in *interpreter) value { return truth(a(in).holds() || b(in).holds()) }}
	}
	return left
}

func (p *parser) and() operand {
	left := p.membership()
	for p.accept("&&") {
		p.skipLines()
		a, b := left.eval, p.membership().eval
		left = operand{eval: func(in *interpreter) value { return truth(a(in).holds() && b(in).holds()) }}
	}
	return left
}

func (p *parser) membership() operand {
	left := p.match()
	for !p.noIn && p.accept("in") {
		if p.tok.kind != name {
			p.fail("unexpected %s", p.tok.text)
		}
		array := p.variable(p.tok.text)
		p.advance()
		list := left.grouped
		if list == nil {
			list = []expression{left.eval}
		}
		key := joined(list)
		left = operand{eval: func(in *interpreter) value {
			_, there := array(in).elements()[key(in)]
			return truth(there)
		}}
	}
	return left
}

func (p *parser) match() operand {
	left := p.comparison()
	for p.is("~", "!~") {
		negated := p.tok.text == "!~"
		p.advance()
		a, right := left.eval, p.comparison()
		left = operand{eval: func(in *interpreter) value {
			text := in.str(a(in))
			return truth(in.matches(in.pattern(right), text) != negated)
		}}
	}
	return left
}

func (p *parser) comparison() operand {
	left := p.concatenation()
	if !p.is("<", "<=", "==", "!=", ">=", ">") || p.noGreater && p.is(">") {
		return left
	}
	op := p.tok.text
	p.advance()
	a, b := left.eval, p.concatenation().eval
	return operand{eval: func(in *interpreter) value {
		x := a(in)
		c := compare(x, b(in))
		switch op {
		case "<":
			return truth(c < 0)
		case "<=":
			return truth(c <= 0)
		case "==":
			return truth(c == 0)
		case "!=":
			return truth(c != 0)
		case ">=":
			return truth(c >= 0)
		}
		return truth(c > 0)
	}}
}

// begins reports whether the next token begins an operand that is concatenated with the one before.
func (p *parser) begins() bool {
	switch p.tok.kind {
	case number, text, name, function:
		return true
	}
	return p.is("$", "!", "(", "-", "+", "++", "--")
}

func (p *parser) concatenation() operand {
	left := p.additive()
	for p.begins() && !p.is("+", "-") {
		a, b := left.eval, p.additive().eval
		left = operand{eval: func(in *interpreter) value {
			x := in.str(a(in))
			return str(in.concat(x, in.str(b(in))))
		}}
	}
	return left
}

// binary reads operators of the same precedence.
func (p *parser) binary(inner func() operand, ops ...string) operand {
	left := inner()
	for p.is(ops...) {
		op := p.tok.text
		p.advance()
		a, b := left.eval, inner().eval
		left = operand{eval: func(in *interpreter) value {
			x := a(in).num()
			return num(arithmetic(in, op, x, b(in).num()))
		}}
	}
	return left
}

func (p *parser) additive() operand { return p.binary(p.multiplicative, "+", "-") }

func (p *parser) multiplicative() operand { return p.binary(p.unary, "*", "/", "%") }

func (p *parser) unary() operand {
	defer p.nested()()
	for _, op := range []string{"!", "-", "+"} {
		if p.accept(op) {
			inner := p.unary().eval
			return operand{eval: func(in *interpreter) value {
				switch v := inner(in); op {
				case "!":
					return truth(!v.holds())
				case "-":
					return num(-v.num())
				default:
					return num(v.num())
				}
			}}
		}
	}
	return p.power()
}

func (p *parser) power() operand {
	base := p.postfix()
	if !p.accept("^") {
		return base
	}
	a, b := base.eval, p.unary().eval
	return operand{eval: func(in *interpreter) value {
		x := a(in).num()
		return num(math.Pow(x, b(in).num()))
	}}
}

func (p *parser) postfix() operand {
	if p.is("++", "--") {
		by := map[string]float64{"++": 1, "--": -1}[p.tok.text]
		p.advance()
		to := p.primary().place
		if to == nil {
			p.fail("a variable is expected")
		}
		return operand{eval: func(in *interpreter) value { return in.assign(to, num(in.load(to).num()+by)) }}
	}
	o := p.primary()
	if to := o.place; to != nil && p.is("++", "--") {
		by := map[string]float64{"++": 1, "--": -1}[p.tok.text]
		p.advance()
		return operand{eval: func(in *interpreter) value {
			old := in.load(to).num()
			in.assign(to, num(old+by))
			return num(old)
		}}
	}
	return o
}

func (p *parser) assignable(to *place) operand {
	return operand{eval: func(in *interpreter) value { return in.load(to) }, place: to}
}

func (p *parser) primary() operand {
	defer p.nested()()
	tok := p.tok
	switch {
	case p.is("/", "/="):
		p.tok = p.regexp(tok.text)
		re := compile(p.tok.text)
		p.advance()
		return operand{regexp: re, eval: func(in *interpreter) value { return truth(in.matches(re, in.record())) }}
	case p.accept("$"):
		inner := p.postfixOfField()
		return p.assignable(&place{field: inner})
	case p.accept("("):
		list := p.list(")")
		switch {
		case len(list) == 0:
			p.fail("unexpected )")
		case len(list) == 1:
			return operand{eval: list[0]}
		}
		return operand{eval: func(in *interpreter) value { return str(joined(list)(in)) }, grouped: list}
	case p.accept("getline"):
		return p.getline()
	}
	p.advance()
	switch tok.kind {
	case number:
		return operand{eval: func(*interpreter) value { return num(tok.number) }}
	case text:
		return operand{eval: func(*interpreter) value { return str(tok.text) }}
	case function:
		return p.call(tok.text)
	case name:
		if tok.text == "length" && !slices.Contains(p.params, tok.text) {
			return operand{eval: func(in *interpreter) value { return num(float64(runes(in.record()))) }}
		}
		variable := p.variable(tok.text)
		if p.accept("[") {
			return p.assignable(&place{cell: variable, key: p.index()})
		}
		o := p.assignable(&place{cell: variable})
		o.names = variable
		return o
	}
	p.fail("unexpected %s", tok.text)
	return operand{}
}

// postfixOfField reads the number of a field, which binds closer than any other operator.
func (p *parser) postfixOfField() expression {
	if p.accept("-") {
		inner := p.primary().eval
		return func(in *interpreter) value { return num(-inner(in).num()) }
	}
	if p.is("++", "--") {
		return p.postfix().eval
	}
	return p.primary().eval
}

// getline reads a record from the input or, with <, from a file.
func (p *parser) getline() operand {
	var to *place
	if p.tok.kind == name || p.is("$") {
		to = p.primary().place
	}
	var from expression
	if p.accept("<") {
		from = p.primary().eval
	}
	return operand{eval: func(in *interpreter) value {
		if from == nil {
			return num(in.getline(to, nil))
		}
		return num(in.getline(to, in.source(in.str(from(in)))))
	}}
}
