package stages

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Random is a source of chance.
type Random interface {
	// IntN returns a number in [0, n).
	IntN(n int) int
	// Float64 returns a number in [0, 1).
	Float64() float64
	Uint64() uint64
}

// Set is the Stages of a cluster. It does not change. A nil Set has none.
type Set struct {
	byKind map[schema.GroupVersionKind][]*Stage
}

// NewSet returns the set of these Stages. Chance chooses among them in the order of their names.
func NewSet(all []*Stage) *Set {
	s := &Set{byKind: map[schema.GroupVersionKind][]*Stage{}}
	for _, stage := range all {
		s.byKind[stage.Kind] = append(s.byKind[stage.Kind], stage)
	}
	for _, of := range s.byKind {
		slices.SortFunc(of, func(a, b *Stage) int { return strings.Compare(a.Name, b.Name) })
	}
	return s
}

// Kinds returns the kinds that have Stages, sorted.
func (s *Set) Kinds() []schema.GroupVersionKind {
	if s == nil {
		return nil
	}
	var kinds []schema.GroupVersionKind
	for kind := range s.byKind {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return kinds
}

// Has reports whether a kind has Stages.
func (s *Set) Has(kind schema.GroupVersionKind) bool { return s != nil && len(s.byKind[kind]) > 0 }

// Error is the error of a Stage that cannot be evaluated for an object.
type Error struct {
	Stage string
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("Stage %s: %v", e.Stage, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Object is an object that Stages may apply to.
type Object struct {
	// Content is the object as the API decodes it; it is not changed.
	Content map[string]any
	plain   any
}

// standard returns the object with the types of encoding/json, which jq needs.
func (o *Object) standard() (any, error) {
	if o.plain != nil {
		return o.plain, nil
	}
	encoded, err := json.Marshal(o.Content)
	if err == nil {
		err = json.Unmarshal(encoded, &o.plain)
	}
	return o.plain, err
}

func (o *Object) strings(field string) map[string]string {
	metadata, _ := o.Content["metadata"].(map[string]any)
	values, _ := metadata[field].(map[string]any)
	found := make(map[string]string, len(values))
	for key, v := range values {
		found[key], _ = v.(string)
	}
	return found
}

// Matching returns the Stages whose selectors match. A Stage that fails does not match, and its
// error is joined to those returned.
func (s *Set) Matching(kind schema.GroupVersionKind, o *Object, now time.Time) ([]*Stage, error) {
	if s == nil {
		return nil, nil
	}
	var found []*Stage
	var errs []error
	for _, stage := range s.byKind[kind] {
		ok, err := stage.matches(o, now)
		if err != nil {
			errs = append(errs, &Error{stage.Name, err})
		} else if ok {
			found = append(found, stage)
		}
	}
	return found, errors.Join(errs...)
}

// Choose returns the next Stage for an object. Several Stages that match are chosen by their
// weights, or with equal chances if all weights are 0. It returns nil if none matches.
func (s *Set) Choose(kind schema.GroupVersionKind, o *Object, now time.Time, random Random) (*Stage, error) {
	matching, failed := s.Matching(kind, o, now)
	if len(matching) < 2 {
		return append(matching, nil)[0], failed
	}
	var weighed []*Stage
	var weights []int64
	var total int64
	for _, stage := range matching {
		w, ok, err := stage.weightFor(o, now)
		if err != nil {
			failed = errors.Join(failed, &Error{stage.Name, err})
			continue
		}
		if ok {
			w = min(w, maxWeight)
			weighed, weights, total = append(weighed, stage), append(weights, w), total+w
		}
	}
	switch {
	case len(weighed) == 0:
		return matching[random.IntN(len(matching))], failed
	case total == 0:
		return weighed[random.IntN(len(weighed))], failed
	}
	at := int64(random.IntN(int(total)))
	for i, w := range weights {
		if at -= w; at < 0 {
			return weighed[i], failed
		}
	}
	return weighed[len(weighed)-1], failed
}

// maxWeight caps a weight, so that their sum does not overflow.
const maxWeight = 1 << 40

func (s *Stage) matches(o *Object, now time.Time) (bool, error) {
	if !s.selects {
		return false, nil
	}
	if !contains(o.strings("labels"), s.selector.labels) || !contains(o.strings("annotations"), s.selector.annotations) {
		return false, nil
	}
	for _, r := range s.selector.requirements {
		if ok, err := r.matches(o, now); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func contains(all, wanted map[string]string) bool {
	for key, value := range wanted {
		if has, ok := all[key]; !ok || has != value {
			return false
		}
	}
	return true
}

type compiledSelector struct {
	labels, annotations map[string]string
	requirements        []requirement
}

func (s *selector) compile() (compiledSelector, error) {
	if s == nil {
		return compiledSelector{}, nil
	}
	compiled := compiledSelector{labels: s.MatchLabels, annotations: s.MatchAnnotations}
	if len(s.MatchExpressions) > maxRules {
		return compiled, fmt.Errorf("matchExpressions: there are %d, more than %d", len(s.MatchExpressions), maxRules)
	}
	for i := range s.MatchExpressions {
		r, err := s.MatchExpressions[i].compile()
		if err != nil {
			return compiled, fmt.Errorf("matchExpressions[%d]: %w", i, err)
		}
		compiled.requirements = append(compiled.requirements, r)
	}
	return compiled, nil
}

// requirement is one of matchExpressions.
type requirement struct {
	cel      *program
	query    *query
	operator string
	values   []string
}

func (m *matchExpression) compile() (requirement, error) {
	key, operator, values := m.Key, m.Operator, m.Values
	switch {
	case m.CEL != nil && (m.JQ != nil || key != ""):
		return requirement{}, errors.New("it has both a jq and a CEL expression")
	case m.CEL != nil:
		p, err := newProgram(m.CEL.Expression)
		return requirement{cel: p}, err
	case m.JQ != nil:
		key, operator, values = m.JQ.Key, m.JQ.Operator, m.JQ.Values
	}
	switch operator {
	case "In", "NotIn":
		if len(values) == 0 {
			return requirement{}, fmt.Errorf("the operator %s needs values", operator)
		}
	case "Exists", "DoesNotExist":
		if len(values) > 0 {
			return requirement{}, fmt.Errorf("the operator %s takes no values", operator)
		}
	default:
		return requirement{}, fmt.Errorf("the operator %q is none of In, NotIn, Exists, DoesNotExist", operator)
	}
	q, err := newQuery(key)
	return requirement{query: q, operator: operator, values: values}, err
}

func (r *requirement) matches(o *Object, now time.Time) (bool, error) {
	data, err := o.standard()
	if err != nil {
		return false, err
	}
	if r.cel != nil {
		v, err := r.cel.run(data)
		if err != nil {
			return false, err
		}
		ok, isBool := v.(bool)
		if !isBool {
			return false, fmt.Errorf("the CEL expression %q is no condition: it returned %T", r.cel.source, v)
		}
		return ok, nil
	}
	results, _, err := r.query.run(data, now)
	if err != nil {
		return false, err
	}
	has := len(results) > 0
	if r.operator == "In" || r.operator == "NotIn" {
		has = slices.ContainsFunc(results, func(v any) bool {
			s, ok := text(v)
			return ok && slices.Contains(r.values, s)
		})
	}
	return has == (r.operator == "In" || r.operator == "Exists"), nil
}

// value is an expression whose value is used.
type value struct {
	cel   *program
	query *query
}

func (e *expressionFrom) compile() (*value, error) {
	if e == nil {
		return nil, nil
	}
	source := e.ExpressionFrom
	switch {
	case e.CEL != nil:
		p, err := newProgram(e.CEL.Expression)
		return &value{cel: p}, err
	case e.JQ != nil:
		source = e.JQ.Expression
	case source == "":
		return nil, errors.New("it has no expression")
	}
	q, err := newQuery(source)
	return &value{query: q}, err
}

// get returns the first result. ok is false if there is none.
func (v *value) get(o *Object, now time.Time) (result any, ok bool, err error) {
	data, err := o.standard()
	if err != nil {
		return nil, false, err
	}
	if v.cel != nil {
		result, err = v.cel.run(data)
		return result, result != nil, err
	}
	results, _, err := v.query.run(data, now)
	if err != nil || len(results) == 0 {
		return nil, false, err
	}
	return results[0], true, nil
}

// weightFor returns the weight of the Stage; ok is false if the object states one that is no
// number.
func (s *Stage) weightFor(o *Object, now time.Time) (w int64, ok bool, err error) {
	if s.weightOf == nil {
		return s.weight, true, nil
	}
	v, ok, err := s.weightOf.get(o, now)
	if err != nil || !ok {
		return s.weight, err == nil, err
	}
	switch v := v.(type) {
	case string:
		w, err = strconv.ParseInt(v, 0, 64)
		return w, err == nil && w >= 0, nil
	case int:
		return int64(v), v >= 0, nil
	case int64:
		return v, v >= 0, nil
	case float64:
		return int64(min(v, maxWeight)), v >= 0, nil
	}
	return s.weight, true, nil
}

// span is a duration, which the object may state.
type span struct {
	// fixed is negative if there is none.
	fixed time.Duration
	from  *value
}

func newSpan(milliseconds *int64, from *expressionFrom, missing time.Duration) (*span, error) {
	s := &span{fixed: missing}
	if milliseconds != nil {
		if *milliseconds < 0 || *milliseconds > maxMilliseconds {
			return nil, fmt.Errorf("%d milliseconds are not between 0 and %d", *milliseconds, int64(maxMilliseconds))
		}
		s.fixed = time.Duration(*milliseconds) * time.Millisecond
	}
	var err error
	s.from, err = from.compile()
	return s, err
}

// get returns the duration; negative: there is none.
func (s *span) get(o *Object, now time.Time) (time.Duration, error) {
	if s.from == nil {
		return s.fixed, nil
	}
	v, ok, err := s.from.get(o, now)
	if err != nil || !ok {
		return s.fixed, err
	}
	switch v := v.(type) {
	case time.Duration:
		return clamp(v), nil
	case time.Time:
		return clamp(v.Sub(now)), nil
	case string:
		if v == "" {
			return -1, nil
		}
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return clamp(at.Sub(now)), nil
		}
		if d, err := time.ParseDuration(v); err == nil {
			return clamp(d), nil
		}
	}
	return s.fixed, nil
}

func clamp(d time.Duration) time.Duration {
	return min(max(d, 0), maxMilliseconds*time.Millisecond)
}

// Delay returns how long after now the Stage plays: its duration or, with jitter, a random time
// between both, or the jitter if that is shorter.
func (s *Stage) Delay(o *Object, now time.Time, random Random) (time.Duration, error) {
	if s.duration == nil {
		return 0, nil
	}
	d, err := s.duration.get(o, now)
	if err != nil {
		return 0, &Error{s.Name, err}
	}
	if d < 0 {
		return 0, nil
	}
	if s.jitter == nil {
		return d, nil
	}
	j, err := s.jitter.get(o, now)
	switch {
	case err != nil:
		return 0, &Error{s.Name, err}
	case j < 0:
		return d, nil
	case j <= d:
		return j, nil
	}
	return d + time.Duration(random.Float64()*float64(j-d)), nil
}
