package loop_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/loop"
)

// trail collects steps.
type trail struct {
	mu    sync.Mutex
	lines []string
}

func (s *trail) add(step loop.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := fmt.Sprintf("%s %s", step.Stage, step.Key)
	if step.Object != "" {
		line += fmt.Sprintf(" %s %s %s", step.Verb, step.Object, step.Revision)
	}
	if len(step.Causes) > 0 {
		line += fmt.Sprintf(" because of %v", step.Causes)
	}
	if step.Due != nil {
		line += " due " + step.Due.Sub(start.UTC()).String()
	}
	if step.Error != "" {
		line += fmt.Sprintf(" (%d) %s", step.Failures, step.Error)
	}
	s.lines = append(s.lines, line)
}

// A trace has each step of a key's way, and none after its end.
func TestTrace(t *testing.T) {
	t.Parallel()
	failures := 1
	f := newFixture(t, loop.Options{BaseDelay: time.Second}, func(_ *fixture, ctx context.Context, k types.NamespacedName) (loop.Result, error) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "8"}}
		loop.TraceWrite(ctx, loop.Planned, "create", pod, nil)
		loop.TraceWrite(ctx, loop.Wrote, "create", pod, nil)
		if failures > 0 {
			failures--
			return loop.Result{}, errors.New("no luck")
		}
		return loop.Result{}, nil
	})
	var seen trail
	stop := f.loop.Trace(seen.add)
	f.loop.Add(key("x"), 7)
	f.loop.Add(key("x"), 9)
	if s := f.loop.State(); cmp.Diff(s.Queued, []string{"a/x"}) != "" || s.QueuedCount != 1 || s.Workers != 1 {
		t.Errorf("before the loop runs, its state is %+v", s)
	}
	f.run()
	f.idle()
	if s := f.loop.State(); len(s.Delayed) != 1 || s.Delayed[0].Failures != 1 || !s.Delayed[0].Due.Equal(start.Add(time.Second)) || s.QueuedCount != 0 {
		t.Errorf("after a failure, its state is %+v", s)
	}
	f.advance(time.Minute)
	stop()
	f.loop.Add(key("y"))
	f.advance(time.Minute)
	want := []string{
		"queued a/x", "merged a/x",
		"began a/x because of [7 9]", "planned a/x create Pod/web ", "wrote a/x create Pod/web 8", "failed a/x (1) no luck", "delayed a/x due 1s",
		"queued a/x", "began a/x because of [7 9]", "planned a/x create Pod/web ", "wrote a/x create Pod/web 8", "ended a/x",
	}
	if diff := cmp.Diff(want, seen.lines); diff != "" {
		t.Errorf("the steps differ (-want +got):\n%s", diff)
	}
}

// Keys that faults hold back or slow are in the state.
func TestStateOfDisturbed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, loop.Options{}, func(*fixture, context.Context, types.NamespacedName) (loop.Result, error) { return loop.Result{}, nil })
	f.run()
	var seen trail
	defer f.loop.Trace(seen.add)()
	resume := f.loop.Pause()
	f.loop.Add(key("x"))
	if s := f.loop.State(); cmp.Diff(s.Queued, []string{"a/x"}) != "" || s.QueuedCount != 1 {
		t.Errorf("paused, its state is %+v", s)
	}
	if diff := cmp.Diff([]string{"held a/x"}, seen.lines); diff != "" {
		t.Errorf("the steps differ (-want +got):\n%s", diff)
	}
	resume()
	f.idle()
	end := f.loop.Slow(time.Hour)
	f.loop.Add(key("x"))
	if s := f.loop.State(); len(s.Delayed) != 1 || s.DelayedCount != 1 || s.Reconciles != 1 {
		t.Errorf("slowed, its state is %+v", s)
	}
	end()
}
