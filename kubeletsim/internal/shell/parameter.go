package shell

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// value is the value of a parameter: one text, or a list for $@ and $*.
type value struct {
	items []string
	set   bool
	list  bool
	// star makes one text of the items within quotes.
	star bool
	// name is the variable's name; empty for the positional and special parameters and array elements.
	name string
}

// first returns the value as one text.
func (v value) first(ifs string) string {
	if len(v.items) == 1 {
		return v.items[0]
	}
	return strings.Join(v.items, separator(ifs, v.star))
}

// separator returns the text between the joined items of a list.
func separator(ifs string, star bool) string {
	if !star {
		return " "
	}
	if ifs == "" {
		return ""
	}
	return ifs[:1]
}

// parameter adds a parameter expansion.
func (x *expansion) parameter(ctx context.Context, pe *syntax.ParamExp, quoted bool) error {
	v, err := x.valueOf(ctx, pe)
	if err != nil {
		return err
	}
	if !v.set && !v.list && x.imported && pe.Names == 0 && validName(pe.Param.Value) && (pe.Exp == nil || !defaults(pe.Exp.Op)) {
		v = value{items: []string{unknown.Text}, set: true}
	}
	if pe.Length {
		n := len(v.items)
		if !v.list && v.set && unknown.In(v.items[0]) {
			return x.result(ctx, unknown.Text, quoted)
		}
		if !v.list {
			n = 0
			if v.set {
				n = len([]rune(v.items[0]))
			}
		}
		return x.result(ctx, strconv.Itoa(n), quoted)
	}
	if done, err := x.conditional(ctx, pe, &v, quoted); done || err != nil {
		return err
	}
	if !v.set && !v.list && x.options["nounset"] && pe.Names == 0 {
		return x.fail("%s: parameter not set", pe.Param.Value)
	}
	if err := x.modify(ctx, pe, &v); err != nil {
		return err
	}
	return x.addValue(ctx, v, quoted)
}

// defaults reports whether an expansion says what an unset parameter stands for.
func defaults(op syntax.ParExpOperator) bool {
	switch op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return true
	}
	return false
}

// addValue adds a value's items.
func (x *expansion) addValue(ctx context.Context, v value, quoted bool) error {
	switch {
	case !v.list && !v.set && !quoted:
		return nil
	case !v.list:
		return x.result(ctx, v.first(x.ifs), quoted)
	case quoted && v.star || !x.split:
		text := v.first(x.ifs)
		if err := x.hold(len(text)); err != nil {
			return err
		}
		return x.add(text, quoted)
	}
	for i, item := range v.items {
		if i > 0 {
			x.end()
		}
		if err := x.result(ctx, item, quoted); err != nil {
			return err
		}
	}
	return nil
}

// conditional handles ${a-b} and the like. done is whether that was all.
func (x *expansion) conditional(ctx context.Context, pe *syntax.ParamExp, v *value, quoted bool) (done bool, err error) {
	if pe.Exp == nil {
		return false, nil
	}
	given := v.set
	switch pe.Exp.Op {
	case syntax.AlternateUnsetOrNull, syntax.DefaultUnsetOrNull, syntax.ErrorUnsetOrNull, syntax.AssignUnsetOrNull:
		given = given && v.first(x.ifs) != ""
	}
	switch pe.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if !given {
			return true, nil
		}
		return true, x.alternative(ctx, pe.Exp.Word, quoted)
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		if given {
			return false, nil
		}
		return true, x.alternative(ctx, pe.Exp.Word, quoted)
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if given {
			return false, nil
		}
		text, err := x.text(ctx, pe.Exp.Word)
		if err != nil {
			return true, err
		}
		if text == "" {
			text = "parameter not set or null"
		}
		return true, x.fail("%s: %s", pe.Param.Value, text)
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if given {
			return false, nil
		}
		text, err := x.text(ctx, pe.Exp.Word)
		if err != nil {
			return true, err
		}
		if pe.Index != nil {
			err = x.assignElement(ctx, pe.Param.Value, pe.Index, text, false)
		} else {
			err = x.assign(pe.Param.Value, text)
		}
		*v = value{items: []string{text}, set: true}
		return false, err
	}
	return false, nil
}

