package awk

import (
	"fmt"
	"regexp"
	"slices"
)

// SyntaxError is a fault of the program's text.
type SyntaxError struct{ Why string }

func (e *SyntaxError) Error() string { return "syntax error: " + e.Why }

// UnsupportedError names what other implementations have.
type UnsupportedError struct{ What string }

func (e *UnsupportedError) Error() string { return e.What + " is not supported" }

const (
	// maxSource bounds a program, in bytes, and maxNesting how deep it nests.
	maxSource  = 256 << 10
	maxNesting = 200
	// maxRegexp bounds a regular expression.
	maxRegexp = 4 << 10
)

type (
	expression func(in *interpreter) value
	statement  func(in *interpreter) jump
)

// jump is the way in which a statement ends.
type jump int

const (
	goesOn jump = iota
	breaks
	continues
	nexts
	nextFiles
	exits
	returns
)

// operand is an expression; place is set if it can be assigned to.
type operand struct {
	eval  expression
	place *place
	// names is the variable that the operand is, which a function may use as an array.
	names func(in *interpreter) *cell
	// regexp is set for a regular expression alone, and grouped for a list in parentheses.
	regexp  *regexp.Regexp
	grouped []expression
}

// rule is a pattern with its action.
type rule struct {
	from, to expression
	action   statement
	within   bool
}

type procedure struct {
	params []string
	body   statement
}

// Program is a program that has been read.
type Program struct {
	begin, end []statement
	rules      []*rule
	procedures map[string]*procedure
}

type parser struct {
	lexer
	tok    token
	depth  int
	params []string
	// noIn and noGreater say that the operators in and > end an expression.
	noIn, noGreater bool
	called          []string
	Program
}

// Parse reads a program.
func Parse(source string) (program *Program, err error) {
	if len(source) > maxSource {
		return nil, &SyntaxError{"the program is too long"}
	}
	p := &parser{lexer: lexer{source: source}, Program: Program{procedures: map[string]*procedure{}}}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *SyntaxError:
			err = r
		case *UnsupportedError:
			err = r
		default:
			panic(r)
		}
	}()
	p.advance()
	for p.skipEnds(); p.tok.kind != end; p.skipEnds() {
		p.item()
	}
	for _, f := range p.called {
		if p.procedures[f] == nil {
			panic(&UnsupportedError{"the function " + f})
		}
	}
	return &p.Program, nil
}

func (p *parser) advance() { p.tok = p.next() }

func (p *parser) fail(format string, args ...any) { panic(&SyntaxError{fmt.Sprintf(format, args...)}) }

// is reports whether the next token is one of the operators or keywords.
func (p *parser) is(texts ...string) bool {
	return (p.tok.kind == operator || p.tok.kind == keyword) && slices.Contains(texts, p.tok.text)
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.fail("unexpected %s, expected %s", p.tok.text, text)
	}
}

func (p *parser) skipLines() {
	for p.tok.kind == newline {
		p.advance()
	}
}

func (p *parser) skipEnds() {
	for p.tok.kind == newline || p.is(";") {
		p.advance()
	}
}

// nested calls do one level deeper.
func (p *parser) nested() func() {
	if p.depth++; p.depth > maxNesting {
		p.fail("it nests too deep")
	}
	return func() { p.depth-- }
}

func (p *parser) item() {
	switch {
	case p.accept("BEGIN"):
		p.begin = append(p.begin, p.block())
	case p.accept("END"):
		p.end = append(p.end, p.block())
	case p.accept("function") || p.accept("func"):
		p.procedure()
	default:
		r := &rule{}
		if !p.is("{") {
			r.from = p.expr()
			if p.accept(",") {
				p.skipLines()
				r.to = p.expr()
			}
		}
		if p.is("{") {
			r.action = p.block()
		}
		p.rules = append(p.rules, r)
	}
}

func (p *parser) procedure() {
	called := p.tok.text
	if p.tok.kind != name && p.tok.kind != function || p.procedures[called] != nil {
		p.fail("unexpected %s", called)
	}
	p.advance()
	p.expect("(")
	f := &procedure{}
	for !p.is(")") {
		if p.tok.kind != name {
			p.fail("unexpected %s", p.tok.text)
		}
		f.params = append(f.params, p.tok.text)
		p.advance()
		if !p.accept(",") {
			break
		}
		p.skipLines()
	}
	p.expect(")")
	p.skipLines()
	p.procedures[called] = f
	p.params = f.params
	f.body = p.block()
	p.params = nil
}

