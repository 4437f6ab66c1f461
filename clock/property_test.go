package clock_test

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// plan holds the actions of a timer that fires: it sets timers, stops others and resets others. It
// identifies timers by their index in the order of creation, modulo their number.
type plan struct {
	Delay  time.Duration
	Sets   []*plan
	Stops  []int
	Resets []reset
}

type reset struct {
	Timer int
	Delay time.Duration
}

// delays are few, so that many timers are due at the same instant.
func delays() *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.IntRange(-1, 6), func(n int) time.Duration { return time.Duration(n) * time.Second })
}

func plans(depth int) *rapid.Generator[*plan] {
	return rapid.Custom(func(t *rapid.T) *plan {
		p := &plan{Delay: delays().Draw(t, "delay")}
		if depth > 0 {
			p.Sets = rapid.SliceOfN(plans(depth-1), 0, 3).Draw(t, "sets")
		}
		p.Stops = rapid.SliceOfN(rapid.IntRange(0, 50), 0, 2).Draw(t, "stops")
		// A timer that resets timers to a delay of 0 would never end.
		p.Resets = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) reset {
			return reset{rapid.IntRange(0, 50).Draw(t, "timer"), time.Second + max(0, delays().Draw(t, "by"))}
		}), 0, 2).Draw(t, "resets")
		return p
	})
}

// firing is a timer that fired, and when.
type firing struct {
	Timer int
	At    time.Duration
}

// timers carries out the actions of plans. The clock under test and its model implement it.
type timers interface {
	set(p *plan)
	stop(timer int)
	reset(timer int, d time.Duration)
	count() int
}

func carryOut(p *plan, on timers) {
	for _, child := range p.Sets {
		on.set(child)
	}
	for _, n := range p.Stops {
		on.stop(n % on.count())
	}
	for _, r := range p.Resets {
		on.reset(r.Timer%on.count(), r.Delay)
	}
}

// onClock carries plans out on a Virtual. Its functions run one after the other.
type onClock struct {
	v      *clock.Virtual
	mu     sync.Mutex
	timers []interface {
		Stop() bool
		Reset(time.Duration) bool
	}
	fired []firing
}

func (c *onClock) set(p *plan) {
	n := len(c.timers)
	c.timers = append(c.timers, nil)
	c.timers[n] = c.v.AfterFunc(p.Delay, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.fired = append(c.fired, firing{n, c.v.Since(epoch)})
		carryOut(p, c)
	})
}

func (c *onClock) stop(n int)                   { c.timers[n].Stop() }
func (c *onClock) reset(n int, d time.Duration) { c.timers[n].Reset(d) }
func (c *onClock) count() int                   { return len(c.timers) }

// model is a clock that sorts its timers.
type model struct {
	now    time.Duration
	order  int
	timers []modelTimer
	fired  []firing
}

type modelTimer struct {
	plan  *plan
	armed bool
	due   time.Duration
	order int
}

func (m *model) set(p *plan) {
	m.timers = append(m.timers, modelTimer{plan: p})
	m.reset(len(m.timers)-1, p.Delay)
}

func (m *model) stop(n int) { m.timers[n].armed = false }

func (m *model) reset(n int, d time.Duration) {
	m.order++
	t := &m.timers[n]
	t.armed, t.due, t.order = true, m.now+max(d, 0), m.order
}

func (m *model) count() int { return len(m.timers) }

func (m *model) advance(d time.Duration) {
	end := m.now + d
	for {
		next := -1
		for n, t := range m.timers {
			if !t.armed || t.due > end {
				continue
			}
			if next < 0 || cmp.Or(cmp.Compare(t.due, m.timers[next].due), cmp.Compare(t.order, m.timers[next].order)) < 0 {
				next = n
			}
		}
		if next < 0 {
			break
		}
		t := &m.timers[next]
		t.armed, m.now = false, t.due
		m.fired = append(m.fired, firing{next, m.now})
		carryOut(t.plan, m)
	}
	m.now = end
}

