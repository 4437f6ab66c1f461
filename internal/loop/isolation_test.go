package loop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/loop"
)

// TestAStuckReconcileHoldsUpItsKeyAlone checks that other keys are reconciled, and that Stats
// shows which key is stuck, and since when.
func TestAStuckReconcileHoldsUpItsKeyAlone(t *testing.T) {
	ledger := clock.NewLedger()
	virtual := clock.NewVirtual(start, ledger)
	defer virtual.Close()
	var registry loop.Registry
	stuck, release, neighbours := make(chan struct{}), make(chan struct{}), make(chan string, 10)
	l := loop.New(loop.Options{Name: "test", Workers: 2, Clock: virtual, Ledger: ledger, Registry: &registry}, loop.Func(func(_ context.Context, k types.NamespacedName) (loop.Result, error) {
		if k.Name == "stuck" {
			close(stuck)
			<-release
			return loop.Result{}, nil
		}
		neighbours <- k.Name
		return loop.Result{}, nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- l.Run(ctx) }()
	l.Add(key("stuck"))
	<-stuck
	for _, name := range []string{"a", "b", "c"} {
		l.Add(key(name))
		if got := <-neighbours; got != name {
			t.Errorf("reconciled %s, want %s", got, name)
		}
	}
	seen := false
	for _, s := range registry.Stats() {
		for _, r := range s.InProgress {
			seen = seen || r.Key == key("stuck") && r.Since.Equal(start)
		}
	}
	if !seen {
		t.Errorf("the stuck key is not shown: %+v", registry.Stats())
	}
	close(release)
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); len(s.InProgress) != 0 || s.Reconciles != 4 {
		t.Errorf("after the end: %+v", s)
	}
}

// TestAPoisonedObject checks that a key that always fails is retried with growing delays and
// listed in Failing, and that other keys are not affected.
func TestAPoisonedObject(t *testing.T) {
	f := newFixture(t, loop.Options{BaseDelay: time.Second, MaxDelay: 8 * time.Second}, func(_ *fixture, _ context.Context, k types.NamespacedName) (loop.Result, error) {
		switch k.Name {
		case "poisoned":
			return loop.Result{}, errors.New("no such template")
		case "mine":
			panic("boom")
		}
		return loop.Result{}, nil
	})
	f.run()
	f.loop.Add(key("poisoned"))
	f.idle()
	f.advance(20 * time.Second)
	f.expect("poisoned at 0s", "poisoned at 1s", "poisoned at 3s", "poisoned at 7s", "poisoned at 15s")
	s := f.loop.Stats()
	if s.Failing[key("poisoned")] != 5 || s.Retries != 5 || s.LastError != "no such template" || s.LastErrorKey != key("poisoned") || !s.LastErrorTime.Equal(start.Add(15*time.Second)) {
		t.Errorf("stats = %+v", s)
	}
	f.loop.Add(key("mine"))
	f.loop.Add(key("good"))
	f.idle()
	s = f.loop.Stats()
	if s.Panics != 1 || s.Failing[key("mine")] != 1 || s.Failing[key("good")] != 0 || !strings.Contains(s.LastError, "boom") {
		t.Errorf("stats after a panic = %+v", s)
	}
}

func TestAPanicOfAMapping(t *testing.T) {
	informer, _ := podInformer(t, pod("bad", "", ""), pod("good", "", ""))
	reconciled := make(chan string, 10)
	l := loop.New(loop.Options{Name: "test"}, loop.Func(func(_ context.Context, k types.NamespacedName) (loop.Result, error) {
		reconciled <- k.Name
		return loop.Result{}, nil
	}))
	l.Watch(informer, func(ev loop.Event) []types.NamespacedName {
		if ev.Object.(*corev1.Pod).Name == "bad" {
			panic("cannot map this")
		}
		return loop.Self(ev)
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- l.Run(ctx) }()
	running := make(chan struct{})
	go func() {
		defer close(running)
		informer.RunWithContext(ctx)
	}()
	if got := <-reconciled; got != "good" {
		t.Errorf("reconciled %s", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	<-running
	if s := l.Stats(); s.Panics != 1 {
		t.Errorf("stats = %+v", s)
	}
}