func (p *parser) block() statement {
	p.skipLines()
	p.expect("{")
	list := p.statements()
	p.expect("}")
	return list
}

func (p *parser) statements() statement {
	var all []statement
	for p.skipEnds(); !p.is("}") && p.tok.kind != end; p.skipEnds() {
		all = append(all, p.statement())
	}
	return func(in *interpreter) jump {
		for _, s := range all {
			if j := in.do(s); j != goesOn {
				return j
			}
		}
		return goesOn
	}
}

// ended requires the end of a simple statement.
func (p *parser) ended() {
	if p.tok.kind == newline || p.is(";") {
		p.advance()
	} else if !p.is("}") && p.tok.kind != end {
		p.fail("unexpected %s", p.tok.text)
	}
}

// body is the statement of a loop or condition.
func (p *parser) body() statement {
	p.skipLines()
	if p.accept(";") {
		return func(*interpreter) jump { return goesOn }
	}
	return p.statement()
}

func (p *parser) statement() statement {
	defer p.nested()()
	switch {
	case p.is("{"):
		return p.block()
	case p.accept("if"):
		return p.ifStatement()
	case p.accept("while"):
		condition := p.parenthesized()
		return loop(condition, nil, p.body(), false)
	case p.accept("do"):
		body := p.body()
		p.skipEnds()
		p.expect("while")
		condition := p.parenthesized()
		p.ended()
		return loop(condition, nil, body, true)
	case p.accept("for"):
		return p.forStatement()
	}
	s := p.simple()
	p.ended()
	return s
}

func (p *parser) parenthesized() expression {
	p.expect("(")
	e := p.expr()
	p.expect(")")
	return e
}

func (p *parser) ifStatement() statement {
	condition := p.parenthesized()
	then, otherwise := p.body(), statement(nil)
	at, tok := p.at, p.tok
	p.skipEnds()
	if p.accept("else") {
		otherwise = p.body()
	} else {
		p.at, p.tok = at, tok
	}
	return func(in *interpreter) jump {
		switch {
		case condition(in).holds():
			return in.do(then)
		case otherwise != nil:
			return in.do(otherwise)
		}
		return goesOn
	}
}

// loop executes body while a condition holds, at least once if first says so.
func loop(condition expression, after, body statement, first bool) statement {
	return func(in *interpreter) jump {
		for ; first || condition == nil || condition(in).holds(); first = false {
			switch j := in.do(body); j {
			case goesOn, continues:
			case breaks:
				return goesOn
			default:
				return j
			}
			if after != nil {
				in.do(after)
			}
		}
		return goesOn
	}
}

func (p *parser) forStatement() statement {
	p.expect("(")
	if p.tok.kind == name {
		at, tok := p.at, p.tok
		variable := p.variable(p.tok.text)
		p.advance()
		if p.accept("in") && p.tok.kind == name {
			array := p.variable(p.tok.text)
			if p.advance(); p.accept(")") {
				return eachKey(variable, array, p.body())
			}
		}
		p.at, p.tok = at, tok
	}
	var begin, after statement
	var condition expression
	if !p.is(";") {
		begin = p.simple()
	}
	p.expect(";")
	p.skipLines()
	if !p.is(";") {
		condition = p.expr()
	}
	p.expect(";")
	p.skipLines()
	if !p.is(")") {
		after = p.simple()
	}
	p.expect(")")
	rounds := p.body()
	return func(in *interpreter) jump {
		if begin != nil {
			in.do(begin)
		}
		return loop(condition, after, rounds, false)(in)
	}
}

func eachKey(variable, array func(*interpreter) *cell, body statement) statement {
	return func(in *interpreter) jump {
		elements := array(in).elements()
		in.spend(len(elements) * elementBytes)
		for _, key := range keys(elements) {
			if _, there := elements[key]; !there {
				continue
			}
			in.set(variable(in), input(key))
			switch j := in.do(body); j {
			case goesOn, continues:
			case breaks:
				return goesOn
			default:
				return j
			}
		}
		return goesOn
	}
}

