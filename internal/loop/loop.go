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
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/inflight"
)

// TypedReconciler moves the state of one object towards its spec. It gets a key, not an
// event: it acts on the current state, whatever has changed.
type TypedReconciler[K comparable] interface {
	Reconcile(ctx context.Context, key K) (Result, error)
}

// TypedFunc is a function that implements TypedReconciler.
type TypedFunc[K comparable] func(ctx context.Context, key K) (Result, error)

// Reconcile calls f.
func (f TypedFunc[K]) Reconcile(ctx context.Context, key K) (Result, error) { return f(ctx, key) }

// Typed is the queue and the workers of one controller. After NewTyped and the calls of Watch, Run
// may be called once.
//
// It is an interface because the compiler instantiates a generic struct, with all its methods, in each package
// that reads it (docs/decisions/0062-what-importers-compile.md).
type Typed[K comparable] interface {
	// Add queues key at once. The causes are the resourceVersions of the objects whose change made
	// it necessary.
	Add(key K, causes ...int64)
	// Offer is Add for a change that a reconcile of the key may have made itself: it does nothing
	// if Settled returns true. See inflight.Queue.
	Offer(key K)
	// AddAfter queues key after d of the cluster's time. If the key waits for several delays, only the
	// delay that ends first is kept. The causes have the same meaning as in Add.
	AddAfter(key K, d time.Duration, causes ...int64)
	// Watch queues the keys that mapFn returns for each event of the informer, with the event's
	// resourceVersion as their cause. It must be called before Run, which waits for the
	// informer's sync and removes the handler at its end. Tombstones are unwrapped. mapFn runs on
	// the informer's goroutine and must not block. It may have side effects (expectations).
	//
	// A fault may drop events (Lose). observers get dropped events too, and all events before mapFn
	// does: their state agrees with the informer's cache, which the fault does not change either.
	Watch(informer cache.SharedIndexInformer, mapFn func(ev Event) []K, observers ...func(ev Event))
	// Run waits until the watched informers have synced, then reconciles keys until ctx ends. It
	// then drops the queued keys, and waits for running reconciles, whose context has ended. It
	// returns nil.
	Run(ctx context.Context) error
	// Close removes event handlers, stops timers and drops queued keys. Run calls it; other
	// callers need it only for a loop that is never run.
	Close()

	// Len returns the number of keys that are queued and not being reconciled.
	Len() int
	// Delays returns the keys that wait for a time, and when they are due.
	Delays() map[K]time.Time
	// Stats returns the current figures.
	Stats() TypedStats[K]
	// State returns the loop's state. It lists the names of all objects in the informers, so its cost
	// grows with their number.
	State() State
	// Trace calls f with each step from now on, until stop is called. f must not block. Calls may
	// be concurrent, and one may still run when stop returns.
	Trace(f func(Step)) (stop func())

	// Pause holds all keys back until resume is called. Running reconciles continue.
	Pause() (resume func())
	// Slow makes each reconcile take longer, by a duration of the cluster's time, until end is
	// called. The workers are slowed concurrently.
	Slow(by time.Duration) (end func())
	// Lose drops a share of the delivered events until end is called.
	Lose(share float64, random *clock.Random) (end func())
}

// The types of the loops of controllers, whose keys are names of API objects.
type (
	Loop       = Typed[types.NamespacedName]
	Reconciler = TypedReconciler[types.NamespacedName]
	Func       = TypedFunc[types.NamespacedName]
	Options    = TypedOptions[types.NamespacedName]
)

// Result is the outcome of a successful reconcile.
type Result struct {
	// RequeueAfter is the delay, in the cluster's time, after which the key is reconciled
	// again even without an event; 0: it is not.
	RequeueAfter time.Duration
	// Unsure makes the loop retry the key after unsureRequeue, in case the event that should
	// enqueue it never comes: a conflict does not always mean that the object has changed,
	// because admission may return conflicts too.
	Unsure bool
	// Postponed reports that the reconcile did nothing but wait for RequeueAfter: the next one has
	// its causes too.
	Postponed bool
}

