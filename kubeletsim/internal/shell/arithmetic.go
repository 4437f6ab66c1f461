package shell

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// maxArithmeticDepth bounds how deep expressions and the values of variables in them nest.
const maxArithmeticDepth = 500

// arithmetic evaluates an expression. Its errors have been reported.
func (s *Shell) arithmetic(ctx context.Context, expr syntax.ArithmExpr) (int64, error) {
	return (&calculation{s, 0}).value(ctx, expr)
}

// evaluate evaluates a text as an expression.
func (s *Shell) evaluate(ctx context.Context, text string, depth int) (int64, error) {
	return (&calculation{s, depth}).text(ctx, text)
}

// calculation is one evaluation of an expression.
type calculation struct {
	*Shell
	depth int
}

func (c *calculation) value(ctx context.Context, expr syntax.ArithmExpr) (int64, error) {
	if c.depth >= maxArithmeticDepth {
		return 0, c.fail("arithmetic: expression recursion level exceeded")
	}
	c.depth++
	defer func() { c.depth-- }()
	if err := c.turn.Step(ctx); err != nil {
		return 0, err
	}
	switch expr := expr.(type) {
	case nil:
		return 0, nil
	case *syntax.Word:
		text, err := c.Shell.text(ctx, expr)
		if err != nil {
			return 0, err
		}
		return c.text(ctx, text)
	case *syntax.ParenArithm:
		return c.value(ctx, expr.X)
	case *syntax.UnaryArithm:
		return c.unary(ctx, expr)
	case *syntax.BinaryArithm:
		return c.binary(ctx, expr)
	}
	return 0, c.fail("arithmetic syntax error")
}

// text evaluates a number, a variable, or what is the value of one.
func (c *calculation) text(ctx context.Context, text string) (int64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	if unknown.In(text) {
		return 0, errUnknownNumber
	}
	if n, ok := number(text); ok {
		return n, nil
	}
	if c.depth >= maxArithmeticDepth {
		return 0, c.fail("arithmetic: expression recursion level exceeded")
	}
	c.depth++
	defer func() { c.depth-- }()
	if validName(text) {
		v, set := c.variableOf(text).single()
		if !set && c.imported {
			return 0, errUnknownNumber
		}
		if !set && c.options["nounset"] {
			return 0, c.fail("%s: parameter not set", text)
		}
		return c.text(ctx, v)
	}
	expr, err := parseArithmetic(ctx, text)
	if err != nil || expr == nil {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return 0, c.fail("arithmetic syntax error")
	}
	if word, ok := expr.(*syntax.Word); ok && word.Lit() == text {
		return 0, c.fail("arithmetic syntax error")
	}
	return c.value(ctx, expr)
}

// number reads decimal, octal and hexadecimal numbers, and those with a base, such as 2#101.
func number(text string) (int64, bool) {
	if base, digits, ok := strings.Cut(text, "#"); ok {
		b, err := strconv.Atoi(base)
		if err != nil || b < 2 || b > 36 {
			return 0, false
		}
		n, err := strconv.ParseInt(digits, b, 64)
		return n, err == nil
	}
	if text[0] < '0' || text[0] > '9' || strings.Contains(text, "_") {
		if text[0] != '-' || len(text) < 2 || text[1] < '0' || text[1] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		n, err = strconv.ParseInt(text, 10, 64)
	}
	return n, err == nil
}

// target returns the variable that an expression names, and its index.
func target(expr syntax.ArithmExpr) (name string, index syntax.ArithmExpr, ok bool) {
	word, isWord := expr.(*syntax.Word)
	if !isWord || len(word.Parts) != 1 {
		return "", nil, false
	}
	switch part := word.Parts[0].(type) {
	case *syntax.Lit:
		return part.Value, nil, validName(part.Value)
	case *syntax.ParamExp:
		if part.Param != nil && part.Short && part.Index != nil {
			return part.Param.Value, part.Index, true
		}
	}
	return "", nil, false
}

func (c *calculation) store(ctx context.Context, expr syntax.ArithmExpr, n int64) error {
	name, index, ok := target(expr)
	if !ok {
		return c.fail("arithmetic syntax error")
	}
	text := strconv.FormatInt(n, 10)
	if index != nil {
		return c.assignElement(ctx, name, index, text, false)
	}
	return c.assign(name, text)
}

func (c *calculation) unary(ctx context.Context, expr *syntax.UnaryArithm) (int64, error) {
	n, err := c.value(ctx, expr.X)
	if err != nil {
		return 0, err
	}
	switch expr.Op {
	case syntax.Not:
		return int64(oneIf(n == 0)), nil
	case syntax.BitNegation:
		return ^n, nil
	case syntax.Minus:
		return -n, nil
	case syntax.Inc, syntax.Dec:
		changed := n + 1
		if expr.Op == syntax.Dec {
			changed = n - 1
		}
		err := c.store(ctx, expr.X, changed)
		if expr.Post {
			return n, err
		}
		return changed, err
	}
	return n, nil
}