func ends(j jump) statement { return func(*interpreter) jump { return j } }

// simple is a statement that may also begin a for.
func (p *parser) simple() statement {
	switch {
	case p.accept("break"):
		return ends(breaks)
	case p.accept("continue"):
		return ends(continues)
	case p.accept("next"):
		return ends(nexts)
	case p.accept("nextfile"):
		return ends(nextFiles)
	case p.accept("exit"):
		result := p.optional()
		return func(in *interpreter) jump {
			if result != nil {
				in.code = int(result(in).num())
			}
			return exits
		}
	case p.accept("return"):
		result := p.optional()
		return func(in *interpreter) jump {
			in.result = value{}
			if result != nil {
				in.result = result(in)
			}
			return returns
		}
	case p.accept("delete"):
		return p.deletion()
	case p.is("print", "printf"):
		return p.print()
	}
	e := p.expr()
	return func(in *interpreter) jump {
		e(in)
		return goesOn
	}
}

func (p *parser) optional() expression {
	if p.tok.kind == newline || p.tok.kind == end || p.is(";", "}") {
		return nil
	}
	return p.expr()
}

func (p *parser) deletion() statement {
	if p.tok.kind != name {
		p.fail("unexpected %s", p.tok.text)
	}
	array := p.variable(p.tok.text)
	if p.advance(); !p.accept("[") {
		return func(in *interpreter) jump {
			for key := range array(in).elements() {
				in.remove(array(in).elements(), key)
			}
			return goesOn
		}
	}
	key := p.index()
	return func(in *interpreter) jump {
		in.remove(array(in).elements(), key(in))
		return goesOn
	}
}

// index reads the keys of an element up to the bracket.
func (p *parser) index() func(in *interpreter) string {
	list := p.list("]")
	if len(list) == 0 {
		p.fail("an index is missing")
	}
	return joined(list)
}

func joined(list []expression) func(in *interpreter) string {
	return func(in *interpreter) string {
		key := in.str(list[0](in))
		for _, e := range list[1:] {
			key = in.concat(key, in.subsep.value.text, in.str(e(in)))
		}
		return key
	}
}

// list reads expressions up to a closing text.
func (p *parser) list(closing string) []expression {
	noIn, noGreater := p.noIn, p.noGreater
	p.noIn, p.noGreater = false, false
	defer func() { p.noIn, p.noGreater = noIn, noGreater }()
	var all []expression
	for p.skipLines(); !p.is(closing); p.skipLines() {
		all = append(all, p.expr())
		p.skipLines()
		if !p.accept(",") {
			break
		}
	}
	p.noIn, p.noGreater = noIn, noGreater
	p.expect(closing)
	return all
}

func (p *parser) print() statement {
	formatted := p.tok.text == "printf"
	p.advance()
	var list []expression
	p.noGreater = true
	if p.optionalOperand() {
		first := p.ternary()
		list = append(list, first.eval)
		if first.grouped != nil {
			list = first.grouped
		}
		for p.accept(",") {
			p.skipLines()
			list = append(list, p.ternary().eval)
		}
	}
	p.noGreater = false
	if p.is("|") {
		panic(&UnsupportedError{"a pipe to a command"})
	}
	if formatted && len(list) == 0 {
		p.fail("printf needs a format")
	}
	var to expression
	appends := p.is(">>")
	if p.accept(">") || p.accept(">>") {
		to = p.concatenation().eval
	}
	return func(in *interpreter) jump {
		out := in.printed(list, formatted)
		if to == nil {
			in.write(in.out, out)
		} else {
			in.write(in.target(in.str(to(in)), appends), out)
		}
		return goesOn
	}
}

func (p *parser) optionalOperand() bool {
	return p.tok.kind != newline && p.tok.kind != end && !p.is(";", "}", ">", ">>", "|")
}

// variable returns the function that finds the cell of a name.
func (p *parser) variable(called string) func(in *interpreter) *cell {
	if i := slices.Index(p.params, called); i >= 0 {
		return func(in *interpreter) *cell { return in.frame[i] }
	}
	return func(in *interpreter) *cell { return in.global(called) }
}
