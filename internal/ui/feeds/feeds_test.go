package feeds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"
)

// api is an API server whose watches the test feeds.
type api struct {
	t       *testing.T
	feeds   *Feeds
	watches []*watch
	refuses error
}

type watch struct {
	*io.PipeWriter

	version uint64
	// ended is closed when the feed ends the watch.
	ended <-chan struct{}
}

func (w *watch) over() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// inBubble runs a test on a clock that moves when all goroutines wait.
func inBubble(t *testing.T, test func(*api)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &api{t: t}
		a.feeds = New(func(ctx context.Context, path string, version uint64) (io.ReadCloser, error) {
			if a.refuses != nil {
				return nil, a.refuses
			}
			r, w := io.Pipe()
			context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
			a.watches = append(a.watches, &watch{PipeWriter: w, version: version, ended: ctx.Done()})
			return r, nil
		}, klog.Background())
		test(a)
		a.feeds.Close()
	})
}

func (a *api) subscribe(version uint64) *Subscription {
	a.t.Helper()
	s, err := a.feeds.Subscribe(a.t.Context(), "/api/v1/pods", version)
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}

// send sends events of a watch, as "TYPE UID VERSION".
func (w *watch) send(events ...string) { w.sendLarge("", events...) }

// sendLarge sends objects with more data.
func (w *watch) sendLarge(data string, events ...string) {
	for _, e := range events {
		var kind, uid, version string
		_, _ = fmt.Sscan(e, &kind, &uid, &version)
		uid = strings.TrimPrefix(uid, "-") // a bookmark has none
		_, _ = fmt.Fprintf(w, `{"type":%q,"object":{"metadata":{"uid":%q,"resourceVersion":%q}%s}}`+"\n", kind, uid, version, data)
	}
	synctest.Wait()
}

// next returns the events of the next message, as they were sent.
func (a *api) next(s *Subscription) string {
	a.t.Helper()
	before := s.version
	if _, err := s.Next(a.t.Context()); err != nil {
		return err.Error()
	}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	lines := strings.TrimSuffix(string(s.feed.afterLocked(before, s.version)), "\n")
	return strings.NewReplacer(`{"type":"`, "", `","object":{"metadata":{"uid":"`, " ", `","resourceVersion":"`, " ", `"}}}`, "", "\n", ", ").Replace(lines)
}

func (a *api) expect(s *Subscription, want string) {
	a.t.Helper()
	if got := a.next(s); got != want {
		a.t.Errorf("the message has %q, want %q", got, want)
	}
}

// TestLatestEvents shares a watch between subscribers of several versions.
func TestLatestEvents(t *testing.T) {
	inBubble(t, func(a *api) {
		first, second := a.subscribe(99), a.subscribe(99)
		later := a.subscribe(101)
		w := a.watches[0]
		w.send("MODIFIED a 100")
		a.expect(first, "MODIFIED a 100")
		w.send("ADDED b 101", "MODIFIED a 102", "ADDED c 103", "DELETED c 104")
		a.expect(first, "ADDED b 101, MODIFIED a 102, DELETED c 104")
		a.expect(second, "ADDED b 101, MODIFIED a 102, DELETED c 104") // 100 was replaced
		a.expect(later, "MODIFIED a 102, DELETED c 104")
		a.expect(a.subscribe(99), "ADDED b 101, MODIFIED a 102, DELETED c 104")
		w.send("BOOKMARK - 110")
		a.expect(later, "BOOKMARK  110")
		if len(a.watches) != 1 {
			t.Errorf("there are %d watches", len(a.watches))
		}
	})
}

// TestSameBytes encodes a message once for all subscribers at the same version.
func TestSameBytes(t *testing.T) {
	inBubble(t, func(a *api) {
		first, second := a.subscribe(99), a.subscribe(99)
		a.watches[0].send("ADDED a 100")
		m, err := first.Next(a.t.Context())
		same, err2 := second.Next(a.t.Context())
		if m == nil || m != same || err != nil || err2 != nil {
			t.Errorf("the messages are %p and %p: %v, %v", m, same, err, err2)
		}
	})
}

