package applets

import (
	"cmp"
	"errors"
	"strconv"
)

// ErrExprUnknown says that an expression uses patterns or the words of GNU expr, which are
// not simulated.
var ErrExprUnknown = errors.New("not simulated")

var (
	errExprSyntax  = errors.New("syntax error")
	errExprNumber  = errors.New("non-integer argument")
	errExprDivisor = errors.New("division by zero")
)

// maxExpr bounds how long an expression is, and so how deep.
const maxExpr = 1000

// Expr works out the arguments of expr (POSIX): whole numbers and strings with
// | & = != < <= > >= + - * / % and parentheses. holds is false for 0 and "", for which
// expr exits with 1. For any error but ErrExprUnknown it exits with 2.
func Expr(args []string) (value string, holds bool, err error) {
	if len(args) > maxExpr {
		return "", false, ErrExprUnknown
	}
	e := expression{words: args}
	value, err = e.level(0)
	if err == nil && len(e.words) > 0 {
		err = errExprSyntax
		if e.words[0] == ":" {
			err = ErrExprUnknown
		}
	}
	return value, value != "" && !zero(value), err
}

func zero(value string) bool {
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && n == 0
}

// exprLevels are the operators, those that bind least first.
func exprLevels() [5]map[string]bool {
	return [5]map[string]bool{
		{"|": true},
		{"&": true},
		{"=": true, "==": true, "!=": true, "<": true, "<=": true, ">": true, ">=": true},
		{"+": true, "-": true},
		{"*": true, "/": true, "%": true},
	}
}

// expression holds the words of an expression that have not been read yet.
type expression struct{ words []string }

func (e *expression) next() (word string, ok bool) {
	if len(e.words) == 0 {
		return "", false
	}
	word, e.words = e.words[0], e.words[1:]
	return word, true
}

// level reads operands with the operators of one level between them.
func (e *expression) level(level int) (string, error) {
	levels := exprLevels()
	if level == len(levels) {
		return e.operand()
	}
	left, err := e.level(level + 1)
	for err == nil && len(e.words) > 0 && levels[level][e.words[0]] {
		operator, _ := e.next()
		var right string
		if right, err = e.level(level + 1); err == nil {
			left, err = combine(left, operator, right)
		}
	}
	return left, err
}

func (e *expression) operand() (string, error) {
	word, ok := e.next()
	if !ok {
		return "", errExprSyntax
	}
	switch word {
	case "match", "substr", "index", "length":
		return "", ErrExprUnknown
	case "(":
		value, err := e.level(0)
		if err != nil {
			return "", err
		}
		if end, _ := e.next(); end != ")" {
			return "", errExprSyntax
		}
		return value, nil
	case ")":
		return "", errExprSyntax
	}
	for _, operators := range exprLevels() {
		if operators[word] {
			return "", errExprSyntax
		}
	}
	return word, nil
}

func combine(left, operator, right string) (string, error) {
	a, errA := strconv.ParseInt(left, 10, 64)
	b, errB := strconv.ParseInt(right, 10, 64)
	numbers := errA == nil && errB == nil
	switch operator {
	case "|":
		if left != "" && !zero(left) {
			return left, nil
		}
		return cmp.Or(right, "0"), nil
	case "&":
		if left == "" || right == "" || zero(left) || zero(right) {
			return "0", nil
		}
		return left, nil
	case "+", "-", "*", "/", "%":
		if !numbers {
			return "", errExprNumber
		}
		return calculate(a, operator, b)
	}
	order := cmp.Compare(left, right)
	if numbers {
		order = cmp.Compare(a, b)
	}
	holds := map[string]bool{"=": order == 0, "==": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}
	if holds[operator] {
		return "1", nil
	}
	return "0", nil
}

func calculate(a int64, operator string, b int64) (string, error) {
	switch {
	case operator == "+":
		a += b
	case operator == "-":
		a -= b
	case operator == "*":
		a *= b
	case b == 0:
		return "", errExprDivisor
	case operator == "/":
		a /= b
	default:
		a %= b
	}
	return strconv.FormatInt(a, 10), nil
}
