package cloud

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestPasses(t *testing.T) {
	t.Parallel()
	epoch := time.Unix(1_000_000, 0)
	at := func(s float64) time.Time { return epoch.Add(time.Duration(s * float64(time.Second))) }
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	p := NewPasses(epoch, 5*time.Second)
	check := func(key types.NamespacedName, s float64, due bool, wait time.Duration) {
		t.Helper()
		if gotDue, gotWait := p.Take(key, at(s)); gotDue != due || gotWait != wait {
			t.Errorf("Take(%s) at %vs = %v, %v, want %v, %v", key.Name, s, gotDue, gotWait, due, wait)
		}
	}
	check(a, 0, false, 0) // nothing has woken it
	p.Wake(a, at(-1))
	check(a, 0, true, 0) // the first pass is at the start
	p.Wake(a, at(5))
	check(a, 5, true, 0) // a pass at this moment is the next one
	p.Wake(a, at(5.5))
	p.Wake(a, at(11)) // it is woken already
	p.Wake(b, at(11))
	check(a, 7, false, 3*time.Second)
	check(a, 11, true, 0)
	check(a, 11, false, 0)
	check(b, 11, false, 4*time.Second)
	if wait := p.Again(a, at(15)); wait != 5*time.Second {
		t.Errorf("Again() at a pass = %v", wait)
	}
	check(a, 20, true, 0)
}

func TestProviders(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"": true, "external": true, "simulated": true, "aws": false, "Simulated": false} {
		if err := CheckProvider(name); (err == nil) != ok {
			t.Errorf("CheckProvider(%q) = %v", name, err)
		}
	}
}
