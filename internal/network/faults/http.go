package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"minikcm.dev/minikcm/internal/nesting"
)

// HTTP says what happens to a request, or to its answer.
type HTTP struct {
	// Methods, Path, in which * stands for any text, Port and Headers select requests; empty: all.
	Methods []string
	Path    string
	Port    int
	Headers []Pair
	// Answers means that the fault meets answers: those with Status, unless that is 0, and AnswerHeaders.
	Answers       bool
	Status        int
	AnswerHeaders []Pair
	// Abort ends the connection in place of an answer.
	Abort bool
	Delay time.Duration
	// Request changes the request, and Answer the answer; nil: nothing.
	Request, Answer *Change
}

// Pair is a name with a value.
type Pair struct{ Name, Value string }

// Change changes a request or an answer. What is empty stays.
type Change struct {
	// Method, Path and the parameters apply to requests. Query replaces the parameters of its names, and AddQuery adds parameters.
	Method, Path    string
	Query, AddQuery []Pair
	// Status applies to answers.
	Status int
	// Headers replaces the headers of its names, and AddHeaders adds headers.
	Headers, AddHeaders []Pair
	Body                *string
	// JSON changes a body in JSON; nil: it stays, as does a body in another form.
	JSON *Patch
}

// maxPatched caps the bytes of a body that a patch changes or makes, and maxDepth its nesting.
const (
	maxPatched = 1 << 20
	maxDepth   = 64
	// maxOperations caps the operations of a patch. A copy could double the body each time.
	maxOperations = 100
)

// Patch is a merge patch (RFC 7396) or a list of operations (RFC 6902).
type Patch struct {
	merge      []byte
	operations jsonpatch.Patch
}

// ParsePatch reads a patch: a list is one of operations, anything else a merge patch.
func ParsePatch(text string) (*Patch, error) {
	data := []byte(text)
	if err := nesting.JSON(data, maxDepth); err != nil {
		return nil, err
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("%q is no JSON", text)
	}
	if !strings.HasPrefix(strings.TrimSpace(text), "[") {
		return &Patch{merge: data}, nil
	}
	operations, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, fmt.Errorf("%q is no list of operations of RFC 6902", text)
	}
	if len(operations) > maxOperations || slices.ContainsFunc(operations, func(o jsonpatch.Operation) bool { return o.Kind() == "copy" }) {
		return nil, fmt.Errorf("a patch has at most %d operations, which are add, remove, replace, move and test", maxOperations)
	}
	return &Patch{operations: operations}, nil
}

// Apply returns a changed body; the same one if it is no JSON or the patch does not fit.
func (p *Patch) Apply(body []byte) []byte {
	if len(body) > maxPatched || nesting.JSON(body, maxDepth) != nil || !json.Valid(body) {
		return body
	}
	var changed []byte
	var err error
	if p.operations != nil {
		changed, err = p.operations.Apply(body)
	} else {
		changed, err = jsonpatch.MergePatch(body, p.merge)
	}
	if err != nil || len(changed) > maxPatched {
		return body
	}
	if bytes.HasSuffix(body, []byte("\n")) {
		changed = append(changed, '\n')
	}
	return changed
}

// Asked is a request as faults compare it.
type Asked struct {
	Method, Path string
	// Port is the port that the server listens on.
	Port int
	// Header returns a header of the request.
	Header func(name string) string
}

func (h *HTTP) matches(q *Asked) bool {
	return (len(h.Methods) == 0 || slices.Contains(h.Methods, q.Method)) && (h.Path == "" || matches(h.Path, q.Path)) && (h.Port == 0 || h.Port == q.Port) && have(h.Headers, q.Header)
}

// have reports whether headers have these values.
func have(wanted []Pair, header func(name string) string) bool {
	return !slices.ContainsFunc(wanted, func(p Pair) bool { return header(p.Name) != p.Value })
}

// Met has the effects of faults on one request, before a server gets it. Its method Answer returns the effects on the answer.
type Met struct {
	Abort   bool
	Delay   time.Duration
	Changes []*Change
	// answers are the faults that may meet the answer.
	answers []*HTTP
}

// Request decides about one request over HTTP.
func (e *Effect) Request(q *Asked, c *Chance) *Met {
	m := &Met{}
	if e == nil {
		return m
	}
	for _, r := range e.HTTP {
		h := r.HTTP
		if !h.matches(q) || !c.happens(r, purposeRequest, 0, r.Percent) {
			continue
		}
		if !h.Answers {
			m.Abort = m.Abort || h.Abort
			m.Delay += h.Delay
			if h.Request != nil {
				m.Changes = append(m.Changes, h.Request)
			}
		}
		if h.Answers || h.Answer != nil {
			m.answers = append(m.answers, h)
		}
	}
	return m
}

// Answer returns what the faults do to the answer of the request.
func (m *Met) Answer(status int, header func(name string) string) *Met {
	all := &Met{}
	for _, h := range m.answers {
		if h.Answers {
			if h.Status != 0 && h.Status != status || !have(h.AnswerHeaders, header) {
				continue
			}
			all.Abort = all.Abort || h.Abort
			all.Delay += h.Delay
		}
		if h.Answer != nil {
			all.Changes = append(all.Changes, h.Answer)
		}
	}
	return all
}