// alternative adds the word of ${a:-word}.
func (x *expansion) alternative(ctx context.Context, word *syntax.Word, quoted bool) error {
	if word == nil {
		if quoted {
			return x.add("", true)
		}
		return nil
	}
	x.within++
	defer func() { x.within-- }()
	return x.word(ctx, word.Parts, quoted, !quoted)
}

// valueOf looks a parameter up, with its index and indirection.
func (s *Shell) valueOf(ctx context.Context, pe *syntax.ParamExp) (value, error) {
	if pe.Param == nil || pe.Flags != nil || pe.NestedParam != nil {
		return value{}, s.fail("this form of parameter expansion is not simulated")
	}
	name := pe.Param.Value
	if pe.Names != 0 {
		var names []string
		for other := range s.vars {
			if strings.HasPrefix(other, name) {
				names = append(names, other)
			}
		}
		slices.Sort(names)
		return value{items: names, set: true, list: true, star: pe.Names == syntax.NamesPrefix}, nil
	}
	if pe.Excl {
		if index := indexText(pe.Index); index == "@" || index == "*" {
			return value{items: s.variableOf(name).names(), set: true, list: true, star: index == "*"}, nil
		}
		return s.indirect(ctx, pe)
	}
	return s.lookup(ctx, name, pe.Index)
}

// indirect looks up ${!name}.
func (s *Shell) indirect(ctx context.Context, pe *syntax.ParamExp) (value, error) {
	if v := s.vars[pe.Param.Value]; v != nil && v.reference {
		return value{items: []string{v.text}, set: true}, nil
	}
	v, err := s.lookup(ctx, pe.Param.Value, pe.Index)
	if err != nil || !v.set {
		return value{}, err
	}
	target := v.first(" ")
	name, index, isElement := strings.Cut(strings.TrimSuffix(target, "]"), "[")
	if !isElement {
		return s.lookup(ctx, target, nil)
	}
	if index == "@" || index == "*" {
		return value{items: s.variableOf(name).values(), set: true, list: true, star: index == "*"}, nil
	}
	return s.lookup(ctx, name, &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: index}}})
}

// lookup returns the value of a parameter.
func (s *Shell) lookup(ctx context.Context, name string, index syntax.ArithmExpr) (value, error) {
	one := func(text string) (value, error) { return value{items: []string{text}, set: true}, nil }
	switch name {
	case "@", "*":
		return value{items: s.params, set: len(s.params) > 0, list: true, star: name == "*"}, nil
	case "#":
		return one(strconv.Itoa(len(s.params)))
	case "?":
		return one(statusText(s.status))
	case "$":
		return one(strconv.Itoa(s.PID))
	case "!":
		if s.lastJob == 0 {
			return value{items: []string{""}}, nil
		}
		return one(strconv.Itoa(s.lastJob))
	case "-":
		return one(s.flags())
	case "0":
		return one(s.Name)
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n > 0 && n <= len(s.params) {
			return one(s.params[n-1])
		}
		return value{items: []string{""}}, nil
	}
	v := s.variableOf(name)
	if index == nil {
		text, set := v.single()
		return value{items: []string{text}, set: set, name: name}, nil
	}
	if text := indexText(index); text == "@" || text == "*" {
		items := v.values()
		return value{items: items, set: len(items) > 0, list: true, star: text == "*", name: name}, nil
	}
	text, set, err := s.element(ctx, v, index)
	return value{items: []string{text}, set: set}, err
}

// element returns an element of an array.
func (s *Shell) element(ctx context.Context, v *variable, index syntax.ArithmExpr) (string, bool, error) {
	if v != nil && v.kind == associative {
		key, err := s.key(ctx, index)
		text, set := v.keys[key]
		return text, set, err
	}
	n, err := s.arithmetic(ctx, index)
	if errors.Is(err, errUnknownNumber) {
		return unknown.Text, true, nil
	}
	if err != nil || v == nil {
		return "", false, err
	}
	if v.kind == scalar {
		return v.text, v.set && (n == 0 || n == -1), nil
	}
	if n < 0 {
		if indices := v.indices(); len(indices) > 0 {
			n += int64(indices[len(indices)-1]) + 1
		}
	}
	text, set := v.elems[int(n)]
	return text, set, nil
}

// positionals reports whether v is the value of $@ or $*.
func (v value) positionals() bool { return v.list && v.name == "" }
