package stages

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/itchyny/gojq"
)

// The budgets of jq expressions.
const (
	maxExpression = 4 << 10
	// maxSteps caps the instructions of one evaluation, maxResults its results.
	maxSteps   = 100_000
	maxResults = 1000
	// maxGrowth caps the operators of an expression that make values larger: each may double one.
	maxGrowth = 6
)

// allowedFunctions are jq's functions that an expression may call: those that neither loop without
// end nor make a value many times as large.
var allowedFunctions = []string{
	"all", "any", "arrays", "ascii_downcase", "ascii_upcase", "booleans", "ceil", "contains", "empty", "endswith", "error", "false", "first",
	"flatten", "floor", "from_entries", "fromdate", "fromdateiso8601", "fromjson", "has", "in", "index", "inside", "iterables", "keys",
	"last", "length", "ltrimstr", "map", "map_values", "max", "max_by", "min", "min_by", "not", "now", "null", "nulls", "numbers", "objects",
	"reverse", "round", "rtrimstr", "scalars", "select", "sort", "sort_by", "split", "sqrt", "startswith", "strings", "test", "to_entries",
	"todate", "todateiso8601", "tojson", "tonumber", "tostring", "true", "type", "unique", "unique_by", "values", "add",
}

// errBudget means that an expression took more steps than it may.
var errBudget = fmt.Errorf("the expression did not end within %d steps", maxSteps)

// query is a jq expression.
type query struct {
	source string
	code   *gojq.Code
}

func newQuery(source string) (*query, error) {
	if len(source) > maxExpression {
		return nil, fmt.Errorf("an expression has %d bytes, more than %d", len(source), maxExpression)
	}
	if err := checkNesting(source); err != nil {
		return nil, err
	}
	parsed, err := gojq.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("parsing the jq expression %q: %w", source, err)
	}
	var c checker
	c.query(parsed)
	if c.err == nil && c.growth > maxGrowth {
		c.err = fmt.Errorf("it has %d operators + and *, arrays and objects, more than %d", c.growth, maxGrowth)
	}
	if c.err != nil {
		return nil, fmt.Errorf("the jq expression %q: %w", source, c.err)
	}
	// The cluster's time replaces the machine's.
	parsed.FuncDefs = []*gojq.FuncDef{{Name: "now", Body: &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: "$now"}}}}}
	code, err := gojq.Compile(parsed, gojq.WithVariables([]string{"$now"}))
	if err != nil {
		return nil, fmt.Errorf("compiling the jq expression %q: %w", source, err)
	}
	return &query{source, code}, nil
}

// maxNesting caps the brackets within brackets of an expression or a template's action.
const maxNesting = 64

func checkNesting(source string) error {
	depth := 0
	for _, r := range source {
		switch r {
		case '(', '[', '{':
			if depth++; depth > maxNesting {
				return fmt.Errorf("an expression has brackets nested deeper than %d", maxNesting)
			}
		case ')', ']', '}':
			depth--
		}
	}
	return nil
}

// run returns the results that are not null. ok is false if the expression fails on this data, as
// one that iterates over a missing list does; an error is returned if it exceeds its budget.
func (q *query) run(data any, now time.Time) (results []any, ok bool, err error) {
	budget := &stepBudget{left: maxSteps}
	iter := q.code.RunWithContext(budget, data, float64(now.UnixMilli())/1000)
	for {
		v, more := iter.Next()
		if !more {
			return results, true, nil
		}
		if failure, failed := v.(error); failed {
			if errors.Is(failure, errBudget) {
				return nil, false, fmt.Errorf("evaluating %q: %w", q.source, errBudget)
			}
			return nil, false, nil
		}
		if v == nil {
			continue
		}
		if results = append(results, v); len(results) > maxResults {
			return nil, false, fmt.Errorf("evaluating %q: more than %d results", q.source, maxResults)
		}
	}
}

// stepBudget is the context of an evaluation. The interpreter asks it before each instruction
// whether it is done: unlike a timeout, counting them gives the same result on every machine.
type stepBudget struct{ left int }

var (
	never  = make(chan struct{})
	always = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
)

func (b *stepBudget) Deadline() (time.Time, bool) { return time.Time{}, false }
func (b *stepBudget) Value(any) any               { return nil }
func (b *stepBudget) Done() <-chan struct{} {
	if b.left--; b.left < 0 {
		return always
	}
	return never
}

func (b *stepBudget) Err() error {
	if b.left < 0 {
		return errBudget
	}
	return nil
}

// text returns a result as the values of selectors are written.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int:
		return strconv.Itoa(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case *big.Int:
		return v.String(), true
	}
	return "", false
}

// checker looks for constructs that an expression must not have.
type checker struct {
	growth int
	err    error
}

func (c *checker) refuse(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *checker) query(q *gojq.Query) {
	if q == nil || c.err != nil {
		return
	}
	if len(q.FuncDefs) > 0 || len(q.Imports) > 0 || q.Meta != nil {
		c.refuse("a Stage's expression must not define or import functions")
	}
	if len(q.Patterns) > 0 {
		c.refuse("a Stage's expression must not bind variables")
	}
	if q.Op == gojq.OpAdd || q.Op == gojq.OpMul {
		c.growth++
	}
	if q.Op >= gojq.OpAssign && q.Op <= gojq.OpUpdateAlt {
		c.refuse("a Stage's expression must not assign")
	}
	if q.Op == gojq.OpMul {
		c.refuse("a Stage's expression must not multiply")
	}
	c.term(q.Term)
	c.query(q.Left)
	c.query(q.Right)
}

func (c *checker) term(t *gojq.Term) {
	if t == nil || c.err != nil {
		return
	}
	switch {
	case t.Reduce != nil, t.Foreach != nil, t.Label != nil, t.Break != "":
		c.refuse("a Stage's expression must not loop: reduce, foreach and label are not allowed")
	case t.Type == gojq.TermTypeRecurse:
		c.refuse("a Stage's expression must not have ..")
	}
	if f := t.Func; f != nil {
		if !slices.Contains(allowedFunctions, f.Name) {
			c.refuse("a Stage's expression must not call %s", f.Name)
		}
		for _, arg := range f.Args {
			c.query(arg)
		}
	}
	if t.Array != nil {
		c.growth++
		c.query(t.Array.Query)
	}
	if t.Object != nil {
		c.growth++
		for _, kv := range t.Object.KeyVals {
			c.text(kv.KeyString)
			c.query(kv.KeyQuery)
			c.query(kv.Val)
		}
	}
	if t.If != nil {
		c.query(t.If.Cond)
		c.query(t.If.Then)
		c.query(t.If.Else)
		for _, elif := range t.If.Elif {
			c.query(elif.Cond)
			c.query(elif.Then)
		}
	}
	if t.Try != nil {
		c.query(t.Try.Body)
		c.query(t.Try.Catch)
	}
	if t.Unary != nil {
		c.term(t.Unary.Term)
	}
	c.text(t.Str)
	c.query(t.Query)
	c.index(t.Index)
	for _, suffix := range t.SuffixList {
		c.index(suffix.Index)
	}
}

func (c *checker) index(i *gojq.Index) {
	if i == nil {
		return
	}
	c.text(i.Str)
	c.query(i.Start)
	c.query(i.End)
}

// text checks a string with interpolations, each of which may repeat a value.
func (c *checker) text(s *gojq.String) {
	if s == nil {
		return
	}
	c.growth += max(len(s.Queries)-1, 0)
	for _, q := range s.Queries {
		c.query(q)
	}
}
