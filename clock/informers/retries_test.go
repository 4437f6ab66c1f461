package informers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/inflight"
)

// flaky is a server that refuses requests, and notes when they came.
type flaky struct {
	*server
	clock clock.Clock

	mu    sync.Mutex
	code  int   // that requests are refused with; 0: with err
	err   error // that requests fail with
	begun time.Time
	came  []string
}

func (f *flaky) fail(code int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.code, f.err, f.begun, f.came = code, err, f.clock.Now(), nil
}

func (f *flaky) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.came)
}

func (f *flaky) RoundTrip(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	query := req.URL.Query()
	kind := "list"
	if query.Has("watch") {
		kind = "watch"
	}
	if query.Has("sendInitialEvents") {
		kind = "stream"
	}
	f.came = append(f.came, fmt.Sprintf("%s of %q after %v", kind, query.Get("resourceVersion"), f.clock.Since(f.begun)))
	code, err := f.code, f.err
	f.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case code == http.StatusGone && (kind == "list" || query.Get("resourceVersion") == ""), code == 0:
		return f.server.RoundTrip(req)
	}
	status := &metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: map[int]metav1.StatusReason{
		410: metav1.StatusReasonExpired, 429: metav1.StatusReasonTooManyRequests, 500: metav1.StatusReasonInternalError,
	}[code]}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {f.contentType}}, Request: req,
		Body: io.NopCloser(bytes.NewReader(f.encode(status))),
	}, nil
}

// retrying is an informer on a virtual clock whose server is flaky.
type retrying struct {
	*testing.T
	*flaky
	clock    *clock.Virtual
	informer cache.SharedIndexInformer
	handler  *slow
}

func newRetrying(t *testing.T, seed uint64) *retrying {
	t.Helper()
	ledger := clock.NewLedger()
	v := clock.NewVirtual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ledger)
	ledger.RetryOn(v, clock.NewRandom(seed))
	r := &retrying{T: t, clock: v, handler: newSlow(), flaky: &flaky{server: newServer(t, ledger, runtime.ContentTypeProtobuf), clock: v}}
	config := r.config()
	config.Transport = r.flaky
	factory, err := informers.NewForConfig(config, ledger)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
		v.Close()
	})
	r.informer = factory.Core().V1().ConfigMaps().Informer()
	if _, err := r.informer.AddEventHandler(r.handler); err != nil {
		t.Fatal(err)
	}
	if err := r.informer.SetWatchErrorHandler(func(*cache.Reflector, error) {}); err != nil {
		t.Fatal(err)
	}
	// Its starter, for example a step of a scenario, is not counted while it retries.
	factory.StartWithContext(inflight.WithPauser(ctx, uncounted{t}))
	r.advance(0)
	r.write(watch.Added, "first", map[string]string{"n": "1"})
	r.advance(time.Hour)
	return r
}

func (r *retrying) advance(d time.Duration) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	if err := r.clock.Advance(ctx, d); err != nil {
		r.Fatal(err)
	}
}

// breaks ends the watch after it has delivered an event.
func (r *retrying) breaks(name string) {
	r.Helper()
	r.write(watch.Added, name, map[string]string{"n": "1"})
	r.breakStreams(false)
}

// sees that the informer is up to date.
func (r *retrying) sees(name string) {
	r.Helper()
	if !r.handler.has(name) {
		r.Errorf("%s has not come", name)
	}
}

// What fails is tried again by client-go's rules, on the cluster's clock: time passes,
// and one seed gives one course of events.
func TestRetriesFollowTheClustersClock(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for name, test := range map[string]struct {
		code int
		err  error
		same bool // the same request again, and no list
	}{
		"internal error":       {code: http.StatusInternalServerError},
		"too many requests":    {code: http.StatusTooManyRequests, same: true},
		"broken connection":    {err: errors.New("broken")},
		"connection not taken": {err: refused, same: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(seed uint64) []string {
				r := newRetrying(t, seed)
				r.breaks("a")
				r.fail(test.code, test.err)
				r.advance(3 * time.Minute)
				came := r.requests()
				r.fail(0, nil)
				r.advance(2 * time.Minute)
				r.write(watch.Added, "later", map[string]string{"n": "1"})
				r.advance(0)
				r.sees("later")
				return came
			}
			first := run(1)
			checkWaits(t, first)
			if lists := slices.ContainsFunc(first, func(request string) bool { return request[:4] == "list" }); lists == test.same {
				t.Errorf("lists: %t, in %q", lists, first)
			}
			if again := run(1); !slices.Equal(first, again) {
				t.Errorf("one seed gives %q and %q", first, again)
			}
			if other := run(2); slices.Equal(first, other) {
				t.Errorf("two seeds give %q", first)
			}
		})
	}
}

// checkWaits looks for waits that are each the double of the one before, and up to
// twice as long by chance, from 0.8 s to 30 s. The delays are reset every two minutes.
func checkWaits(t *testing.T, requests []string) {
	t.Helper()
	var last, wait time.Duration
	waits, begun := 0, 0
	for _, request := range requests {
		var kind, of string
		var at string
		if _, err := fmt.Sscanf(request, "%s of %q after %s", &kind, &of, &at); err != nil {
			t.Fatal(err)
		}
		now, err := time.ParseDuration(at)
		if err != nil {
			t.Fatal(err)
		}
		if now == last {
			continue
		}
		waits++
		gap, expected := now-last, min(max(2*wait, 800*time.Millisecond), 30*time.Second)
		if gap < expected || gap > 2*expected {
			begun++
			expected = 800 * time.Millisecond
			if gap < expected || gap > 2*expected {
				t.Errorf("a wait of %v after one of about %v: %q", gap, wait, requests)
			}
		}
		last, wait = now, expected
	}
	if waits < 6 || begun > 2 {
		t.Errorf("%d waits, which begin anew %d times: %q", waits, begun, requests)
	}
}

// A history that is gone reaches the reflector, which lists again.
func TestGoneIsListedAgain(t *testing.T) {
	t.Parallel()
	r := newRetrying(t, 1)
	r.breaks("a")
	r.fail(http.StatusGone, nil)
	r.write(watch.Added, "meanwhile", map[string]string{"n": "1"})
	r.advance(time.Minute)
	r.sees("meanwhile")
	if came := r.requests(); len(came) > 5 {
		t.Errorf("it took %q", came)
	}
}

// The informer's own error handler is called, and cannot be set after the start.
func TestErrorHandler(t *testing.T) {
	t.Parallel()
	r := newRetrying(t, 1)
	if err := r.informer.SetWatchErrorHandler(nil); err == nil {
		t.Error("a handler was set while the informer runs")
	}
	ledger := clock.NewLedger()
	ledger.RetryOn(r.clock, clock.NewRandom(1))
	config := r.config()
	config.Transport = r.flaky
	factory, err := informers.NewForConfig(config, ledger)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	informer := factory.Core().V1().ConfigMaps().Informer()
	if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		select {
		case got <- err:
		default:
		}
	}); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	r.fail(0, broken)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer factory.Shutdown()
	defer cancel()
	factory.StartWithContext(ctx)
	select {
	case err := <-got:
		if !errors.Is(err, broken) {
			t.Errorf("the handler got %v", err)
		}
	case <-ctx.Done():
		t.Error("the handler was not called")
	}
}

// uncounted is a caller that must not be paused: nothing counts it.
type uncounted struct{ *testing.T }

func (u uncounted) Pause()  { u.Error("the caller is paused, which does not wait for the informers") }
func (u uncounted) Resume() {}