// unsureRequeue is the delay before a reconcile that returned Unsure is retried.
const unsureRequeue = 10 * time.Second

// The default back-off of failing keys, as in upstream's controllers.
const (
	DefaultBaseDelay = 5 * time.Millisecond
	DefaultMaxDelay  = 1000 * time.Second
)

// TypedOptions configure a loop. The comment of each field gives its default.
type TypedOptions[K comparable] struct {
	// Name of the controller, for logs and metrics, and for the order of turns.
	Name string
	// KeyName names a key in the order of turns; nil: fmt.Sprint.
	KeyName func(K) string
	// Kind is the kind of work that the ledger counts a key as; 0: inflight.Key.
	Kind inflight.Kind
	// Settled reports whether the last reconcile of a key, which no worker has, has seen the
	// current state; see Offer. Nil: never.
	Settled func(K) bool
	// Workers is the number of keys reconciled concurrently; 0: one. If keys take turns in
	// the ledger, it is always one.
	Workers int
	// First makes the turns of keys come before the turns of other loops. It is for a loop whose
	// work others depend on, such as reading which kinds exist.
	First bool
	// Clock is used for delays; nil: the machine's.
	Clock clock.Clock
	// Ledger counts the keys that are queued or being reconciled; nil: they are not counted.
	Ledger *inflight.Ledger
	// Random is for loops that add jitter to their retries; nil: no jitter.
	Random *clock.Random
	Logger klog.Logger
	// BaseDelay and MaxDelay bound the back-off of a failing key, which doubles with each
	// failure; 0: DefaultBaseDelay and DefaultMaxDelay.
	BaseDelay, MaxDelay time.Duration
	// MaxRetries is the number of consecutive failures after which a key is dropped until
	// the next Add; 0: unlimited.
	MaxRetries int
	// Metrics receives the queue's depth, adds, latency, duration and retries under Name;
	// nil: the global provider of client-go's workqueue, if one is set.
	Metrics workqueue.MetricsProvider
	// Registry is where the loop is listed; nil: nowhere. The loops of controllers use a *Registry.
	Registry interface{ add(Typed[K]) }
}

// typed implements Typed.
type typed[K comparable] struct {
	opts       TypedOptions[K]
	reconciler TypedReconciler[K]
	queue      inflight.Queue[K]
	backoff    workqueue.TypedRateLimiter[K]
	retries    workqueue.CounterMetric
	delays     *delays[K]
	causes     cause.ByKey[K]
	stats      stats[K]
	watches    []watch
	tracers    tracers
	// disturbances are nil until something disturbs it.
	disturbances atomic.Pointer[disturbances[K]]
}

// New is NewTyped for the loop of a controller. Inlined, it would instantiate the loop in the package of each
// controller.
//
//go:noinline
func New(opts Options, r Reconciler) Loop { return NewTyped(opts, r) }

// NewTyped returns a loop that calls r for each key. Options that are left out get
// their defaults.
func NewTyped[K comparable](opts TypedOptions[K], r TypedReconciler[K]) Typed[K] {
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
	l := &typed[K]{
		opts:       opts,
		reconciler: r,
		backoff:    workqueue.NewTypedItemExponentialFailureRateLimiter[K](opts.BaseDelay, opts.MaxDelay),
	}
	l.queue = inflight.NewQueue(inflight.QueueOptions[K]{
		Ledger: opts.Ledger, Kind: opts.Kind, Name: opts.Name, KeyName: opts.KeyName, First: opts.First, Settled: opts.Settled,
		MetricsName: opts.Name, Metrics: opts.Metrics,
	})
	if l.queue.TakesTurns() {
		l.opts.Workers = 1
	}
	if opts.Metrics != nil {
		l.retries = opts.Metrics.NewRetriesMetric(opts.Name)
	}
	l.delays = newDelays(opts.Clock, func(key K) { l.Add(key) })
	if opts.Registry != nil {
		opts.Registry.add(l)
	}
	return l
}

