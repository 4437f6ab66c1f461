package inflight_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"minikcm.dev/minikcm/internal/inflight"
)

func TestLedgerWaitIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inflight.NewLedger()
		requests := inflight.NewTally(l, inflight.Request)
		requests.Add(2)
		key := inflight.Begin(l, inflight.Key)
		if got, want := l.String(), "2 requests, 1 queued keys"; got != want {
			t.Errorf("in flight: %q, want %q", got, want)
		}
		idle := make(chan error, 1)
		go func() { idle <- l.WaitIdle(t.Context()) }()
		requests.Clear()
		synctest.Wait()
		select {
		case <-idle:
			t.Error("WaitIdle returned with a key in flight")
		default:
		}
		if l.Idle() {
			t.Error("idle with a key in flight")
		}
		key.End()
		if err := <-idle; err != nil {
			t.Error(err)
		}
		if got := l.String(); !l.Idle() || got != "nothing" {
			t.Errorf("in flight at the end: %s", got)
		}
	})
}

func TestLedgerWaitIdleGivesUp(t *testing.T) {
	l := inflight.NewLedger()
	inflight.Begin(l, inflight.Action)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := l.WaitIdle(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 kubelet actions") {
		t.Errorf("got %v, want what is in flight and the context's error", err)
	}
}

func TestNilLedger(t *testing.T) {
	var l *inflight.Ledger
	inflight.Begin(l, inflight.Event).End()
	if !l.Idle() || l.String() != "nothing" {
		t.Error("a nil ledger is not idle")
	}
	if err := l.WaitIdle(t.Context()); err != nil {
		t.Error(err)
	}
}
