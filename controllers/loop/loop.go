package loop

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/cause"
)

// Reconciler brings one object's world nearer to what the object asks for. It
// gets a key, not an event: whatever has happened, it looks at what is.
type Reconciler interface {
	Reconcile(ctx context.Context, key types.NamespacedName) (Result, error)
}

// Func is a function that is a Reconciler.
type Func func(ctx context.Context, key types.NamespacedName) (Result, error)

// Reconcile calls f.
func (f Func) Reconcile(ctx context.Context, key types.NamespacedName) (Result, error) {
	return f(ctx, key)
}

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

// unheard is after how long a key is looked at again whose reconcile was unsure.
const unheard = 10 * time.Second

// The back-off of failing keys when Options leaves it open, as in upstream's
// controllers.
const (
	DefaultBaseDelay = 5 * time.Millisecond
	DefaultMaxDelay  = 1000 * time.Second
)

// Options describe a loop. The zero value of a field means what its comment
// says.
type Options struct {
	// Name of the controller, for logs and metrics.
	Name string
	// Workers is how many keys are reconciled at once; 0: one. Where the ledger makes
	// keys wait for their turn, it is one.
	Workers int
	// Ahead has keys worked on at once where those of others wait for their turn: for a
	// loop whose work something in flight waits for. Its order must not show in what it writes.
	Ahead bool
	// Clock ends delays; nil: the machine's.
	Clock clock.Clock
	// Ledger is told of queued keys; nil: nobody is.
	Ledger *clock.Ledger
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
	// Registry is told of the loop; nil: nobody is.
	Registry *Registry
}

// Loop is one controller's queue and workers. Make it with New, declare what it
// watches with Watch, then Run it, once.
type Loop struct {
	opts       Options
	reconciler Reconciler
	queue      *workqueue.Typed[types.NamespacedName]
	turns      *turnQueue // nil unless the ledger gives keys their turns
	backoff    workqueue.TypedRateLimiter[types.NamespacedName]
	retries    workqueue.CounterMetric
	delays     *delays
	causes     cause.ByKey[types.NamespacedName]
	stats      stats
	watches    []watch
	// disturbances are nil until somebody disturbs it.
	disturbances atomic.Pointer[disturbances]
}

// New returns a loop that calls r for each key. Options that are left out get
// their defaults.
func New(opts Options, r Reconciler) *Loop {
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
	l := &Loop{
		opts:       opts,
		reconciler: r,
		backoff:    workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](opts.BaseDelay, opts.MaxDelay),
	}
	var queue workqueue.Queue[types.NamespacedName] = &countedQueue{ledger: opts.Ledger}
	if opts.Ledger.TakesTurns() && !opts.Ahead {
		l.opts.Workers = 1
		l.turns = newTurnQueue(opts.Name, opts.Ledger)
		queue = l.turns
	}
	// The queue uses its clock for metrics only, whose histograms measure how
	// long the machine took: a ticker on a virtual clock would also wake it
	// twice a second for nothing.
	l.queue = workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[types.NamespacedName]{
		Name:            opts.Name,
		MetricsProvider: opts.Metrics,
		Clock:           clock.Real(),
		Queue:           queue,
	})
	if opts.Metrics != nil {
		l.retries = opts.Metrics.NewRetriesMetric(opts.Name)
	}
	l.delays = newDelays(opts.Clock, func(key types.NamespacedName) { l.Add(key) })
	opts.Registry.add(l)
	return l
}

// Add queues key at once. The causes are the resourceVersions of what made it
// necessary.
func (l *Loop) Add(key types.NamespacedName, causes ...int64) {
	// Before the queue knows of the key, so that the worker that takes it finds
	// them.
	l.causes.Add(key, causes)
	if !l.holds(key) {
		l.queue.Add(key)
	}
}

// AddAfter queues key when d of the cluster's time has passed. Of several delays
// of one key the one that ends first is kept. The causes are those of Add.
func (l *Loop) AddAfter(key types.NamespacedName, d time.Duration, causes ...int64) {
	if d <= 0 {
		l.Add(key, causes...)
		return
	}
	l.causes.Add(key, causes)
	l.delays.add(key, d)
}

// Len returns how many keys are queued and not being reconciled.
func (l *Loop) Len() int { return l.queue.Len() }

// Run waits until the watched informers have synced, then reconciles keys until
// ctx ends. Keys that are queued then are dropped; reconciles that run then get
// the ended context. It returns nil when ctx has ended and everything with it.
func (l *Loop) Run(ctx context.Context) error {
	defer l.stop()
	if !l.waitForSync(ctx) {
		return nil
	}
	var workers sync.WaitGroup
	var work func()
	work = func() {
		workers.Go(func() {
			for l.next(ctx, work) {
			}
		})
	}
	for range l.opts.Workers {
		work()
	}
	<-ctx.Done()
	l.queue.ShutDown()
	workers.Wait()
	return nil
}

func (l *Loop) waitForSync(ctx context.Context) bool {
	synced := make([]cache.DoneChecker, 0, len(l.watches))
	for _, w := range l.watches {
		synced = append(synced, w.registration.HasSyncedChecker())
	}
	return len(synced) == 0 || cache.WaitFor(klog.NewContext(ctx, l.opts.Logger.V(4)), l.opts.Name, synced...)
}

// stop ends timers and handlers and drops what is still queued.
func (l *Loop) stop() {
	for _, w := range l.watches {
		// The informer may have stopped before us: then there is nothing to remove.
		_ = w.informer.RemoveEventHandler(w.registration)
	}
	l.delays.stop()
	l.stopDisturbances()
	l.queue.ShutDown()
	for {
		key, shutdown := l.queue.Get()
		if shutdown {
			return
		}
		l.done(key)
	}
}

// next reconciles one key; false when the queue has been shut down, or substitute was
// called: for another worker, as the turns of other keys come while a reconcile lets
// virtual time pass.
func (l *Loop) next(ctx context.Context, substitute func()) bool {
	if l.turns != nil && !l.turns.grant(ctx) {
		return false
	}
	key, shutdown := l.queue.Get()
	if shutdown {
		return false
	}
	defer l.done(key)
	if ctx.Err() != nil {
		return true
	}
	if l.turns == nil {
		l.process(ctx, key)
		return true
	}
	ctx, replaced := clock.PausingWorker(ctx, l.opts.Ledger, clock.Key, substitute)
	l.process(ctx, key)
	return !replaced()
}

// done hands the key back. The ledger still counts it while the queue may push
// it again, so that the count never passes through zero.
func (l *Loop) done(key types.NamespacedName) {
	l.queue.Done(key)
	l.opts.Ledger.End(clock.Key, 1)
}

func (l *Loop) process(ctx context.Context, key types.NamespacedName) {
	logger := klog.LoggerWithValues(l.opts.Logger, "controller", l.opts.Name, "key", key)
	causes := l.causes.Take(key)
	ctx = klog.NewContext(cause.With(ctx, causes), logger)
	if l.turns != nil {
		ctx = clock.OneByOne(ctx)
	}
	l.stats.began(key, l.opts.Clock.Now())
	result, err := l.reconcile(ctx, key)
	if err == nil {
		l.backoff.Forget(key)
		l.stats.succeeded(key)
		if result.Unsure {
			l.AddAfter(key, unheard)
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
func (l *Loop) failed(logger klog.Logger, key types.NamespacedName, err error) {
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
