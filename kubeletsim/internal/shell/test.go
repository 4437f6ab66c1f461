package shell

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// maxTestDepth bounds how deep tests nest.
const maxTestDepth = 500

// testClause evaluates [[ ... ]].
func (s *Shell) testClause(ctx context.Context, expr syntax.TestExpr, depth int) (truth, error) {
	if depth > maxTestDepth {
		return truth{}, s.fail("a test is nested too deeply")
	}
	switch expr := expr.(type) {
	case *syntax.Word:
		text, err := s.text(ctx, expr)
		return unless(text != "", true, text), err
	case *syntax.ParenTest:
		return s.testClause(ctx, expr.X, depth+1)
	case *syntax.UnaryTest:
		if expr.Op == syntax.TsNot {
			holds, err := s.testClause(ctx, expr.X, depth+1)
			return holds.not(), err
		}
		word, ok := expr.X.(*syntax.Word)
		if !ok {
			return truth{}, s.fail("syntax error in a test")
		}
		text, err := s.text(ctx, word)
		if err != nil {
			return truth{}, err
		}
		return s.testUnary(expr.Op.String(), text), nil
	case *syntax.BinaryTest:
		if expr.Op == syntax.AndTest || expr.Op == syntax.OrTest {
			left, err := s.testClause(ctx, expr.X, depth+1)
			if err != nil || !left.unknown && left.holds == (expr.Op == syntax.OrTest) {
				return left, err
			}
			right, err := s.testClause(ctx, expr.Y, depth+1)
			if expr.Op == syntax.OrTest {
				return left.or(right), err
			}
			return left.and(right), err
		}
		return s.testWords(ctx, expr)
	}
	return truth{}, s.fail("syntax error in a test")
}

// testWords evaluates a binary operator of [[ ]].
func (s *Shell) testWords(ctx context.Context, expr *syntax.BinaryTest) (truth, error) {
	left, okLeft := expr.X.(*syntax.Word)
	right, okRight := expr.Y.(*syntax.Word)
	if !okLeft || !okRight {
		return truth{}, s.fail("syntax error in a test")
	}
	a, err := s.text(ctx, left)
	if err != nil {
		return truth{}, err
	}
	switch expr.Op {
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
		matched, err := s.matches(ctx, right, a)
		if expr.Op == syntax.TsNoMatch {
			matched = matched.not()
		}
		return matched, err
	case syntax.TsReMatch:
		return s.matchRegexp(ctx, a, right)
	}
	b, err := s.text(ctx, right)
	if err != nil {
		return truth{}, err
	}
	switch expr.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		x, err := s.evaluate(ctx, a, 0)
		y := int64(0)
		if err == nil {
			y, err = s.evaluate(ctx, b, 0)
		}
		if errors.Is(err, errUnknownNumber) {
			return assumed(assumedOrder(expr.Op.String())), nil
		}
		return known(ordered(expr.Op.String(), x, y)), err
	}
	holds, _, err := s.testBinary(a, expr.Op.String(), b)
	return holds, err
}

// maxRegexp bounds a regular expression, whose program takes far more memory than its text.
const maxRegexp = 4 << 10

func (s *Shell) matchRegexp(ctx context.Context, text string, word *syntax.Word) (truth, error) {
	x := s.newExpansion(false)
	if err := x.word(ctx, word.Parts, false, false); err != nil {
		return truth{}, err
	}
	var b strings.Builder
	for _, p := range x.cur {
		if p.quoted {
			b.WriteString(regexp.QuoteMeta(p.text))
		} else {
			b.WriteString(p.text)
		}
	}
	if b.Len() > maxRegexp {
		return truth{}, s.fail("a regular expression is longer than %d bytes", maxRegexp)
	}
	re, err := regexp.Compile(b.String())
	if err != nil {
		return truth{}, s.fail("a regular expression has a syntax error")
	}
	re.Longest()
	groups, err := FindSubmatch(ctx, re, text)
	if err != nil {
		return truth{}, err
	}
	holds := unless(groups != nil, true, text, b.String())
	if holds.unknown {
		groups = slices.Repeat([]string{unknown.Text}, re.NumSubexp()+1)
	}
	elems := map[int]string{}
	bytes := int64(0)
	for i, group := range groups {
		elems[i] = group
		bytes += int64(len(group)) + variableBytes
	}
	err = s.change("BASH_REMATCH", func(v *variable) { v.kind, v.elems, v.set = indexed, elems, true }, bytes)
	return holds, err
}