// binary evaluates binary operators. The parser nests chains such as a+b+c to the left; binary follows them
// in a loop.
func (c *calculation) binary(ctx context.Context, expr *syntax.BinaryArithm) (int64, error) {
	spine := []*syntax.BinaryArithm{expr}
	for {
		left, ok := spine[len(spine)-1].X.(*syntax.BinaryArithm)
		if !ok || lazy(left.Op) || assigns(left.Op) || lazy(spine[len(spine)-1].Op) || assigns(spine[len(spine)-1].Op) {
			break
		}
		spine = append(spine, left)
	}
	top := spine[len(spine)-1]
	n, err := c.node(ctx, top)
	for i := len(spine) - 2; i >= 0 && err == nil; i-- {
		if err = c.turn.Step(ctx); err != nil {
			return 0, err
		}
		var right int64
		if right, err = c.value(ctx, spine[i].Y); err == nil {
			n, err = c.apply(ctx, spine[i].Op, n, right)
		}
	}
	return n, err
}

func lazy(op syntax.BinAritOperator) bool {
	return op == syntax.AndArit || op == syntax.OrArit || op == syntax.TernQuest
}

func assigns(op syntax.BinAritOperator) bool {
	_, ok := plainOperator(op)
	return ok || op == syntax.Assgn
}

// plainOperator returns the operator of an assignment such as +=.
func plainOperator(op syntax.BinAritOperator) (syntax.BinAritOperator, bool) {
	switch op {
	case syntax.AddAssgn:
		return syntax.Add, true
	case syntax.SubAssgn:
		return syntax.Sub, true
	case syntax.MulAssgn:
		return syntax.Mul, true
	case syntax.QuoAssgn:
		return syntax.Quo, true
	case syntax.RemAssgn:
		return syntax.Rem, true
	case syntax.AndAssgn:
		return syntax.And, true
	case syntax.OrAssgn:
		return syntax.Or, true
	case syntax.XorAssgn:
		return syntax.Xor, true
	case syntax.ShlAssgn:
		return syntax.Shl, true
	case syntax.ShrAssgn:
		return syntax.Shr, true
	case syntax.PowAssgn:
		return syntax.Pow, true
	}
	return 0, false
}

// node evaluates one operator, whose left side is no operator of the same level.
func (c *calculation) node(ctx context.Context, expr *syntax.BinaryArithm) (int64, error) {
	if assigns(expr.Op) {
		n, err := c.assigned(ctx, expr)
		if errors.Is(err, errUnknownNumber) {
			if name, index, ok := target(expr.X); ok && index == nil {
				err = errors.Join(err, c.assign(name, unknown.Text))
			}
			return 0, err
		}
		if err != nil {
			return 0, err
		}
		return n, c.store(ctx, expr.X, n)
	}
	left, err := c.value(ctx, expr.X)
	if err != nil {
		return 0, err
	}
	switch expr.Op {
	case syntax.AndArit:
		if left == 0 {
			return 0, nil
		}
		right, err := c.value(ctx, expr.Y)
		return int64(oneIf(right != 0)), err
	case syntax.OrArit:
		if left != 0 {
			return 1, nil
		}
		right, err := c.value(ctx, expr.Y)
		return int64(oneIf(right != 0)), err
	case syntax.TernQuest:
		choices, ok := expr.Y.(*syntax.BinaryArithm)
		if !ok {
			return 0, c.fail("arithmetic syntax error")
		}
		if left != 0 {
			return c.value(ctx, choices.X)
		}
		return c.value(ctx, choices.Y)
	}
	right, err := c.value(ctx, expr.Y)
	if err != nil {
		return 0, err
	}
	return c.apply(ctx, expr.Op, left, right)
}

// assigned returns the value that an assignment assigns.
func (c *calculation) assigned(ctx context.Context, expr *syntax.BinaryArithm) (int64, error) {
	right, err := c.value(ctx, expr.Y)
	plain, ok := plainOperator(expr.Op)
	if err != nil || !ok {
		return right, err
	}
	left, err := c.value(ctx, expr.X)
	if err != nil {
		return 0, err
	}
	return c.apply(ctx, plain, left, right)
}

func (c *calculation) apply(ctx context.Context, op syntax.BinAritOperator, a, b int64) (int64, error) {
	switch op {
	case syntax.Add:
		return a + b, nil
	case syntax.Sub:
		return a - b, nil
	case syntax.Mul:
		return a * b, nil
	case syntax.Quo, syntax.Rem:
		switch {
		case b == 0:
			return 0, c.fail("divide by zero")
		case b == -1: // the smallest number has no opposite
			if op == syntax.Rem {
				return 0, nil
			}
			return -a, nil
		case op == syntax.Rem:
			return a % b, nil
		}
		return a / b, nil
	case syntax.Pow:
		if b < 0 {
			return 0, c.fail("exponent less than 0")
		}
		return power(a, b), nil
	case syntax.And:
		return a & b, nil
	case syntax.Or:
		return a | b, nil
	case syntax.Xor:
		return a ^ b, nil
	case syntax.Shl:
		return a << (uint64(b) & 63), nil
	case syntax.Shr:
		return a >> (uint64(b) & 63), nil
	case syntax.Comma:
		return b, nil
	case syntax.XorBool:
		return int64(oneIf((a != 0) != (b != 0))), nil
	}
	return compared(op, a, b), nil
}

func compared(op syntax.BinAritOperator, a, b int64) int64 {
	holds := false
	switch op {
	case syntax.Eql:
		holds = a == b
	case syntax.Neq:
		holds = a != b
	case syntax.Lss:
		holds = a < b
	case syntax.Leq:
		holds = a <= b
	case syntax.Gtr:
		holds = a > b
	case syntax.Geq:
		holds = a >= b
	}
	return int64(oneIf(holds))
}

func power(a, b int64) int64 {
	n := int64(1)
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			n *= a
		}
		a *= a
	}
	return n
}
