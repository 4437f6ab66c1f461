package hunt

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Repeat is the body of a regression test that WithTests has written: it calls the test that found a bug, in which Run makes only
// the run of the finding. It fails as Replay does. within names the call of Run if there are several: the subtest, and a number sign
// with the number of the call in it from the second one on ("scaled", "#2", "scaled#2").
//
//	func TestSiteHuntCrashAtomicity1a2b3c4d(t *testing.T) {
//		hunt.Repeat(t, TestSite, "", []string{"crash after create configmaps default/home-0"})
//	}
func Repeat(t *testing.T, test func(*testing.T), within string, disturbances []string) {
	t.Helper()
	list, err := parseDisturbances(disturbances)
	if err != nil {
		t.Fatal(err)
	}
	r := &repetition{within: within, list: list}
	calls.repeat(t.Name(), r)
	t.Cleanup(func() { // after parallel subtests
		if !calls.forget(t.Name(), r) && !t.Failed() && !t.Skipped() {
			t.Errorf("hunt: the test calls no Run within %q any more: remove this regression test, or name another call", within)
		}
	})
	test(t)
}

// calls knows the tests of this process that call Run. The test that Repeat calls has no other way to learn that it is one of
// Repeat.
var calls = registry{counts: map[string]int{}, repetitions: map[string]*repetition{}}

type registry struct {
	mu sync.Mutex
	// counts are the calls of Run by the name of the test or subtest.
	counts map[string]int
	// repetitions are the running calls of Repeat by the name of their test.
	repetitions map[string]*repetition
}

// repetition is a call of Repeat.
type repetition struct {
	within string
	list   []Disturbance
	found  bool
}

// call is one call of Run.
type call struct {
	// test is the function that was called, and within is as for Repeat.
	test, within string
	// repetition is not nil if the test is called by Repeat.
	repetition *repetition
}

// skipped reports whether another call of Run is to be repeated.
func (c *call) skipped() bool { return c.repetition != nil && c.repetition.within != c.within }

func (r *registry) repeat(test string, repetition *repetition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repetitions[test] = repetition
}

// forget ends a repetition, and reports whether its call of Run took place.
func (r *registry) forget(test string, repetition *repetition) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.repetitions, test)
	return repetition.found
}

// begin notes a call of Run.
func (r *registry) begin(t testing.TB) *call {
	name := t.Name()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[name]++
	number := r.counts[name]
	if number == 1 {
		t.Cleanup(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.counts, name)
		})
	}
	suffix := ""
	if number > 1 {
		suffix = fmt.Sprintf("#%d", number)
	}
	c := &call{}
	c.test, c.within, _ = strings.Cut(name, "/")
	for test, repetition := range r.repetitions {
		if within, ok := strings.CutPrefix(name+"/", test+"/"); ok {
			c.within, c.repetition = strings.TrimSuffix(within, "/"), repetition
		}
	}
	c.within += suffix
	if c.repetition != nil && !c.skipped() {
		c.repetition.found = true
	}
	return c
}