// testUnary evaluates operators such as -f and -z.
func (s *Shell) testUnary(op, arg string) truth {
	switch op {
	case "-z":
		return unless(arg == "", false, arg)
	case "-n":
		return unless(arg != "", true, arg)
	case "-o":
		return known(s.options[arg])
	case "-t":
		return known(false)
	case "-v":
		return known(s.isSet(arg))
	case "-R":
		v := s.vars[arg]
		return known(v != nil && v.reference)
	}
	return s.testFile(op, arg)
}

// isSet reports whether a variable, or an element of an array, has a value.
func (s *Shell) isSet(arg string) bool {
	name, index, element := strings.Cut(strings.TrimSuffix(arg, "]"), "[")
	v := s.variableOf(name)
	if !element {
		_, set := v.single()
		return set
	}
	if v == nil {
		return false
	}
	n, _ := strconv.Atoi(index)
	_, inKeys := v.keys[index]
	_, inElems := v.elems[n]
	return inKeys || inElems
}

func (s *Shell) testFile(op, arg string) truth {
	if arg == "" {
		return known(false)
	}
	look := s.Container.Stat
	if op == "-L" || op == "-h" {
		look = s.Container.Lstat
	}
	info, err := look(s.absolute(arg))
	if errors.Is(err, unknown.ErrFile) && s.awaits() {
		return known(false)
	}
	if errors.Is(err, unknown.ErrFile) || err == nil && info.Mode()&fs.ModeIrregular != 0 && op != "-e" {
		s.Container.Assume(unknown.Show(s.absolute(arg)) + " exists")
		return assumed(true)
	}
	return known(err == nil && fileIs(op, info))
}

// fileIs evaluates operators such as -f for a file.
func fileIs(op string, info fs.FileInfo) bool {
	switch mode := info.Mode(); op {
	case "-L", "-h":
		return mode&fs.ModeSymlink != 0
	case "-f":
		return mode.IsRegular()
	case "-d":
		return mode.IsDir()
	case "-c":
		return mode&fs.ModeCharDevice != 0
	case "-b":
		return mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0
	case "-p":
		return mode&fs.ModeNamedPipe != 0
	case "-S":
		return mode&fs.ModeSocket != 0
	case "-k":
		return mode&fs.ModeSticky != 0
	case "-g":
		return mode&fs.ModeSetgid != 0
	case "-u":
		return mode&fs.ModeSetuid != 0
	case "-s":
		return info.Size() > 0
	case "-x":
		return mode.IsDir() || mode.Perm()&0o111 != 0
	case "-N":
		return false
	}
	return true // root may read and write everything, and owns it
}

func ordered(op string, a, b int64) bool {
	switch op {
	case "-eq":
		return a == b
	case "-ne":
		return a != b
	case "-lt":
		return a < b
	case "-le":
		return a <= b
	case "-gt":
		return a > b
	}
	return a >= b
}

// assumedOrder reports whether an order is assumed to hold between numbers of which one is unknown: they are
// assumed to be equal.
func assumedOrder(op string) bool { return ordered(op, 0, 0) }

