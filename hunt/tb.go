package hunt

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

// trialTB is the testing.TB of one run: what fails in the run is the run's outcome, not the test's.
type trialTB struct {
	testing.TB // for the methods that have no effect on the outcome

	context  func() context.Context
	cancel   context.CancelFunc
	mu       sync.Mutex
	failed   bool
	text     strings.Builder
	cleanups []func()
}

// newTrialTB returns the test of a run that ends with ctx; t is nil if there is no test around it.
func newTrialTB(ctx context.Context, t testing.TB) *trialTB {
	ctx, cancel := context.WithCancel(ctx)
	return &trialTB{TB: t, context: func() context.Context { return ctx }, cancel: cancel}
}

// within calls do and then the cleanups, in a goroutine that FailNow may end, and returns when that is over.
func (t *trialTB) within(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.cleanUp()
		defer t.cancel()
		t.guarded(do)
	}()
	<-done
}

// guarded calls f. A panic fails the run.
func (t *trialTB) guarded(f func()) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f()
}

func (t *trialTB) cleanUp() {
	for {
		t.mu.Lock()
		n := len(t.cleanups)
		if n == 0 {
			t.mu.Unlock()
			return
		}
		f := t.cleanups[n-1]
		t.cleanups = slices.Delete(t.cleanups, n-1, n)
		t.mu.Unlock()
		done := make(chan struct{})
		go func() { // it may call FailNow
			defer close(done)
			t.guarded(f)
		}()
		<-done
	}
}

// failure returns what the run failed with; empty if it did not.
func (t *trialTB) failure() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.failed {
		return ""
	}
	return strings.TrimSpace(t.text.String())
}

func (t *trialTB) add(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.WriteString(strings.TrimRight(text, "\n") + "\n")
}

// The methods of testing.TB.

func (t *trialTB) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

func (t *trialTB) Context() context.Context { return t.context() }
func (t *trialTB) Helper()                  {}

func (t *trialTB) Fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
}

func (t *trialTB) FailNow() {
	t.Fail()
	runtime.Goexit()
}

func (t *trialTB) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// Log and Logf are not shown: many runs would log the same.
func (t *trialTB) Log(...any)          {}
func (t *trialTB) Logf(string, ...any) {}

func (t *trialTB) Error(args ...any) {
	t.add(fmt.Sprintln(args...))
	t.Fail()
}

func (t *trialTB) Errorf(format string, args ...any) {
	t.add(fmt.Sprintf(format, args...))
	t.Fail()
}

func (t *trialTB) Fatal(args ...any) {
	t.add(fmt.Sprintln(args...))
	t.FailNow()
}

func (t *trialTB) Fatalf(format string, args ...any) {
	t.add(fmt.Sprintf(format, args...))
	t.FailNow()
}

func (t *trialTB) Skip(args ...any)                 { t.Fatal(args...) }
func (t *trialTB) Skipf(format string, args ...any) { t.Fatalf(format, args...) }
func (t *trialTB) SkipNow()                         { t.Fatal("the operator skipped its test") }
