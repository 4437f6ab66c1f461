package chaosmesh

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"minikcm.dev/minikcm/internal/network/faults"
	"minikcm.dev/minikcm/scenarios/fault"
)

// The targets of an HTTPChaos.
const (
	targetRequest  = "Request"
	targetResponse = "Response"
)

// patchJSON is the type of a patch of a body, which Chaos Mesh merges as RFC 7396 says.
const patchJSON = "JSON"

// HTTPChaosSpec is the spec of an HTTPChaos.
type HTTPChaosSpec struct {
	Common `json:",inline"`
	Target string `json:"target"`
	// Port, Path, Method and RequestHeaders select requests to the pods, Code and ResponseHeaders their answers.
	Port            int               `json:"port"`
	Path            string            `json:"path"`
	Method          string            `json:"method"`
	Code            int               `json:"code"`
	RequestHeaders  map[string]string `json:"request_headers"`
	ResponseHeaders map[string]string `json:"response_headers"`

	Abort   bool         `json:"abort"`
	Delay   string       `json:"delay"`
	Replace *HTTPReplace `json:"replace"`
	Patch   *HTTPPatch   `json:"patch"`
}

// HTTPReplace takes the place of parts of a request or an answer. Body is in base64.
type HTTPReplace struct {
	Path    string            `json:"path"`
	Method  string            `json:"method"`
	Code    int               `json:"code"`
	Headers map[string]string `json:"headers"`
	Queries map[string]string `json:"queries"`
	Body    *string           `json:"body"`
}

// HTTPPatch adds to a request or an answer. Headers and Queries are pairs.
type HTTPPatch struct {
	Headers [][]string `json:"headers"`
	Queries [][]string `json:"queries"`
	Body    *struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	} `json:"body"`
}

// Fault returns the fault that an HTTPChaos in a namespace asks for.
func (s *HTTPChaosSpec) Fault(namespace string) ([]*fault.Fault, error) {
	from, lasts, err := s.read(namespace)
	if err != nil {
		return nil, err
	}
	rule, err := s.rule()
	if err != nil {
		return nil, err
	}
	h := &fault.HTTP{Action: fault.HTTPPatch, Path: rule.Path, Methods: rule.Methods, Served: rule}
	h.PodsFrom = from
	switch {
	case rule.Abort:
		h.Action = fault.HTTPAbort
	case rule.Delay > 0:
		h.Action, h.Delay = fault.HTTPDelay, fault.Duration(rule.Delay)
	}
	return []*fault.Fault{{HTTP: h, For: lasts}}, nil
}

// rule returns what happens to requests or answers.
func (s *HTTPChaosSpec) rule() (*faults.HTTP, error) {
	delay, err := duration(s.Delay)
	switch {
	case err != nil:
		return nil, fmt.Errorf("spec.delay: %w", err)
	case s.Target != targetRequest && s.Target != targetResponse:
		return nil, fmt.Errorf("spec.target %q is none of %s, %s", s.Target, targetRequest, targetResponse)
	case s.Target == targetRequest && (s.Code != 0 || len(s.ResponseHeaders) > 0):
		return nil, fmt.Errorf("spec.code and spec.response_headers select answers: the target %s has none", targetRequest)
	case !s.Abort && delay == 0 && s.Replace == nil && s.Patch == nil:
		return nil, fmt.Errorf("spec has none of abort, delay, replace and patch: say what to do")
	}
	r := &faults.HTTP{
		Path: s.Path, Port: s.Port, Headers: pairs(s.RequestHeaders), Answers: s.Target == targetResponse, Status: s.Code, AnswerHeaders: pairs(s.ResponseHeaders),
		Abort: s.Abort, Delay: delay,
	}
	if s.Method != "" {
		r.Methods = []string{strings.ToUpper(s.Method)}
	}
	change, err := s.change()
	if err != nil {
		return nil, err
	}
	if r.Answers {
		r.Answer = change
	} else {
		r.Request = change
	}
	return r, nil
}

// change returns what replace and patch change.
func (s *HTTPChaosSpec) change() (*faults.Change, error) {
	c := &faults.Change{}
	answers := s.Target == targetResponse
	if r := s.Replace; r != nil {
		switch {
		case answers && (r.Path != "" || r.Method != "" || len(r.Queries) > 0):
			return nil, fmt.Errorf("spec.replace: path, method and queries are of the target %s", targetRequest)
		case !answers && r.Code != 0:
			return nil, fmt.Errorf("spec.replace: code is of the target %s", targetResponse)
		case r.Code != 0 && (r.Code < 200 || r.Code > 599):
			return nil, fmt.Errorf("spec.replace.code is from 200 to 599: %d", r.Code)
		}
		c.Path, c.Method, c.Status, c.Headers, c.Query = r.Path, strings.ToUpper(r.Method), r.Code, pairs(r.Headers), pairs(r.Queries)
		if r.Body != nil {
			body, err := base64.StdEncoding.DecodeString(*r.Body)
			if err != nil {
				return nil, fmt.Errorf("spec.replace.body is no base64")
			}
			text := string(body)
			c.Body = &text
		}
	}
	p := s.Patch
	if p == nil {
		return c, nil
	}
	if answers && len(p.Queries) > 0 {
		return nil, fmt.Errorf("spec.patch: queries are of the target %s", targetRequest)
	}
	var err error
	if c.AddHeaders, err = pairList("spec.patch.headers", p.Headers); err != nil {
		return nil, err
	}
	if c.AddQuery, err = pairList("spec.patch.queries", p.Queries); err != nil {
		return nil, err
	}
	if p.Body == nil {
		return c, nil
	}
	if p.Body.Type != patchJSON {
		return nil, fmt.Errorf("spec.patch.body.type %q is not %s", p.Body.Type, patchJSON)
	}
	if c.JSON, err = faults.ParsePatch(p.Body.Value); err != nil {
		return nil, fmt.Errorf("spec.patch.body.value: %w", err)
	}
	return c, nil
}

func pairs(of map[string]string) (all []faults.Pair) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, faults.Pair{Name: name, Value: of[name]})
	}
	return all
}

func pairList(field string, of [][]string) (all []faults.Pair, err error) {
	for i, p := range of {
		if len(p) != 2 || p[0] == "" {
			return nil, fmt.Errorf("%s[%d] is no name with a value", field, i)
		}
		all = append(all, faults.Pair{Name: p[0], Value: p[1]})
	}
	return all, nil
}
