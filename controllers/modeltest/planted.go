package modeltest

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// planted is how many histories a mistake has to show itself in: far more than it
// takes, so that chance decides about no test.
const planted = "10000"

// MustBreak proves that a property sees: mistaken is the property over a decision in
// which a mistake was planted, and the test fails unless one of its drawn histories
// breaks it with a message that has want in it.
func MustBreak(t *testing.T, want string, mistaken func(t *rapid.T)) {
	t.Helper()
	// What breaks is as it should be: it needs no smaller example, and no file.
	defer setFlags(t, map[string]string{"rapid.shrinktime": "0s", "rapid.nofailfile": "true", "rapid.checks": planted})()
	w := &witness{name: t.Name()}
	// Another history may break something else first.
	for try := 0; try < 50 && !strings.Contains(w.said.String(), want); try++ {
		w = &witness{name: t.Name()}
		var checking sync.WaitGroup
		checking.Go(func() { rapid.Check(w, mistaken) }) // a goroutine that it may end
		checking.Wait()
		if !w.failed {
			break
		}
	}
	switch {
	case !w.failed:
		t.Errorf("no history has shown the mistake; %q was to be said", want)
	case !strings.Contains(w.said.String(), want):
		t.Errorf("the mistake broke something else than %q: %.3000s", want, w.said.String())
	}
}

func setFlags(t *testing.T, values map[string]string) (restore func()) {
	t.Helper()
	before := map[string]string{}
	set := func(values map[string]string) {
		for name, value := range values {
			if err := flag.Set(name, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name := range values {
		before[name] = flag.Lookup(name).Value.String()
	}
	set(values)
	return func() { set(before) }
}

// witness is a test that may fail.
type witness struct {
	name   string
	said   strings.Builder
	failed bool
}

var _ rapid.TB = &witness{}

func (w *witness) Helper()                   {}
func (w *witness) Name() string              { return w.name }
func (w *witness) Logf(f string, a ...any)   { _, _ = fmt.Fprintf(&w.said, f+"\n", a...) }
func (w *witness) Log(a ...any)              { _, _ = fmt.Fprintln(&w.said, a...) }
func (w *witness) Skipf(f string, a ...any)  { w.Logf(f, a...); w.SkipNow() }
func (w *witness) Skip(a ...any)             { w.Log(a...); w.SkipNow() }
func (w *witness) SkipNow()                  { runtime.Goexit() }
func (w *witness) Errorf(f string, a ...any) { w.Logf(f, a...); w.Fail() }
func (w *witness) Error(a ...any)            { w.Log(a...); w.Fail() }
func (w *witness) Fatalf(f string, a ...any) { w.Logf(f, a...); w.FailNow() }
func (w *witness) Fatal(a ...any)            { w.Log(a...); w.FailNow() }
func (w *witness) FailNow()                  { w.Fail(); runtime.Goexit() }
func (w *witness) Fail()                     { w.failed = true }
func (w *witness) Failed() bool              { return w.failed }