// TestOlderVersion opens another watch for a version that the first one does not reach back to.
func TestOlderVersion(t *testing.T) {
	inBubble(t, func(a *api) {
		recent, old := a.subscribe(99), a.subscribe(50)
		if len(a.watches) != 2 || a.watches[1].version != 50 {
			t.Fatalf("there are %d watches", len(a.watches))
		}
		a.watches[1].send("ADDED a 60")
		a.expect(old, "ADDED a 60")
		a.watches[0].send("ADDED b 100")
		a.expect(recent, "ADDED b 100")
		a.subscribe(70) // joins the second
		if len(a.watches) != 2 {
			t.Errorf("there are %d watches", len(a.watches))
		}
	})
}

// TestHistoryHasALimit keeps the latest events of a feed whose objects are large.
func TestHistoryHasALimit(t *testing.T) {
	inBubble(t, func(a *api) {
		slow, fast := a.subscribe(1), a.subscribe(1)
		large := `,"data":"` + strings.Repeat("x", maxHistory/4) + `"`
		for i := range 6 {
			a.watches[0].sendLarge(large, fmt.Sprintf("ADDED pod-%d %d", i, i+2))
			if _, err := fast.Next(a.t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		a.expect(slow, ErrOver.Error())
		a.watches[0].send("MODIFIED pod-0 8", "DELETED pod-1 9") // whose events are no longer kept
		a.expect(fast, "MODIFIED pod-0 8, DELETED pod-1 9")
		if f := fast.feed; f.size > maxHistory || f.oldest != 4 || len(f.history)-f.replaced != 5 {
			t.Errorf("the history has %d bytes, %d events, after %d", f.size, len(f.history)-f.replaced, f.oldest)
		}
	})
}

// TestEndOfWatch passes on the event that ends a watch; later subscribers begin another.
func TestEndOfWatch(t *testing.T) {
	inBubble(t, func(a *api) {
		s := a.subscribe(99)
		a.watches[0].send("ADDED a 100", "ERROR gone 0")
		a.expect(s, "ADDED a 100")
		a.expect(s, "ERROR gone 0")
		a.expect(s, ErrOver.Error())
		a.subscribe(100)
		if len(a.watches) != 2 {
			t.Errorf("there are %d watches", len(a.watches))
		}
	})
}

// TestLeave ends a watch with its last subscriber.
func TestLeave(t *testing.T) {
	inBubble(t, func(a *api) {
		first, second := a.subscribe(99), a.subscribe(99)
		first.Leave()
		if a.watches[0].over() {
			t.Error("the watch ends with its first subscriber")
		}
		second.Leave()
		if !a.watches[0].over() {
			t.Error("the watch outlives its last subscriber")
		}
		synctest.Wait()
		a.subscribe(99)
		if len(a.watches) != 2 {
			t.Errorf("there are %d watches", len(a.watches))
		}
	})
}

// TestRefusedWatch returns the API server's error, and the next subscriber tries again.
func TestRefusedWatch(t *testing.T) {
	inBubble(t, func(a *api) {
		a.refuses = errors.New("too old")
		if _, err := a.feeds.Subscribe(a.t.Context(), "/api/v1/pods", 1); !errors.Is(err, a.refuses) {
			t.Errorf("the error is %v", err)
		}
		a.refuses = nil
		s := a.subscribe(2)
		a.feeds.Close()
		a.expect(s, ErrOver.Error())
		if _, err := a.feeds.Subscribe(a.t.Context(), "/api/v1/pods", 3); !errors.Is(err, ErrOver) {
			t.Errorf("after Close, the error is %v", err)
		}
	})
}

func TestInterval(t *testing.T) {
	for subscribers, want := range map[int64]time.Duration{
		0:     100 * time.Millisecond,
		1:     100 * time.Millisecond,
		10:    100 * time.Millisecond,
		11:    102 * time.Millisecond,
		100:   280 * time.Millisecond,
		10000: time.Second,
	} {
		if got := interval(subscribers); got != want {
			t.Errorf("with %d subscribers: %v, want %v", subscribers, got, want)
		}
	}
}
