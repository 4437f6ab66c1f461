package shell

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// variableOf returns a variable, or one that the shell computes; nil if it is not set.
func (s *Shell) variableOf(name string) *variable {
	if v := s.vars[name]; v != nil {
		for range 10 { // references of references
			if !v.reference || s.vars[v.text] == nil {
				break
			}
			v = s.vars[v.text]
		}
		return v
	}
	text := func(value string) *variable { return &variable{set: true, text: value} }
	switch name {
	case "RANDOM":
		return text(strconv.Itoa(int(s.chance().Int32N(1 << 15))))
	case "SRANDOM":
		return text(strconv.FormatUint(uint64(s.chance().Uint32()), 10))
	case "SECONDS":
		return text(strconv.Itoa(int(s.Container.Now().Sub(s.began).Seconds())))
	case "EPOCHSECONDS":
		return text(strconv.FormatInt(s.Container.Now().Unix(), 10))
	case "LINENO":
		return text(strconv.FormatUint(uint64(s.line), 10))
	case "BASHPID":
		return text(strconv.Itoa(s.PID))
	case "PIPESTATUS":
		v := &variable{set: true, kind: indexed, elems: map[int]string{}}
		for i, status := range s.statuses {
			v.elems[i] = statusText(status)
		}
		if len(s.statuses) == 0 {
			v.elems[0] = statusText(s.status)
		}
		return v
	}
	return nil
}

// chance returns the generator of the shell's random numbers, which follow from its seed.
func (s *Shell) chance() *rand.Rand {
	if s.random == nil {
		s.random = rand.New(rand.NewPCG(s.Seed, 0)) // nothing to be kept secret
	}
	return s.random
}

// assign sets a variable to a text.
func (s *Shell) assign(name, value string) error {
	return s.change(name, func(v *variable) {
		value := v.convert(value)
		switch v.kind {
		case indexed:
			v.elems[0] = value
		case associative:
			v.keys["0"] = value
		default:
			v.text = value
		}
		v.set = true
	}, int64(len(value)))
}

// change changes a variable, whose memory grows by up to grown bytes.
func (s *Shell) change(name string, do func(v *variable), grown int64) error {
	v := s.vars[name]
	for range 10 {
		if v == nil || !v.reference {
			break
		}
		name = v.text
		v = s.vars[name]
	}
	if v == nil {
		if !validName(name) {
			return s.fail("%s: bad variable name", name)
		}
		v = &variable{}
	}
	if v.readonly {
		return s.fail("%s: is read only", name)
	}
	grown += variableBytes
	if err := s.Container.Reserve(grown); err != nil {
		return err
	}
	s.owned += grown
	v.reserved += grown
	if name == "RANDOM" {
		return nil
	}
	do(v)
	s.vars[name] = v
	if v.kind == scalar {
		s.settle(v)
	}
	switch {
	case s.options["allexport"]:
		v.exported = true
	case name == "OPTIND":
		s.optind, _ = strconv.Atoi(v.text)
	}
	return nil
}

// settle makes what a scalar has reserved equal to what it takes.
func (s *Shell) settle(v *variable) {
	excess := v.reserved - int64(len(v.text)+variableBytes)
	if excess > 0 {
		s.Container.Release(excess)
		s.owned -= excess
		v.reserved -= excess
	}
}

// forget releases a variable's memory.
func (s *Shell) forget(v *variable) {
	if v != nil {
		s.Container.Release(v.reserved)
		s.owned -= v.reserved
		v.reserved = 0
	}
}

// export marks a variable as inherited by programs.
func (s *Shell) export(name string) {
	if v := s.vars[name]; v != nil {
		v.exported = true
		return
	}
	s.vars[name] = &variable{exported: true}
}

// indexText returns an index that is one literal, such as @; "" for any other.
func indexText(index syntax.ArithmExpr) string {
	if word, ok := index.(*syntax.Word); ok {
		return word.Lit()
	}
	return ""
}

// assignment executes one assignment.
func (s *Shell) assignment(ctx context.Context, a *syntax.Assign) error {
	name := a.Name.Value
	if a.Array != nil {
		return s.assignArray(ctx, name, a)
	}
	value, err := s.assignedText(ctx, a.Value)
	if err != nil {
		return err
	}
	if a.Index != nil {
		return s.assignElement(ctx, name, a.Index, value, a.Append)
	}
	v := s.vars[name]
	if v != nil && v.integer {
		n, err := s.evaluate(ctx, value, 0)
		if errors.Is(err, errUnknownNumber) {
			return s.assign(name, unknown.Text)
		}
		if err != nil {
			return err
		}
		if a.Append {
			old, _ := v.single()
			before, _ := strconv.ParseInt(old, 10, 64)
			n += before
		}
		return s.assign(name, strconv.FormatInt(n, 10))
	}
	if a.Append && v != nil {
		old, _ := v.single()
		if err := s.hold(len(old) + len(value)); err != nil {
			return err
		}
		value = old + value
	}
	return s.assign(name, value)
}

