package shell

import (
	"context"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxTestDepth bounds how deep tests nest.
const maxTestDepth = 500

// testClause evaluates [[ ... ]].
func (s *Shell) testClause(ctx context.Context, expr syntax.TestExpr, depth int) (bool, error) {
	if depth > maxTestDepth {
		return false, s.fail("a test is nested too deeply")
	}
	switch expr := expr.(type) {
	case *syntax.Word:
		text, err := s.text(ctx, expr)
		return text != "", err
	case *syntax.ParenTest:
		return s.testClause(ctx, expr.X, depth+1)
	case *syntax.UnaryTest:
		if expr.Op == syntax.TsNot {
			holds, err := s.testClause(ctx, expr.X, depth+1)
			return !holds, err
		}
		word, ok := expr.X.(*syntax.Word)
		if !ok {
			return false, s.fail("syntax error in a test")
		}
		text, err := s.text(ctx, word)
		if err != nil {
			return false, err
		}
		return s.testUnary(expr.Op.String(), text), nil
	case *syntax.BinaryTest:
		if expr.Op == syntax.AndTest || expr.Op == syntax.OrTest {
			holds, err := s.testClause(ctx, expr.X, depth+1)
			if err != nil || holds == (expr.Op == syntax.OrTest) {
				return holds, err
			}
			return s.testClause(ctx, expr.Y, depth+1)
		}
		return s.testWords(ctx, expr)
	}
	return false, s.fail("syntax error in a test")
}

// testWords evaluates a binary operator of [[ ]].
func (s *Shell) testWords(ctx context.Context, expr *syntax.BinaryTest) (bool, error) {
	left, okLeft := expr.X.(*syntax.Word)
	right, okRight := expr.Y.(*syntax.Word)
	if !okLeft || !okRight {
		return false, s.fail("syntax error in a test")
	}
	a, err := s.text(ctx, left)
	if err != nil {
		return false, err
	}
	switch expr.Op {
	case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch:
		matched, err := s.matches(ctx, right, a)
		return matched != (expr.Op == syntax.TsNoMatch), err
	case syntax.TsReMatch:
		return s.matchRegexp(ctx, a, right)
	}
	b, err := s.text(ctx, right)
	if err != nil {
		return false, err
	}
	switch expr.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		x, err := s.evaluate(ctx, a, 0)
		if err != nil {
			return false, err
		}
		y, err := s.evaluate(ctx, b, 0)
		if err != nil {
			return false, err
		}
		return ordered(expr.Op.String(), x, y), nil
	}
	holds, _, err := s.testBinary(a, expr.Op.String(), b)
	return holds, err
}

// maxRegexp bounds a regular expression, whose program takes far more memory than its text.
const maxRegexp = 4 << 10

func (s *Shell) matchRegexp(ctx context.Context, text string, word *syntax.Word) (bool, error) {
	x := s.newExpansion(false)
	if err := x.word(ctx, word.Parts, false, false); err != nil {
		return false, err
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
		return false, s.fail("a regular expression is longer than %d bytes", maxRegexp)
	}
	re, err := regexp.Compile(b.String())
	if err != nil {
		return false, s.fail("a regular expression has a syntax error")
	}
	re.Longest()
	groups, err := FindSubmatch(ctx, re, text)
	if err != nil {
		return false, err
	}
	elems := map[int]string{}
	bytes := int64(0)
	for i, group := range groups {
		elems[i] = group
		bytes += int64(len(group)) + variableBytes
	}
	err = s.change("BASH_REMATCH", func(v *variable) { v.kind, v.elems, v.set = indexed, elems, true }, bytes)
	return groups != nil, err
}

// testUnary evaluates operators such as -f and -z.
func (s *Shell) testUnary(op, arg string) bool {
	switch op {
	case "-z":
		return arg == ""
	case "-n":
		return arg != ""
	case "-o":
		return s.options[arg]
	case "-t":
		return false
	case "-v":
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
	case "-R":
		v := s.vars[arg]
		return v != nil && v.reference
	}
	return s.testFile(op, arg)
}

func (s *Shell) testFile(op, arg string) bool {
	if arg == "" {
		return false
	}
	name := s.absolute(arg)
	info, err := s.Container.Stat(name)
	if op == "-L" || op == "-h" {
		info, err = s.Container.Lstat(name)
		return err == nil && info.Mode()&fs.ModeSymlink != 0
	}
	if err != nil {
		return false
	}
	switch mode := info.Mode(); op {
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

// testBinary evaluates a binary operator; ok is false if there is none of that name.
func (s *Shell) testBinary(a, op, b string) (holds, ok bool, err error) {
	switch op {
	case "=", "==":
		return a == b, true, nil
	case "!=":
		return a != b, true, nil
	case "<":
		return a < b, true, nil
	case ">":
		return a > b, true, nil
	case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
		x, errX := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
		y, errY := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
		bad := a
		if errX == nil {
			bad = b
		}
		if errX != nil || errY != nil {
			return false, true, &badTest{bad + ": bad number"}
		}
		return ordered(op, x, y), true, nil
	case "-nt", "-ot", "-ef":
		x, errX := s.Container.Stat(s.absolute(a))
		y, errY := s.Container.Stat(s.absolute(b))
		switch op {
		case "-nt":
			return errX == nil && (errY != nil || x.ModTime().After(y.ModTime())), true, nil
		case "-ot":
			return errY == nil && (errX != nil || x.ModTime().Before(y.ModTime())), true, nil
		}
		return errX == nil && errY == nil && (s.absolute(a) == s.absolute(b) || os.SameFile(x, y)), true, nil
	}
	return false, false, nil
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
	return oneIf(!holds), nil
}

func (t *testArgs) next() string {
	arg := t.args[0]
	t.args = t.args[1:]
	return arg
}

// any evaluates tests with -o between them. n is the number of the arguments of the whole.
func (t *testArgs) any(n int) (bool, error) {
	holds, err := t.all(n)
	for err == nil && len(t.args) > 0 && t.args[0] == "-o" {
		t.next()
		var right bool
		right, err = t.all(len(t.args))
		holds = holds || right
	}
	return holds, err
}

func (t *testArgs) all(n int) (bool, error) {
	holds, err := t.one(n)
	for err == nil && len(t.args) > 0 && t.args[0] == "-a" {
		t.next()
		var right bool
		right, err = t.one(len(t.args))
		holds = holds && right
	}
	return holds, err
}

func (t *testArgs) one(n int) (bool, error) {
	if t.depth++; t.depth > maxTestDepth {
		return false, &badTest{"too many operators"}
	}
	defer func() { t.depth-- }()
	if len(t.args) == 0 {
		if n == 0 {
			return false, nil
		}
		return false, &badTest{"argument expected"}
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
		return !holds, err
	case arg == "(" && len(t.args) > 0:
		holds, err := t.any(len(t.args))
		if err == nil && (len(t.args) == 0 || t.next() != ")") {
			err = &badTest{"closing paren expected"}
		}
		return holds, err
	case len(arg) == 2 && arg[0] == '-' && len(t.args) > 0 && strings.IndexByte("bcdefghknoprstuvwxzGLNOSR", arg[1]) >= 0:
		return t.testUnary(arg, t.next()), nil
	default:
		return arg != "", nil
	}
}
