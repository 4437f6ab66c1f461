package loop

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/cause"
	"minikcm.dev/minikcm/clock/inflight"
)

// TypedReconciler brings one object's world nearer to what the object asks for. It
// gets a key, not an event: whatever has happened, it looks at what is.
type TypedReconciler[K comparable] interface {
	Reconcile(ctx context.Context, key K) (Result, error)
}

// TypedFunc is a function that is a TypedReconciler.
type TypedFunc[K comparable] func(ctx context.Context, key K) (Result, error)

// Reconcile calls f.
func (f TypedFunc[K]) Reconcile(ctx context.Context, key K) (Result, error) { return f(ctx, key) }

// The loop of a controller, whose keys are the names of API objects, goes by shorter
// names.
type (
	Loop       = Typed[types.NamespacedName]
	Reconciler = TypedReconciler[types.NamespacedName]
	Func       = TypedFunc[types.NamespacedName]
	Options    = TypedOptions[types.NamespacedName]
)

// Result says what a successful reconcile waits for.
type Result struct {
	// RequeueAfter is the cluster's time after which the key is to be looked at
	// again, whatever happens before; 0: there is nothing to wait for.
	RequeueAfter time.Duration
	// Unsure has the key looked at again some seconds later, in case that the event that
	// is to wake it never comes: a conflict need not mean that the object has changed, as
	// admission answers with conflicts of its own.
	Unsure bool
}

// unsureRequeue is the delay before a reconcile that returned Unsure is retried.
const unsureRequeue = 10 * time.Second

// The back-off of failing keys when Options leaves it open, as in upstream's
// controllers.
const (
	DefaultBaseDelay = 5 * time.Millisecond
	DefaultMaxDelay  = 1000 * time.Second
)

// TypedOptions describe a loop. The zero value of a field means what its comment
// says.
type TypedOptions[K comparable] struct {
	// Name of the controller, for logs and metrics, and for the order of turns.
	Name string
	// KeyName names a key in the order of turns; nil: fmt.Sprint.
	KeyName func(K) string
	// Kind is what the ledger counts a key as; 0: inflight.Key.
	Kind inflight.Kind
	// Settled reports of a key that no worker has whether the last one has seen all that
	// there is; see Offer. Nil: it never has.
	Settled func(K) bool
	// Workers is how many keys are reconciled at once; 0: one. Where the ledger makes
	// keys wait for their turn, it is one.
	Workers int
	// Ahead has keys worked on at once where those of others wait for their turn: for a
	// loop whose work something in flight waits for. Its order must not show in what it writes.
	Ahead bool
	// Clock ends delays; nil: the machine's.
	Clock clock.Clock
	// Ledger counts the keys that are queued or worked on; nil: none does.
	Ledger *inflight.Ledger
	// Random is there for loops that spread their retries; nil: none do.
	Random *clock.Random
	Logger klog.Logger
	// BaseDelay and MaxDelay bound a failing key's back-off, which doubles with
	// each failure; 0: DefaultBaseDelay and DefaultMaxDelay.
	BaseDelay, MaxDelay time.Duration
	// MaxRetries is after how many failures in a row a key is given up until
	// something adds it again; 0: never.
	MaxRetries int
	// Metrics receives the queue's depth, adds, latency, duration and retries
	// under Name; nil: the provider that client-go's workqueue was given, if any.
	Metrics workqueue.MetricsProvider
	// Registry gets the loop; nil: none does.
	Registry *TypedRegistry[K]
}

// Typed is one controller's queue and workers. Make it with New, declare what it
// watches with Watch, then Run it, once.
type Typed[K comparable] struct {
	opts       TypedOptions[K]
	reconciler TypedReconciler[K]
	queue      *inflight.Queue[K]
	backoff    workqueue.TypedRateLimiter[K]
	retries    workqueue.CounterMetric
	delays     *delays[K]
	causes     cause.ByKey[K]
	stats      stats[K]
	watches    []watch
	// disturbances are nil until something disturbs it.
	disturbances atomic.Pointer[disturbances[K]]
}

// New returns a loop that calls r for each key. Options that are left out get
// their defaults.
func New[K comparable](opts TypedOptions[K], r TypedReconciler[K]) *Typed[K] {
	if opts.Workers <= 0 {
		opts.Workers = 1
	}
	if opts.Clock == nil {
		opts.Clock = clock.Real()
	}
	if opts.BaseDelay <= 0 {
		opts.BaseDelay = DefaultBaseDelay
	}
	if opts.MaxDelay <= 0 {
		opts.MaxDelay = DefaultMaxDelay
	}
	l := &Typed[K]{
		opts:       opts,
		reconciler: r,
		backoff:    workqueue.NewTypedItemExponentialFailureRateLimiter[K](opts.BaseDelay, opts.MaxDelay),
	}
	l.queue = inflight.NewQueue(inflight.QueueOptions[K]{
		Ledger: opts.Ledger, Kind: opts.Kind, Name: opts.Name, KeyName: opts.KeyName, Ahead: opts.Ahead, Settled: opts.Settled,
		MetricsName: opts.Name, Metrics: opts.Metrics,
	})
	if l.queue.TakesTurns() {
		l.opts.Workers = 1
	}
	if opts.Metrics != nil {
		l.retries = opts.Metrics.NewRetriesMetric(opts.Name)
	}
	l.delays = newDelays(opts.Clock, func(key K) { l.Add(key) })
	opts.Registry.add(l)
	return l
}

