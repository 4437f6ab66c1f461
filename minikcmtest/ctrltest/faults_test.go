package ctrltest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
)

// underFaults runs an operator on ten Sites while the API server fails half of its writes,
// delays all of them, drops watches and is down for a while. It returns the writes.
func underFaults(t *testing.T) []string {
	t.Helper()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Clock.Driven, o.Faults.API = true, true
	}))
	k := startSites(t, c)
	operator := minikcm.APIFaultMatch{Users: []string{ctrltest.DefaultUser}}
	writes := operator
	writes.Verbs = []string{"create", "update"}
	remove := []func(){
		c.APIFaults().Inject(minikcm.APIFault{Match: writes, Code: 500, Share: 0.5}),
		c.APIFaults().Inject(minikcm.APIFault{Match: operator, Latency: 100 * time.Millisecond, Jitter: time.Second}),
	}
	for i := range 10 {
		if err := k.Create(t.Context(), site(fmt.Sprintf("site-%d", i), 3)); err != nil {
			t.Fatal(err)
		}
	}
	advance(t, c, 10*time.Second)
	if dropped := c.APIFaults().DropWatches(operator, 0); dropped != 2 {
		t.Errorf("%d watches of the operator were dropped, want 2", dropped)
	}
	advance(t, c, 10*time.Second)
	up := c.APIFaults().Down()
	advance(t, c, 30*time.Second)
	up()
	advance(t, c, time.Minute)
	for _, end := range remove {
		end()
	}
	advance(t, c, time.Hour)
	list := &SiteList{}
	if err := k.List(t.Context(), list, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Items {
		if s.Status.Pages != 3 {
			t.Errorf("%s has %d pages, want 3", s.Name, s.Status.Pages)
		}
	}
	var course []string
	for _, w := range seededWrites(c) {
		course = append(course, fmt.Sprintf("%d %s %s %s by %s because of %v", w.Revision, w.Time.Format(time.RFC3339Nano), w.Verb, w.Name, w.Actor, w.Causes))
	}
	return course
}

// An operator reaches its goal despite faults of the API server, with the same writes in each
// run.
func TestFaults(t *testing.T) {
	t.Parallel()
	first := underFaults(t)
	if again := underFaults(t); !slices.Equal(first, again) {
		for i := range min(len(first), len(again)) {
			if first[i] != again[i] {
				t.Fatalf("the second run differs at write %d:\n%s\n%s", i, first[i], again[i])
			}
		}
		t.Errorf("one run makes %d writes, the other %d", len(first), len(again))
	}
}