// assignedText expands the value of an assignment, in which home directories follow colons, too.
func (s *Shell) assignedText(ctx context.Context, word *syntax.Word) (string, error) {
	if word == nil {
		return "", nil
	}
	if lit := word.Lit(); strings.Contains(lit, ":~") && !strings.Contains(lit, `\`) {
		var parts []string
		for _, part := range strings.Split(lit, ":") {
			text, err := s.text(ctx, &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: part}}})
			if err != nil {
				return "", err
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, ":"), nil
	}
	return s.text(ctx, word)
}

// toArray makes a variable an array.
func (v *variable) toArray(k kind) {
	if v.kind == k {
		return
	}
	if k == indexed {
		v.elems = map[int]string{}
		if v.set {
			v.elems[0] = v.text
		}
	} else {
		v.keys = map[string]string{}
	}
	v.kind, v.text = k, ""
}

func (s *Shell) assignElement(ctx context.Context, name string, index syntax.ArithmExpr, value string, appends bool) error {
	if v := s.variableOf(name); v != nil && v.kind == associative {
		key, err := s.key(ctx, index)
		if err != nil {
			return err
		}
		return s.change(name, func(v *variable) {
			if appends {
				value = v.keys[key] + value
			}
			v.keys[key], v.set = value, true
		}, int64(len(key)+len(value)))
	}
	n, err := s.arithmetic(ctx, index)
	if errors.Is(err, errUnknownNumber) {
		return nil // it is unknown which element changes
	}
	if err != nil {
		return err
	}
	if n < 0 {
		if indices := s.variableOf(name).indicesOrNone(); len(indices) > 0 {
			n += int64(indices[len(indices)-1]) + 1
		}
		if n < 0 {
			return s.fail("%s: bad array subscript", name)
		}
	}
	return s.change(name, func(v *variable) {
		v.toArray(indexed)
		if appends {
			value = v.elems[int(n)] + value
		}
		v.elems[int(n)], v.set = value, true
	}, int64(len(value)))
}

func (v *variable) indicesOrNone() []int {
	if v == nil {
		return nil
	}
	return v.indices()
}

// key returns the key of an associative array that an index is.
func (s *Shell) key(ctx context.Context, index syntax.ArithmExpr) (string, error) {
	if word, ok := index.(*syntax.Word); ok {
		return s.text(ctx, word)
	}
	n, err := s.arithmetic(ctx, index)
	return strconv.FormatInt(n, 10), err
}

// assignArray executes name=(...).
func (s *Shell) assignArray(ctx context.Context, name string, a *syntax.Assign) error {
	old := s.variableOf(name)
	k := indexed
	if old != nil && old.kind == associative {
		k = associative
	}
	fresh := &variable{kind: k, set: true, elems: map[int]string{}, keys: map[string]string{}}
	next, bytes := 0, int64(0)
	if a.Append && old != nil {
		c := old.clone()
		c.toArray(k)
		fresh.elems, fresh.keys = c.elems, c.keys
		if indices := c.indices(); len(indices) > 0 {
			next = indices[len(indices)-1] + 1
		}
	}
	for _, elem := range a.Array.Elems {
		if elem.Index == nil {
			values, err := s.fields(ctx, []*syntax.Word{elem.Value})
			if err != nil {
				return err
			}
			for _, value := range values {
				fresh.elems[next] = value
				next++
				bytes += int64(len(value)) + variableBytes
			}
			continue
		}
		value, err := s.text(ctx, elem.Value)
		if err != nil {
			return err
		}
		bytes += int64(len(value)) + variableBytes
		if k == associative {
			key, err := s.key(ctx, elem.Index)
			if err != nil {
				return err
			}
			fresh.keys[key] = value
			continue
		}
		n, err := s.arithmetic(ctx, elem.Index)
		if errors.Is(err, errUnknownNumber) {
			continue
		}
		if err != nil {
			return err
		}
		fresh.elems[int(n)] = value
		next = int(n) + 1
	}
	return s.change(name, func(v *variable) {
		v.kind, v.elems, v.keys, v.text, v.set = k, fresh.elems, fresh.keys, "", true
		if !a.Append {
			excess := v.reserved - bytes - variableBytes
			s.Container.Release(excess)
			s.owned -= excess
			v.reserved -= excess
		}
	}, bytes)
}

// setDir changes the working directory.
func (s *Shell) setDir(dir string) error {
	info, err := s.Container.Stat(dir)
	switch {
	case errors.Is(err, unknown.ErrFile):
		s.Container.Assume(unknown.Show(dir) + " is a directory")
	case err != nil:
		return err
	case !info.IsDir() && info.Mode()&fs.ModeIrregular == 0:
		return os.ErrInvalid
	}
	if err := s.assign("OLDPWD", s.Dir); err != nil {
		return err
	}
	s.Dir = dir
	return s.assign("PWD", dir)
}