// testBinary evaluates a binary operator; ok is false if there is none of that name.
func (s *Shell) testBinary(a, op, b string) (holds truth, ok bool, err error) {
	switch op {
	case "=", "==":
		return unless(a == b, true, a, b), true, nil
	case "!=":
		return unless(a != b, false, a, b), true, nil
	case "<":
		return unless(a < b, false, a, b), true, nil
	case ">":
		return unless(a > b, false, a, b), true, nil
	case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
		if unknown.In(a) || unknown.In(b) {
			return assumed(assumedOrder(op)), true, nil
		}
		x, errX := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
		y, errY := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
		bad := a
		if errX == nil {
			bad = b
		}
		if errX != nil || errY != nil {
			return truth{}, true, &badTest{bad + ": bad number"}
		}
		return known(ordered(op, x, y)), true, nil
	case "-nt", "-ot", "-ef":
		x, errX := s.Container.Stat(s.absolute(a))
		y, errY := s.Container.Stat(s.absolute(b))
		if errors.Is(errX, unknown.ErrFile) || errors.Is(errY, unknown.ErrFile) {
			return assumed(true), true, nil
		}
		switch op {
		case "-nt":
			return known(errX == nil && (errY != nil || x.ModTime().After(y.ModTime()))), true, nil
		case "-ot":
			return known(errY == nil && (errX != nil || x.ModTime().Before(y.ModTime()))), true, nil
		}
		return known(errX == nil && errY == nil && (s.absolute(a) == s.absolute(b) || os.SameFile(x, y))), true, nil
	}
	return truth{}, false, nil
}

// badTest is an error in the arguments of test.
type badTest struct{ text string }

func (e *badTest) Error() string { return e.text }

// testArgs evaluates the arguments of test.
type testArgs struct {
	*Shell
	args  []string
	depth int
}

func testBuiltin(s *Shell, _ context.Context, args []string) (int, error) {
	name, args := args[0], args[1:]
	if name == "[" {
		if len(args) == 0 || args[len(args)-1] != "]" {
			s.complain("missing ]")
			return 2, nil
		}
		args = args[:len(args)-1]
	}
	t := &testArgs{Shell: s, args: args}
	holds, err := t.any(len(args))
	if err == nil && len(t.args) > 0 {
		err = &badTest{t.args[0] + ": unknown operand"}
	}
	if err != nil {
		s.complain("%v", err)
		return 2, nil
	}
	return holds.status(), nil
}

func (t *testArgs) next() string {
	arg := t.args[0]
	t.args = t.args[1:]
	return arg
}

// any evaluates tests with -o between them. n is the number of the arguments of the whole.
func (t *testArgs) any(n int) (truth, error) {
	holds, err := t.all(n)
	for err == nil && len(t.args) > 0 && t.args[0] == "-o" {
		t.next()
		var right truth
		right, err = t.all(len(t.args))
		holds = holds.or(right)
	}
	return holds, err
}

func (t *testArgs) all(n int) (truth, error) {
	holds, err := t.one(n)
	for err == nil && len(t.args) > 0 && t.args[0] == "-a" {
		t.next()
		var right truth
		right, err = t.one(len(t.args))
		holds = holds.and(right)
	}
	return holds, err
}

func (t *testArgs) one(n int) (truth, error) {
	if t.depth++; t.depth > maxTestDepth {
		return truth{}, &badTest{"too many operators"}
	}
	defer func() { t.depth-- }()
	if len(t.args) == 0 {
		if n == 0 {
			return known(false), nil
		}
		return truth{}, &badTest{"argument expected"}
	}
	if len(t.args) >= 3 {
		if holds, ok, err := t.testBinary(t.args[0], t.args[1], t.args[2]); ok {
			t.args = t.args[3:]
			return holds, err
		}
	}
	switch arg := t.next(); {
	case arg == "!" && len(t.args) > 0:
		holds, err := t.one(len(t.args))
		return holds.not(), err
	case arg == "(" && len(t.args) > 0:
		holds, err := t.any(len(t.args))
		if err == nil && (len(t.args) == 0 || t.next() != ")") {
			err = &badTest{"closing paren expected"}
		}
		return holds, err
	case len(arg) == 2 && arg[0] == '-' && len(t.args) > 0 && strings.IndexByte("bcdefghknoprstuvwxzGLNOSR", arg[1]) >= 0:
		return t.testUnary(arg, t.next()), nil
	default:
		return unless(arg != "", true, arg), nil
	}
}
