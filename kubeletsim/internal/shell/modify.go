package shell

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// modify applies what an expansion does to the value: ${a:1:2}, ${a/x/y}, ${a#x}, ${a^}.
func (x *expansion) modify(ctx context.Context, pe *syntax.ParamExp, v *value) error {
	switch {
	case pe.Slice != nil:
		return x.slice(ctx, pe, v)
	case !v.set:
		return nil
	case pe.Repl != nil:
		return x.replaceAll(ctx, pe.Repl, v)
	case pe.Exp != nil:
		return x.transform(ctx, pe, v)
	}
	return nil
}

// each replaces every item by the result of do.
func (x *expansion) each(v *value, do func(item string) (string, error)) error {
	items := make([]string, len(v.items))
	for i, item := range v.items {
		if unknown.In(item) {
			items[i] = unknown.Text
			continue
		}
		var err error
		if items[i], err = do(item); err != nil {
			return err
		}
	}
	v.items = items
	return nil
}

func (x *expansion) slice(ctx context.Context, pe *syntax.ParamExp, v *value) error {
	offset, err := x.arithmetic(ctx, pe.Slice.Offset)
	length, bounded := int64(0), pe.Slice.Length != nil
	if bounded && err == nil {
		length, err = x.arithmetic(ctx, pe.Slice.Length)
	}
	if errors.Is(err, errUnknownNumber) {
		v.items = []string{unknown.Text}
		return nil
	}
	if err != nil {
		return err
	}
	bounds := func(n int64) (from, to int64, ok bool) {
		if from = offset; from < 0 {
			from += n
		}
		if from < 0 || from > n {
			return 0, 0, false
		}
		to = n
		switch {
		case bounded && length < 0:
			to = n + length
		case bounded && length < n-from:
			to = from + length
		}
		return from, to, to >= from
	}
	if v.list {
		items := v.items
		if v.positionals() {
			items = append([]string{x.Name}, items...)
			if offset < 0 {
				offset += int64(len(items))
			}
		}
		if from, to, ok := bounds(int64(len(items))); ok {
			v.items = items[from:to]
		} else {
			v.items = nil
		}
		return nil
	}
	return x.each(v, func(item string) (string, error) {
		if !v.set {
			return "", nil
		}
		if err := x.hold(len(item)); err != nil {
			return "", err
		}
		from, to, ok := bounds(int64(utf8.RuneCountInString(item)))
		if !ok {
			return "", nil
		}
		return item[byteOf(item, from):byteOf(item, to)], nil
	})
}

// byteOf returns where the nth character of a text begins.
func byteOf(text string, n int64) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

func (x *expansion) replaceAll(ctx context.Context, r *syntax.Replace, v *value) error {
	pattern, err := x.pattern(ctx, r.Orig)
	if err != nil {
		return err
	}
	with, err := x.text(ctx, r.With)
	if err != nil {
		return err
	}
	anchor := byte(0)
	if !r.All && pattern != "" && (pattern[0] == '#' || pattern[0] == '%') {
		anchor, pattern = pattern[0], pattern[1:]
	}
	p, err := x.compile(pattern)
	if err != nil {
		return err
	}
	if pattern == "" && anchor == 0 {
		return nil
	}
	return x.each(v, func(item string) (string, error) { return x.replaceIn(ctx, item, p, with, anchor, r.All) })
}

func (x *expansion) replaceIn(ctx context.Context, text string, p *Pattern, with string, anchor byte, all bool) (string, error) {
	switch anchor {
	case '#':
		n, err := p.prefix(ctx, text, true)
		if err != nil || n < 0 {
			return text, err
		}
		return with + text[n:], x.hold(len(with) + len(text))
	case '%':
		n, err := suffix(ctx, p, text, true)
		if err != nil || n < 0 {
			return text, err
		}
		return text[:n] + with, x.hold(len(with) + len(text))
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if err := x.turn.Step(ctx); err != nil {
			return "", err
		}
		if p.literal { // the next occurrence is found at once
			next := strings.Index(text[i:], p.text)
			if next < 0 {
				return b.String() + text[i:], x.hold(len(text) - i)
			}
			if err := x.hold(next + len(with)); err != nil {
				return "", err
			}
			b.WriteString(text[i : i+next])
			b.WriteString(with)
			i += next + len(p.text)
		} else {
			n, err := p.prefix(ctx, text[i:], true)
			if err != nil {
				return "", err
			}
			if n <= 0 {
				_, size := firstRune(text[i:])
				if err := x.hold(size); err != nil {
					return "", err
				}
				b.WriteString(text[i : i+size])
				i += size
				continue
			}
			if err := x.hold(len(with)); err != nil {
				return "", err
			}
			b.WriteString(with)
			i += n
		}
		if !all {
			return b.String() + text[i:], x.hold(len(text) - i)
		}
	}
	return b.String(), nil
}