// Timers fire exactly when they are due, in the order of their due times and then of
// their setting, none is lost, and none that was stopped fires.
func TestTimersFireAsTheModelSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := clock.NewVirtual(epoch, nil)
		defer v.Close()
		c, m := &onClock{v: v}, &model{}
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			// What is set from outside is set for later: a timer for no time at all
			// fires while the next one is being set.
			for _, p := range rapid.SliceOfN(plans(2), 1, 4).Draw(t, "plans") {
				p.Delay = max(p.Delay, time.Second)
				c.mu.Lock()
				c.set(p)
				c.mu.Unlock()
				m.set(p)
			}
			d := max(0, delays().Draw(t, "advance"))
			if err := v.Advance(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			m.advance(d)
			if got := v.Since(epoch); got != m.now {
				t.Fatalf("the clock is at %v after advancing, want %v", got, m.now)
			}
			c.mu.Lock()
			if diff := gocmp.Diff(m.fired, c.fired); diff != "" {
				t.Fatalf("fired (-want +got):\n%s", diff)
			}
			c.mu.Unlock()
		}
	})
}

// errand is a piece of work, the work that it starts, and the timers that it sets.
type errand struct {
	Kind   clock.Kind
	Yields int
	Next   []*errand
	Timers []delayed
}

type delayed struct {
	Delay  time.Duration
	Errand *errand
}

func errands(depth int) *rapid.Generator[*errand] {
	return rapid.Custom(func(t *rapid.T) *errand {
		e := &errand{
			Kind:   rapid.SampledFrom([]clock.Kind{clock.Request, clock.Event, clock.Key, clock.Action}).Draw(t, "kind"),
			Yields: rapid.IntRange(0, 20).Draw(t, "yields"),
		}
		if depth == 0 {
			return e
		}
		e.Next = rapid.SliceOfN(errands(depth-1), 0, 2).Draw(t, "next")
		for _, after := range rapid.SliceOfN(errands(depth-1), 0, 2).Draw(t, "after") {
			e.Timers = append(e.Timers, delayed{delays().Draw(t, "delay"), after})
		}
		return e
	})
}

// office does errands, each in a goroutine of its own, and notes those during which
// time went by.
type office struct {
	v      *clock.Virtual
	ledger *clock.Ledger
	idle   sync.WaitGroup

	mu    sync.Mutex
	moved []clock.Kind
	done  []time.Duration
}

// begin counts e before it returns, and hands it to a goroutine.
func (o *office) begin(e *errand) {
	work := inflight.Begin(o.ledger, e.Kind)
	at := o.v.Now()
	o.idle.Go(func() {
		for range e.Yields {
			runtime.Gosched()
		}
		for _, d := range e.Timers {
			o.v.AfterFunc(d.Delay, func() { o.begin(d.Errand) })
		}
		for _, next := range e.Next {
			o.begin(next)
		}
		o.mu.Lock()
		o.done = append(o.done, o.v.Since(epoch))
		if !o.v.Now().Equal(at) {
			o.moved = append(o.moved, e.Kind)
		}
		o.mu.Unlock()
		work.End()
	})
}

// times returns when e and the errands that follow from it are done, if time stands still for each.
func (e *errand) times(at time.Duration) []time.Duration {
	all := []time.Duration{at}
	for _, next := range e.Next {
		all = append(all, next.times(at)...)
	}
	for _, d := range e.Timers {
		all = append(all, d.Errand.times(at+max(d.Delay, 0))...)
	}
	return all
}

// No time goes by while a request is served, a watch event is undelivered, a key is
// queued or a kubelet's action is due, and so each piece of work is done at the
// instant at which it came up.
func TestNoTimePassesWhileAnythingIsInFlight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ledger := clock.NewLedger()
		v := clock.NewVirtual(epoch, ledger)
		defer v.Close()
		o := &office{v: v, ledger: ledger}
		var want []time.Duration
		for _, e := range rapid.SliceOfN(errands(3), 1, 4).Draw(t, "errands") {
			o.begin(e)
			want = append(want, e.times(0)...)
		}
		if err := v.Advance(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if !ledger.Idle() {
			t.Errorf("in flight after Advance: %s", ledger)
		}
		o.idle.Wait()
		if len(o.moved) > 0 {
			t.Errorf("time went by during %v", o.moved)
		}
		slices.Sort(want)
		if slices.Sort(o.done); !slices.Equal(want, o.done) {
			t.Errorf("work was done at %v, want %v", o.done, want)
		}
	})
}