func (l *typed[K]) Add(key K, causes ...int64) {
	// This precedes the queue's Add, so that the worker that takes the key finds the causes.
	l.causes.Add(key, causes)
	if l.holds(key) {
		l.trace(Step{Stage: Held, Key: l.keyText(key)})
		return
	}
	l.enqueue(key)
}

// enqueue queues a key.
func (l *typed[K]) enqueue(key K) {
	if l.traced() {
		stage := Queued
		if l.queue.IsWaiting(key) {
			stage = Merged
		}
		l.trace(Step{Stage: stage, Key: l.keyText(key)})
	}
	l.queue.Add(key)
}

func (l *typed[K]) Offer(key K) {
	if !l.holds(key) {
		l.queue.Offer(key)
	}
}

func (l *typed[K]) AddAfter(key K, d time.Duration, causes ...int64) {
	if d <= 0 {
		l.Add(key, causes...)
		return
	}
	l.causes.Add(key, causes)
	if l.delays.add(key, d) && l.traced() {
		due := l.opts.Clock.Now().Add(d).UTC()
		l.trace(Step{Stage: Delayed, Key: l.keyText(key), Due: &due, Failures: l.backoff.NumRequeues(key)})
	}
}

func (l *typed[K]) Len() int { return l.queue.Len() }

func (l *typed[K]) Run(ctx context.Context) error {
	defer l.Close()
	reportBegun(ctx)
	if l.waitForSync(ctx) {
		l.queue.Run(ctx, l.opts.Workers, l.process)
	}
	return nil
}

func (l *typed[K]) waitForSync(ctx context.Context) bool {
	synced := make([]cache.DoneChecker, 0, len(l.watches))
	for _, w := range l.watches {
		synced = append(synced, w.registration.HasSyncedChecker())
	}
	return len(synced) == 0 || cache.WaitFor(klog.NewContext(ctx, l.opts.Logger.V(4)), l.opts.Name, synced...)
}

func (l *typed[K]) Close() {
	for _, w := range l.watches {
		// An informer that has stopped already returns an error, which is of no interest.
		_ = w.informer.RemoveEventHandler(w.registration)
	}
	l.delays.stop()
	l.stopDisturbances()
	l.queue.Close()
}

func (l *typed[K]) process(ctx context.Context, key K) {
	if ctx.Err() != nil {
		return
	}
	logger := klog.LoggerWithValues(l.opts.Logger, "controller", l.opts.Name, "key", key)
	causes := l.causes.Take(key)
	ctx = klog.NewContext(cause.With(ctx, causes), logger)
	ctx = l.withStops(ctx, key, causes)
	if l.queue.TakesTurns() || stops(ctx) {
		ctx = clock.OneByOne(ctx)
	}
	l.stats.began(key, l.opts.Clock.Now())
	if l.traced() {
		l.trace(Step{Stage: Began, Key: l.keyText(key), Causes: causes})
	}
	result, err := l.reconcile(l.withWrites(ctx, key), key)
	if err == nil {
		l.stopUnchanged(ctx, key)
		if l.traced() {
			l.trace(Step{Stage: Ended, Key: l.keyText(key)})
		}
		l.backoff.Forget(key)
		l.stats.succeeded(key)
		if result.Unsure {
			l.AddAfter(key, unsureRequeue)
		}
		if result.Postponed {
			l.causes.Add(key, causes)
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
	// The retry has the same causes.
	l.causes.Add(key, causes)
	l.failed(ctx, logger, key, err)
}

// failed schedules the retry of a key. The first failures are logged at level 2 only, since
// most of them are conflicts that the retry resolves.
func (l *typed[K]) failed(ctx context.Context, logger klog.Logger, key K, err error) {
	failures := l.backoff.NumRequeues(key) + 1
	l.stopFailed(ctx, failures, err)
	l.stats.failed(key, failures, err, l.opts.Clock.Now())
	if l.traced() {
		l.trace(Step{Stage: Failed, Key: l.keyText(key), Failures: failures, Error: err.Error()})
	}
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

// quietFailures is the number of consecutive failures of a key from which they are logged as
// errors.
const quietFailures = 5

// PanicError is the error of a reconcile that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
