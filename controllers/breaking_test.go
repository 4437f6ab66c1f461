package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/loop"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// broken is a manager on virtual time of one controller, "c", which can be broken.
type broken struct {
	*testing.T
	*Manager
	clock *clock.Virtual
	made  []string // when, and by how much its clock is ahead
	fails int      // how many of the next instances cannot be made
}

func newBroken(t *testing.T) *broken {
	t.Helper()
	ledger := clock.NewLedger()
	b := &broken{T: t, clock: clock.NewVirtual(epoch, ledger)}
	t.Cleanup(b.clock.Close)
	e, client := newEnv()
	e.Clock, e.Ledger = b.clock, ledger
	e.Recorder = events.NewRecorder(client.CoreV1(), b.clock, ledger, clock.NewRandom(1), "tester")
	m, stop := start(t, e, Options{}, Descriptor{Name: "c", Build: func(p *controller.Parts) error {
		if len(b.made) > 0 && b.fails > 0 {
			b.fails--
			return errors.New("no connection")
		}
		b.made = append(b.made, b.clock.Since(epoch).String()+" "+p.Clock.Now().Sub(b.clock.Now()).String())
		l := p.Loop(loop.Func(
			func(context.Context, types.NamespacedName) (loop.Result, error) { return loop.Result{}, nil }))
		l.Add(types.NamespacedName{Name: "k"}) // is in flight until it is reconciled
		return nil
	}})
	t.Cleanup(stop)
	b.Manager = m
	for {
		m.members[0].mu.Lock()
		running := m.members[0].run != nil
		m.members[0].mu.Unlock()
		if running {
			return b
		}
		b.advance(time.Millisecond)
	}
}

func (b *broken) advance(d time.Duration) {
	b.Helper()
	if err := b.clock.Advance(b.Context(), d); err != nil {
		b.Fatal(err)
	}
}

func (b *broken) do(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *broken) takeDown() (up func()) {
	b.Helper()
	up, err := b.TakeDown("c")
	b.do(err)
	return up
}

// TestTimePassesWhileAControllerIsBroken breaks a controller a second time before it has
// recovered. Its restarts are in flight only when nothing has to pass before them but turns.
func TestTimePassesWhileAControllerIsBroken(t *testing.T) {
	tests := map[string]struct {
		do   func(b *broken)
		want []string // how often and with which clock it is made after the first time
	}{
		"the clock of one that rests is skewed": {
			func(b *broken) { b.do(b.Crash("c")); b.do(b.Skew("c", time.Minute)) },
			[]string{"1s 1m0s"},
		},
		"the clock of one that is down is skewed": {
			func(b *broken) { up := b.takeDown(); b.do(b.Skew("c", time.Minute)); up() },
			[]string{"0s 1m0s"},
		},
		"one that rests is down for less than its rest": {
			func(b *broken) { b.do(b.Crash("c")); b.takeDown()() },
			[]string{"1s 0s"},
		},
		"one that rests is down for longer": {
			func(b *broken) { b.do(b.Crash("c")); up := b.takeDown(); b.advance(time.Minute); up() },
			[]string{"1m0s 0s"},
		},
		"one that is down cannot be made again for three seconds": {
			func(b *broken) { b.fails = 2; b.takeDown()() },
			[]string{"3s 0s"},
		},
		"one is taken down twice": {
			func(b *broken) {
				first, second := b.takeDown(), b.takeDown()
				b.advance(time.Minute)
				first()
				b.advance(time.Minute)
				second()
			},
			[]string{"2m0s 0s"},
		},
		"one that comes up is taken down again": {
			func(b *broken) { b.takeDown()(); up := b.takeDown(); b.advance(time.Minute); up() },
			[]string{"1m0s 0s"},
		},
		"one that is down crashes": {
			func(b *broken) { up := b.takeDown(); b.do(b.Crash("c")); b.advance(time.Minute); up() },
			[]string{"1m0s 0s"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBroken(t)
			broke := b.clock.Since(epoch)
			test.do(b)
			b.advance(time.Hour)
			var want []string
			for _, line := range test.want {
				at, skew, _ := strings.Cut(line, " ")
				d, err := time.ParseDuration(at)
				b.do(err)
				want = append(want, (broke+d).String()+" "+skew)
			}
			if got := b.made[1:]; !slices.Equal(got, want) {
				t.Errorf("it was made at %q, want %q", got, want)
			}
		})
	}
}