// suffix returns where the longest or shortest suffix that matches begins; -1 if none does.
func suffix(ctx context.Context, p *Pattern, text string, longest bool) (int, error) {
	if p.literal {
		if strings.HasSuffix(text, p.text) {
			return len(text) - len(p.text), nil
		}
		return -1, nil
	}
	turn := TurnOf(ctx)
	found := -1
	for i := len(text); i >= 0; i-- {
		if i < len(text) && !utf8.RuneStart(text[i]) {
			continue
		}
		if err := turn.Step(ctx); err != nil {
			return -1, err
		}
		matched, err := p.Match(ctx, text[i:])
		if err != nil {
			return -1, err
		}
		if matched {
			if found = i; !longest {
				return i, nil
			}
		}
	}
	return found, nil
}

// transform applies the operators that change texts.
func (x *expansion) transform(ctx context.Context, pe *syntax.ParamExp, v *value) error {
	switch pe.Exp.Op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		return x.remove(ctx, pe.Exp, v)
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return x.changeCase(ctx, pe.Exp, v)
	case syntax.OtherParamOps:
		op, err := x.text(ctx, pe.Exp.Word)
		if err != nil {
			return err
		}
		return x.each(v, func(item string) (string, error) {
			if err := x.hold(4*len(item) + 2); err != nil {
				return "", err
			}
			return x.operate(pe.Param.Value, op, item), nil
		})
	}
	return nil
}

// operate is ${a@Q} and the like.
func (x *expansion) operate(name, op, item string) string {
	switch op {
	case "Q":
		return quote(item)
	case "U":
		return strings.ToUpper(item)
	case "L":
		return strings.ToLower(item)
	case "u":
		return firstUpper(item)
	case "E":
		text, _ := escapes(item, ansiEscapes)
		return text
	case "A":
		return name + "=" + quote(item)
	case "a":
		return attributes(x.vars[name])
	}
	return item
}

func firstUpper(text string) string {
	r, n := firstRune(text)
	if n == 0 {
		return text
	}
	return string(unicode.ToUpper(r)) + text[n:]
}

func (x *expansion) remove(ctx context.Context, e *syntax.Expansion, v *value) error {
	pattern, err := x.pattern(ctx, e.Word)
	if err != nil {
		return err
	}
	p, err := x.compile(pattern)
	if err != nil {
		return err
	}
	return x.each(v, func(item string) (string, error) {
		longest := e.Op == syntax.RemLargePrefix || e.Op == syntax.RemLargeSuffix
		if e.Op == syntax.RemSmallPrefix || e.Op == syntax.RemLargePrefix {
			n, err := p.prefix(ctx, item, longest)
			return item[max(n, 0):], err
		}
		n, err := suffix(ctx, p, item, longest)
		if n < 0 {
			n = len(item)
		}
		return item[:n], err
	})
}

func (x *expansion) changeCase(ctx context.Context, e *syntax.Expansion, v *value) error {
	pattern, err := x.pattern(ctx, e.Word)
	if err != nil {
		return err
	}
	if pattern == "" {
		pattern = "?"
	}
	p, err := x.compile(pattern)
	if err != nil {
		return err
	}
	change := unicode.ToUpper
	if e.Op == syntax.LowerFirst || e.Op == syntax.LowerAll {
		change = unicode.ToLower
	}
	first := e.Op == syntax.UpperFirst || e.Op == syntax.LowerFirst
	return x.each(v, func(item string) (string, error) {
		if err := x.hold(2 * len(item)); err != nil {
			return "", err
		}
		var b strings.Builder
		for i, r := range item {
			matched, err := p.Match(ctx, string(r))
			if err != nil {
				return "", err
			}
			if matched && (i == 0 || !first) {
				r = change(r)
			}
			b.WriteRune(r)
		}
		return b.String(), nil
	})
}
