package faults

import (
	"strings"
	"testing"
)

func TestPatch(t *testing.T) {
	for _, tt := range []struct{ patch, body, want string }{
		{`{"a": 2, "b": null}`, `{"a":1,"b":1,"c":1}`, `{"a":2,"c":1}`},
		{`{"a": 2}`, "{\"a\":1}\n", "{\"a\":2}\n"},
		{`[{"op": "replace", "path": "/a", "value": 2}]`, `{"a":1}`, `{"a":2}`},
		{`[{"op": "remove", "path": "/x"}]`, `{"a":1}`, `{"a":1}`},
		{`{"a": 2}`, "no JSON", "no JSON"},
		{`{"a": 2}`, "", ""},
		{`{"a": 2}`, strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat("[", 100) + strings.Repeat("]", 100)},
	} {
		p, err := ParsePatch(tt.patch)
		if err != nil {
			t.Errorf("%s: %v", tt.patch, err)
			continue
		}
		if got := string(p.Apply([]byte(tt.body))); got != tt.want {
			t.Errorf("%s of %q: got %q, want %q", tt.patch, tt.body, got, tt.want)
		}
	}
	for _, text := range []string{"", "{", "[1]", `[{"op": "copy", "from": "/a", "path": "/b"}]`, strings.Repeat("[", 100), "[" + strings.Repeat(`{"op":"remove","path":"/a"},`, 100) + `{"op":"remove","path":"/a"}]`} {
		if _, err := ParsePatch(text); err == nil {
			t.Errorf("%.40q is a patch", text)
		}
	}
}

// A fault of answers meets those with its status and headers, one of requests before a server gets them.
func TestRequestsAndAnswers(t *testing.T) {
	header := func(of map[string]string) func(string) string { return func(name string) string { return of[name] } }
	request, answer := &Change{Path: "/b"}, &Change{Status: 503}
	e := &Effect{HTTP: []*Rule{
		{Percent: 100, HTTP: &HTTP{Path: "/a*", Port: 80, Headers: []Pair{{"X", "1"}}, Request: request}},
		{Percent: 100, HTTP: &HTTP{Answers: true, Status: 200, AnswerHeaders: []Pair{{"Y", "2"}}, Answer: answer, Abort: true}},
	}}
	for _, tt := range []struct {
		asked            Asked
		status           int
		headers          map[string]string
		changes, answers int
		abort            bool
	}{
		{Asked{"GET", "/a/x", 80, header(map[string]string{"X": "1"})}, 200, map[string]string{"Y": "2"}, 1, 1, true},
		{Asked{"GET", "/a/x", 81, header(map[string]string{"X": "1"})}, 404, map[string]string{"Y": "2"}, 0, 0, false},
		{Asked{"GET", "/a/x", 80, header(nil)}, 200, nil, 0, 0, false},
		{Asked{"GET", "/x", 80, header(map[string]string{"X": "1"})}, 200, map[string]string{"Y": "2"}, 0, 1, true},
	} {
		m := e.Request(&tt.asked, &Chance{})
		a := m.Answer(tt.status, header(tt.headers))
		if len(m.Changes) != tt.changes || m.Abort || len(a.Changes) != tt.answers || a.Abort != tt.abort {
			t.Errorf("%+v: %+v, %+v", tt.asked, m, a)
		}
	}
	if m := (*Effect)(nil).Request(&Asked{}, &Chance{}); m.Abort || len(m.Answer(200, header(nil)).Changes) > 0 {
		t.Error("a connection without faults is met")
	}
}
