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

// planted is the number of histories in which a mistake has to show. Far fewer suffice, so
// that chance does not decide the test.
const planted = "10000"

// MustBreak proves that a property detects a mistake. mistaken checks the property over a
// decision in which a mistake was planted; the test fails unless one of the drawn histories
// breaks the property with a message that contains want.
func MustBreak(t *testing.T, want string, mistaken func(t *rapid.T)) {
	t.Helper()
	// The failure is expected: it needs no shrinking and no file.
	defer setFlags(t, map[string]string{"rapid.shrinktime": "0s", "rapid.nofailfile": "true", "rapid.checks": planted})()
	w := &witness{name: t.Name()}
	// A run ends at its first failure, which may be of another invariant.
	for try := 0; try < 50 && !strings.Contains(w.said.String(), want); try++ {
		w = &witness{name: t.Name()}
		var checking sync.WaitGroup
		checking.Go(func() { rapid.Check(w, mistaken) }) // a failure ends the goroutine
		checking.Wait()
		if !w.failed {
			break
		}
	}
	switch {
	case !w.failed:
		t.Errorf("no history has shown the mistake; want a failure with %q", want)
	case !strings.Contains(w.said.String(), want):
		t.Errorf("the mistake broke something other than %q: %.3000s", want, w.said.String())
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

// witness is a rapid.TB that records a failure instead of failing the test.
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
