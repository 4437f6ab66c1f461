package informers

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// The back-off of client-go's NewReflectorWithOptions before it lists or watches again.
const (
	firstRetry      = 800 * time.Millisecond
	longestRetry    = 30 * time.Second
	retriesDoubled  = 38 // the longest delay divided by the first, rounded up
	retriesBegin    = 2 * time.Minute
	longerByAtMost  = 1.0
	timesLongerEach = 2.0
)

// errNotLed fails the reflector's requests until the informer leads it.
var errNotLed = errors.New("the informer does not lead its reflector yet")

// retries schedules a reflector's lists and watches after one has failed or ended, with
// client-go's delays but on the cluster's clock.
//
// A reflector retries in a loop of its own, whose delays always follow the machine's clock.
// Therefore the informer leads it: the reflector's first request fails, so it calls its
// error handler. The handler does not return. From then on it calls the reflector's list and
// watch itself, and waits between the calls.
type retries struct {
	clock   clock.Clock
	chances inflight.Chances

	mu     sync.Mutex
	led    bool
	chance func() float64
	delay  wait.DelayFunc
}

// newRetries returns nil if reflectors retry by the machine's clock.
func newRetries(ledger *clock.Ledger) *retries {
	r := ledger.Retries()
	if r == nil {
		return nil
	}
	return &retries{clock: r.Clock, chances: r.Chances}
}

// lead resets the delays to the initial one, as a new reflector does.
func (r *retries) lead() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.led = true
	if r.chance == nil {
		r.chance = r.chances.Fractions("retries") // its client was not made by Wrap
	}
	r.delay = wait.Backoff{
		Duration: firstRetry, Cap: longestRetry, Steps: retriesDoubled, Factor: timesLongerEach,
	}.DelayWithReset(r.clock, retriesBegin)
}

// mayAsk reports whether the informer leads the reflector that sends req.
func (r *retries) mayAsk(req *http.Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.led && r.chance == nil {
		// The path distinguishes informers, and is the same in every run of a seed.
		query := req.URL.Query()
		r.chance = r.chances.Fractions(strings.Join([]string{"retries", req.UserAgent(), req.URL.Path, query.Get("labelSelector"), query.Get("fieldSelector")}, "\x00"))
	}
	return r.led
}

// next returns the delay before the next request.
func (r *retries) next() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.delay()
	return d + time.Duration(r.chance()*longerByAtMost*float64(d))
}

// rest waits for the delay before the reflector's next request. The reflector has dropped
// the objects that it received and has not stored.
func (f *flow) rest(ctx context.Context) error {
	f.request()
	d := f.retries.next()
	if _, virtual := f.retries.clock.(*clock.Virtual); virtual && !f.mayPause() {
		// Virtual time may stand still until the informer has synced.
		if f.isAbsent() {
			ctx = inflight.WithPauser(ctx, f)
		}
		return inflight.Sleep(ctx, clock.Real(), d)
	}
	return inflight.Sleep(inflight.WithPauser(ctx, f), f.retries.clock, d)
}

// asksAgain reports whether a reflector repeats its watch request after this response, with
// a delay on the machine's clock.
func asksAgain(resp *http.Response, err error) bool {
	if err != nil {
		return utilnet.IsConnectionRefused(err)
	}
	return resp.StatusCode == http.StatusTooManyRequests
}

// SetWatchErrorHandler is SetWatchErrorHandlerWithContext for handlers without one.
func (i *informer) SetWatchErrorHandler(handler cache.WatchErrorHandler) error {
	return i.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) { handler(r, err) })
}

// SetWatchErrorHandlerWithContext sets the function that is called when a list or
// watch has failed. It returns an error once the informer runs.
func (i *informer) SetWatchErrorHandlerWithContext(handler cache.WatchErrorHandlerWithContext) error {
	if i.flow.retries == nil {
		return i.SharedIndexInformer.SetWatchErrorHandlerWithContext(handler)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running != nil {
		return errors.New("informer has already started")
	}
	i.onError = handler
	return nil
}

// leadReflector is the error handler of a reflector that the informer leads. It returns when
// ctx has ended.
func (i *informer) leadReflector(ctx context.Context, r *cache.Reflector, _ error) {
	i.mu.Lock()
	onError := i.onError
	i.mu.Unlock()
	i.flow.retries.lead()
	for {
		if err := r.ListAndWatchWithContext(ctx); err != nil {
			onError(ctx, r, err)
		}
		if err := i.flow.rest(ctx); err != nil {
			return
		}
	}
}
