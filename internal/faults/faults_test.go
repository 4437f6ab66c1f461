package faults

import (
	"context"
	"errors"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	status := Request{Verb: "update", Group: "apps", Resource: "deployments", Subresource: "status", Namespace: "a", User: "u", UserAgent: "kubectl/v1"}
	for _, test := range []struct {
		match Match
		want  bool
	}{
		{Match{}, true},
		{Match{Verbs: []string{"get", "update"}}, true},
		{Match{Verbs: []string{"get"}}, false},
		{Match{Resources: []string{"deployments"}}, false},
		{Match{Resources: []string{"deployments/status"}}, true},
		{Match{Resources: []string{"deployments.apps/*"}}, true},
		{Match{Resources: []string{"deployments.extensions/*"}}, false},
		{Match{Resources: []string{"*"}}, true},
		{Match{Namespaces: []string{"b"}}, false},
		{Match{Users: []string{"u"}, UserAgents: []string{"ctl"}}, true},
		{Match{UserAgents: []string{"curl"}}, false},
	} {
		if got := test.match.Matches(&status); got != test.want {
			t.Errorf("%+v: %v", test.match, got)
		}
	}
}

// The delays of all rules add up, and the oldest rule with a code refuses the request;
// removed rules and rules for other users have no effect.
func TestMeet(t *testing.T) {
	t.Parallel()
	f := New(clock.Real(), clock.NewLedger(), clock.NewRandom(1))
	f.Inject(Rule{Latency: time.Second})
	remove := f.Inject(Rule{Latency: time.Minute, Code: 500, Behind: 7})
	f.Inject(Rule{Code: 429, Match: Match{Verbs: []string{"get"}}})
	f.Exempt("boss")
	get := &Request{Verb: "get", User: "u"}
	if fate := f.Meet(get); latency(fate) != 61*time.Second || fate.Refusal.Code != 500 || fate.Behind != 7 {
		t.Errorf("%+v", fate)
	}
	remove()
	if fate := f.Meet(get); latency(fate) != time.Second || fate.Refusal.Code != 429 || fate.Behind != 0 {
		t.Errorf("after the removal: %+v", fate)
	}
	if fate := f.Meet(&Request{Verb: "get", User: "boss"}); len(fate.Delays) > 0 || fate.Refusal != nil || fate.Behind != 0 {
		t.Errorf("of the exempt: %+v", fate)
	}
}

func latency(fate Fate) (sum time.Duration) {
	for _, d := range fate.Delays {
		sum += d.Of
	}
	return sum
}

func TestDown(t *testing.T) {
	t.Parallel()
	f := New(clock.Real(), clock.NewLedger(), clock.NewRandom(1))
	f.Exempt("boss")
	watching, ended := f.Watching(context.Background(), &Request{Verb: "watch", User: "u"})
	defer ended()
	kept, over := f.Watching(context.Background(), &Request{Verb: "watch", User: "boss"})
	defer over()
	first, second := f.Down(), f.Down()
	if watching.Err() == nil || kept.Err() != nil {
		t.Errorf("the watch: %v, that of the exempt: %v", watching.Err(), kept.Err())
	}
	first()
	first()
	if err := f.Reach(t.Context(), "u", true); !errors.Is(err, ErrRefused) || f.IsDown("boss") {
		t.Errorf("while it is down: %v", err)
	}
	second()
	if err := f.Reach(t.Context(), "u", false); err != nil || f.IsDown("u") {
		t.Errorf("up again: %v", err)
	}
}

// AtRest is true exactly while there is no rule and the server is up.
func TestAtRest(t *testing.T) {
	f := New(clock.Real(), nil, clock.NewRandom(1))
	want := func(rests bool, when string) {
		t.Helper()
		if f.AtRest() != rests {
			t.Errorf("%s, it is at rest: %v", when, !rests)
		}
	}
	want(true, "at first")
	remove := f.Inject(Rule{Code: 500})
	up := f.Down()
	want(false, "with a rule, and down")
	remove()
	want(false, "down")
	up()
	want(true, "up again")
	remove = f.Inject(Rule{Code: 500})
	want(false, "with a rule")
	remove()
	want(true, "in the end")
}