// Add queues key at once. The causes are the resourceVersions of what made it
// necessary.
func (l *Typed[K]) Add(key K, causes ...int64) {
	// Before the queue knows of the key, so that the worker that takes it finds
	// them.
	l.causes.Add(key, causes)
	if !l.holds(key) {
		l.queue.Add(key)
	}
}

// Offer is Add for what a reconcile of the key may have brought about itself: it does
// nothing if the loop's Settled says so. See inflight.Queue.
func (l *Typed[K]) Offer(key K) {
	if !l.holds(key) {
		l.queue.Offer(key)
	}
}

// AddAfter queues key when d of the cluster's time has passed. Of several delays
// of one key the one that ends first is kept. The causes are those of Add.
func (l *Typed[K]) AddAfter(key K, d time.Duration, causes ...int64) {
	if d <= 0 {
		l.Add(key, causes...)
		return
	}
	l.causes.Add(key, causes)
	l.delays.add(key, d)
}

// Len returns how many keys are queued and not being reconciled.
func (l *Typed[K]) Len() int { return l.queue.Len() }

// Run waits until the watched informers have synced, then reconciles keys until
// ctx ends. Keys that are queued then are dropped; reconciles that run then get
// the ended context. It returns nil when ctx has ended and everything with it.
func (l *Typed[K]) Run(ctx context.Context) error {
	defer l.Close()
	if l.waitForSync(ctx) {
		l.queue.Run(ctx, l.opts.Workers, l.process)
	}
	return nil
}

func (l *Typed[K]) waitForSync(ctx context.Context) bool {
	synced := make([]cache.DoneChecker, 0, len(l.watches))
	for _, w := range l.watches {
		synced = append(synced, w.registration.HasSyncedChecker())
	}
	return len(synced) == 0 || cache.WaitFor(klog.NewContext(ctx, l.opts.Logger.V(4)), l.opts.Name, synced...)
}

// Close ends timers and handlers, and drops what is still queued. Run does that itself;
// it is for a loop that was not run.
func (l *Typed[K]) Close() {
	for _, w := range l.watches {
		// The informer may have stopped before us: then there is nothing to remove.
		_ = w.informer.RemoveEventHandler(w.registration)
	}
	l.delays.stop()
	l.stopDisturbances()
	l.queue.Close()
}

func (l *Typed[K]) process(ctx context.Context, key K) {
	if ctx.Err() != nil {
		return
	}
	logger := klog.LoggerWithValues(l.opts.Logger, "controller", l.opts.Name, "key", key)
	causes := l.causes.Take(key)
	ctx = klog.NewContext(cause.With(ctx, causes), logger)
	if l.queue.TakesTurns() {
		ctx = clock.OneByOne(ctx)
	}
	l.stats.began(key, l.opts.Clock.Now())
	result, err := l.reconcile(ctx, key)
	if err == nil {
		l.backoff.Forget(key)
		l.stats.succeeded(key)
		if result.Unsure {
			l.AddAfter(key, unsureRequeue)
		}
		if result.RequeueAfter > 0 {
			l.AddAfter(key, result.RequeueAfter)
		}
		return
	}
	if ctx.Err() != nil {
		l.stats.interrupted(key)
		return
	}
	// What the next try does, it does for the same reasons.
	l.causes.Add(key, causes)
	l.failed(logger, key, err)
}

// failed schedules the retry of a key and names it: at first quietly, as most
// failures are conflicts that the next reconcile does not have.
func (l *Typed[K]) failed(logger klog.Logger, key K, err error) {
	failures := l.backoff.NumRequeues(key) + 1
	l.stats.failed(key, failures, err, l.opts.Clock.Now())
	if l.opts.MaxRetries > 0 && failures > l.opts.MaxRetries {
		logger.Error(err, "Reconcile failed, giving up until the object changes", "failures", failures)
		l.backoff.Forget(key)
		return
	}
	delay := l.backoff.When(key)
	if failures < quietFailures {
		logger.V(2).Info("Reconcile failed, will retry", "err", err, "failures", failures, "after", delay)
	} else {
		logger.Error(err, "Reconcile keeps failing, will retry", "failures", failures, "after", delay)
	}
	l.stats.retried()
	if l.retries != nil {
		l.retries.Inc()
	}
	l.AddAfter(key, delay)
}

// quietFailures is how many failures in a row make a key worth an error line.
const quietFailures = 5

// PanicError is the error of a reconcile that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
