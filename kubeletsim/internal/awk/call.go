package awk

import (
	"math"
	"math/rand/v2"
	"strings"
)

// call reads the arguments of a function that is built in, or the program's own.
func (p *parser) call(called string) operand {
	p.expect("(")
	var args []operand
	noIn, noGreater := p.noIn, p.noGreater
	p.noIn, p.noGreater = false, false
	for p.skipLines(); !p.is(")"); p.skipLines() {
		args = append(args, p.ternary())
		p.skipLines()
		if !p.accept(",") {
			break
		}
	}
	p.noIn, p.noGreater = noIn, noGreater
	p.expect(")")
	if limits, ok := map[string][2]int{
		"length": {0, 1}, "substr": {2, 3}, "index": {2, 2}, "split": {2, 3}, "sub": {2, 3}, "gsub": {2, 3}, "match": {2, 2}, "sprintf": {1, 1 << 20}, "tolower": {1, 1}, "toupper": {1, 1},
		"int": {1, 1}, "sqrt": {1, 1}, "exp": {1, 1}, "log": {1, 1}, "sin": {1, 1}, "cos": {1, 1}, "atan2": {2, 2}, "rand": {0, 0}, "srand": {0, 1}, "close": {1, 1}, "fflush": {0, 1},
	}[called]; ok {
		if len(args) < limits[0] || len(args) > limits[1] {
			p.fail("%s has %d arguments", called, len(args))
		}
		return operand{eval: func(in *interpreter) value { return in.builtin(called, args) }}
	}
	p.called = append(p.called, called)
	procedures := p.procedures
	return operand{eval: func(in *interpreter) value { return in.invoke(procedures[called], args) }}
}

func (in *interpreter) invoke(f *procedure, args []operand) value {
	if in.calls++; in.calls > maxCalls {
		in.fail("functions call each other too deep")
	}
	if len(args) > len(f.params) {
		in.fail("a function has too many arguments")
	}
	in.spend((len(f.params) + 1) * elementBytes)
	frame := make([]*cell, len(f.params))
	for i := range frame {
		frame[i] = &cell{}
		if i >= len(args) {
			continue
		}
		if names := args[i].names; names != nil {
			from := names(in)
			if frame[i].array = from.array; from.array == nil {
				frame[i].origin = from
			}
		}
		if frame[i].array == nil {
			in.set(frame[i], args[i].eval(in))
		}
	}
	before := in.frame
	in.frame, in.result = frame, value{}
	f.body(in)
	result := in.result
	in.frame, in.result = before, value{}
	in.calls--
	in.spend(len(result.text))
	for i, c := range frame {
		in.Host.Release(len(c.value.text))
		if c.origin == nil && (i >= len(args) || args[i].names == nil) {
			for key := range c.array {
				in.remove(c.array, key)
			}
		}
	}
	return result
}

func (in *interpreter) builtin(called string, args []operand) value {
	eval := func(i int) value { return args[i].eval(in) }
	text := func(i int) string { return in.str(eval(i)) }
	switch called {
	case "length":
		switch {
		case len(args) == 0:
			return num(float64(runes(in.record())))
		case args[0].names != nil && args[0].names(in).array != nil:
			return num(float64(len(args[0].names(in).array)))
		}
		return num(float64(runes(text(0))))
	case "substr":
		return in.substr(text(0), eval(1).num(), args)
	case "index":
		s, part := text(0), text(1)
		i := strings.Index(s, part)
		if i < 0 {
			return num(0)
		}
		return num(float64(runes(s[:i]) + 1))
	case "split":
		return in.splitInto(args)
	case "sub", "gsub":
		return in.replace(args, called == "gsub")
	case "match":
		s := text(0)
		start, length := 0, -1
		if bounds := in.find(in.pattern(args[1]), s); bounds != nil {
			start, length = runes(s[:bounds[0]])+1, runes(s[bounds[0]:bounds[1]])
		}
		in.set(in.rstart, num(float64(start)))
		in.set(in.rlength, num(float64(length)))
		return num(float64(start))
	case "sprintf":
		var list []expression
		for _, arg := range args {
			list = append(list, arg.eval)
		}
		return str(in.sprintf(list))
	case "tolower":
		s := text(0)
		in.spend(2 * len(s))
		return str(strings.ToLower(s))
	case "toupper":
		s := text(0)
		in.spend(2 * len(s))
		return str(strings.ToUpper(s))
	case "close":
		s := text(0)
		delete(in.readers, s)
		delete(in.writers, s)
		return num(0)
	case "fflush":
		return num(0)
	}
	return in.arithmetic(called, args, eval)
}

func (in *interpreter) arithmetic(called string, args []operand, eval func(i int) value) value {
	switch called {
	case "int":
		return num(math.Trunc(eval(0).num()))
	case "sqrt":
		return num(math.Sqrt(eval(0).num()))
	case "exp":
		return num(math.Exp(eval(0).num()))
	case "log":
		return num(math.Log(eval(0).num()))
	case "sin":
		return num(math.Sin(eval(0).num()))
	case "cos":
		return num(math.Cos(eval(0).num()))
	case "atan2":
		y := eval(0).num()
		return num(math.Atan2(y, eval(1).num()))
	case "rand":
		in.random++
		return num(rand.New(rand.NewPCG(in.random, 1)).Float64())
	}
	before := in.seed // srand
	in.seed = 0
	if len(args) > 0 {
		in.seed = eval(0).num()
	}
	in.random = in.Seed ^ math.Float64bits(in.seed)
	return num(before)
}

// substr returns the characters from one position on.
func (in *interpreter) substr(s string, from float64, args []operand) value {
	last := math.Inf(1)
	from = math.RoundToEven(from)
	if len(args) > 2 {
		last = from + math.RoundToEven(args[2].eval(in).num())
	}
	begin, stop, n := -1, len(s), 0
	for i := range s {
		if n++; begin < 0 && float64(n) >= from {
			begin = i
		}
		if float64(n) >= last {
			stop = i
			break
		}
	}
	if begin < 0 || begin >= stop || math.IsNaN(from) || math.IsNaN(last) {
		return str("")
	}
	return str(s[begin:stop])
}

func (in *interpreter) splitInto(args []operand) value {
	s := in.str(args[0].eval(in))
	var parts []string
	switch {
	case len(args) < 3:
		parts = in.parts(s, in.str(in.fs.value))
	case args[2].regexp != nil:
		if s != "" {
			in.spend(len(s) * 2)
			in.find(args[2].regexp, s)
			parts = args[2].regexp.Split(s, -1)
		}
	default:
		parts = in.parts(s, in.str(args[2].eval(in)))
	}
	if args[1].names == nil {
		in.fail("split needs an array")
	}
	elements := args[1].names(in).elements()
	for key := range elements {
		in.remove(elements, key)
	}
	for i, part := range parts {
		in.step()
		in.put(elements, numberText(float64(i+1), "%d"), input(part))
	}
	return num(float64(len(parts)))
}

func (in *interpreter) replace(args []operand, all bool) value {
	to := &place{field: func(*interpreter) value { return num(0) }}
	if len(args) > 2 {
		if to = args[2].place; to == nil {
			in.fail("a variable is needed to replace in")
		}
	}
	re, with := in.pattern(args[0]), in.str(args[1].eval(in))
	s, n := in.substitute(re, with, in.str(in.load(to)), all)
	if n > 0 {
		in.assign(to, str(s))
	}
	return num(float64(n))
}
