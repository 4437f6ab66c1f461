package served

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/crd"
	"minikcm.dev/minikcm/apiserver/internal/gate"
	"minikcm.dev/minikcm/apiserver/internal/outbound"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
	"minikcm.dev/minikcm/apiserver/internal/watchcache"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/store"
)

// Definitions keeps the served API in step with the CustomResourceDefinitions. For a
// write by this process, names and conditions are set in the write itself, and the new
// kinds are served before the response is sent. Writes by other processes to a shared
// store arrive by a watch.
type Definitions struct {
	opts    Options
	objects *storage.Objects
	current atomic.Pointer[API]
	// begin calls a function in a goroutine, with a context that cancel ends; running
	// counts these goroutines.
	begin   func(func(context.Context))
	cancel  context.CancelFunc
	running sync.WaitGroup

	// mu is held while a definition is written, until its kinds are served, so that each name is
	// accepted for one definition only.
	mu      sync.Mutex
	known   map[string]*customKind
	stopped bool
	// retired are the kinds that are no longer served once the next API is published. changed is
	// set when one is.
	retired []*customKind
	changed bool

	webhooks *crd.Webhooks
}

// customKind is a definition with the rows and objects that are built from it.
type customKind struct {
	definition *apiextensionsv1.CustomResourceDefinition
	// rows and objects are empty for a definition that is not established.
	rows    crd.Kinds
	objects *storage.Objects
	// converted has the rows that a webhook converts, each with its own objects.
	converted map[*resources.Resource]*storage.Objects
	requests  gate.Gate
	cleaning  bool
	// terminating is set while the definition is being deleted.
	terminating atomic.Bool
}

// Options configure New. All but Shared are required.
type Options struct {
	// BuiltIn are the built-in kinds, and Objects returns their storage.
	BuiltIn *resources.Table
	Objects func(row *resources.Resource) *storage.Objects
	// Definitions is the storage of the CustomResourceDefinitions.
	Definitions *storage.Objects
	// NewObjects makes the storage of a row of a custom kind.
	NewObjects func(row *resources.Resource) *storage.Objects
	Writer     Writer
	// Shared is the store if other processes use it, too; otherwise nil.
	Shared store.Store
	// Services resolves the Services of conversion webhooks.
	Services webhook.ServiceResolver
	// Inside makes the calls of conversion webhooks in simulated pods.
	Inside outbound.Inside
	// Skip decides which conversion webhooks are skipped; nil: none.
	Skip outbound.Skip
	// Changed is called when Current has changed: before the response to the write that changed it,
	// with the context of its request.
	Changed func(ctx context.Context)
	// Retired is called when a kind has ended: its requests and its watches. Current may
	// have a newer state of the same kind.
	Retired     func(rows []*resources.Resource)
	KubeVersion string
	Clock       clock.Clock
	Ledger      *clock.Ledger
	Logger      klog.Logger
}

// Writer writes objects in the server's own name.
type Writer interface {
	// UpdateDefinition changes a CustomResourceDefinition, and deletes it if it is being
	// deleted and has no finalizers left.
	UpdateDefinition(ctx context.Context, name string, alter func(*apiextensionsv1.CustomResourceDefinition)) error
	// Delete deletes an object of a custom kind. gone is false if it waits for its
	// finalizers.
	Delete(ctx context.Context, row *resources.Resource, objects *storage.Objects, name types.NamespacedName) (gone bool, err error)
}

// New returns Definitions that serve the built-in kinds once Load is called.
func New(opts Options) *Definitions {
	d := &Definitions{opts: opts, objects: opts.Definitions, known: map[string]*customKind{}, webhooks: crd.NewWebhooks(opts.Services, opts.Inside, opts.Skip)}
	ctx, cancel := context.WithCancel(context.Background())
	d.begin, d.cancel = func(f func(context.Context)) { d.running.Go(func() { f(ctx) }) }, cancel
	return d
}

// Load serves the kinds of the stored definitions and starts watching definitions.
func (d *Definitions) Load(ctx context.Context) error {
	revision, err := d.reload(ctx)
	if err != nil {
		return fmt.Errorf("reading the CustomResourceDefinitions: %w", err)
	}
	d.goRun(func(ctx context.Context) { d.follow(ctx, revision) })
	return nil
}

// reload reads all definitions and returns the revision at which they were read.
func (d *Definitions) reload(ctx context.Context) (int64, error) {
	d.mu.Lock()
	defer d.unlock(ctx)
	return d.reloadLocked(ctx)
}

// unlock unlocks mu, and calls Changed if a new API has been published since it was locked.
func (d *Definitions) unlock(ctx context.Context) {
	changed := d.changed
	d.changed = false
	d.mu.Unlock()
	if changed {
		d.opts.Changed(ctx)
	}
}

func (d *Definitions) reloadLocked(ctx context.Context) (int64, error) {
	page, all, err := d.objects.ListAt(ctx, d.objects.Prefix(""), store.ListOptions{})
	if err != nil {
		return 0, err
	}
	stored := map[string]bool{}
	for _, obj := range all {
		if definition, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
			stored[definition.Name] = true
			d.replaceLocked(definition)
		}
	}
	for name := range d.known {
		if !stored[name] {
			d.removeLocked(name)
		}
	}
	d.publishLocked()
	return page.Revision, nil
}

// goRun runs f in a goroutine that stop waits for, unless the server is stopping.
func (d *Definitions) goRun(f func(context.Context)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.goLocked(f)
}

func (d *Definitions) goLocked(f func(context.Context)) {
	if !d.stopped {
		d.begin(f)
	}
}

// Reserve settles the names of a definition that is about to be written. The function
// that it returns serves the outcome, before the response is sent.
func (d *Definitions) Reserve(ctx context.Context, obj, old runtime.Object) (func(error), error) {
	d.mu.Lock()
	definition, _ := obj.(*apiextensionsv1.CustomResourceDefinition)
	was, _ := old.(*apiextensionsv1.CustomResourceDefinition)
	if definition != nil {
		if err := d.beginNames(ctx, definition, was); err != nil {
			d.unlock(ctx)
			return nil, err
		}
		crd.Settle(definition, d.othersLocked(), strategy.Seconds(d.opts.Clock))
	}
	return func(outcome error) {
		var freed []string
		if outcome == nil {
			freed = d.writtenLocked(definition, was)
		}
		d.unlock(ctx)
		for _, name := range freed {
			d.settleAgain(ctx, name)
		}
	}, nil
}

// AwaitServed returns when the API serves the definitions that this process has stored. Watchers of
// definitions get an event after it, so that they can use a kind once they know of it:
//
//	the write of a definition        the watch cache of the definitions
//	Reserve: locked
//	stored
//	                                 AwaitServed: waits for the lock
//	the kind is served, unlocked
//	                                 sends the event
func (d *Definitions) AwaitServed() {
	d.mu.Lock()
	defer d.mu.Unlock()
}

// writtenLocked serves a definition as stored (nil: deleted). It returns the names of
// the definitions that may now get names that were taken before.
func (d *Definitions) writtenLocked(definition, was *apiextensionsv1.CustomResourceDefinition) []string {
	changed := false
	if definition == nil {
		d.removeLocked(was.Name)
		changed = true
	} else {
		changed = d.replaceLocked(definition.DeepCopy())
	}
	if !changed {
		return nil
	}
	d.publishLocked()
	return d.freedLocked(definition, was)
}

// freedLocked returns the names of the definitions that may get names which a change has freed, sorted.
func (d *Definitions) freedLocked(definition, was *apiextensionsv1.CustomResourceDefinition) []string {
	if was == nil || definition != nil && apiequality.Semantic.DeepEqual(definition.Status.AcceptedNames, was.Status.AcceptedNames) {
		return nil
	}
	var freed []string
	for name, other := range d.known {
		if name != was.Name && other.definition.Spec.Group == was.Spec.Group && !crd.NamesAccepted(other.definition) {
			freed = append(freed, name)
		}
	}
	slices.Sort(freed)
	return freed
}

func (d *Definitions) othersLocked() []*apiextensionsv1.CustomResourceDefinition {
	all := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(d.known))
	for _, kind := range d.known {
		all = append(all, kind.definition)
	}
	return all
}

// replaceLocked replaces a definition with its current state and reports whether the
// served API changes. It takes ownership of definition.
func (d *Definitions) replaceLocked(definition *apiextensionsv1.CustomResourceDefinition) bool {
	before := d.known[definition.Name]
	if before != nil && before.definition.UID == definition.UID && sameKind(before.definition, definition) {
		before.definition = definition
		before.terminating.Store(crd.Terminating(definition))
		d.cleanLocked(before)
		return false
	}
	kind := &customKind{definition: definition, cleaning: before != nil && before.cleaning && before.definition.UID == definition.UID}
	kind.terminating.Store(crd.Terminating(definition))
	if crd.Served(definition) {
		d.build(kind)
	}
	d.known[definition.Name] = kind
	d.retireLocked(before)
	d.cleanLocked(kind)
	return true
}

// build makes the rows of a kind and the storage of their objects.
func (d *Definitions) build(kind *customKind) {
	objects := d.opts.NewObjects
	kind.rows = crd.New(kind.definition, d.webhooks)
	kind.objects = objects(kind.rows.Stored)
	kind.converted = map[*resources.Resource]*storage.Objects{}
	for _, row := range kind.rows.Served {
		if row.Stored != nil {
			kind.converted[row] = objects(row)
		}
	}
}

// objectsOf returns the storage of one of the kind's rows.
func (k *customKind) objectsOf(row *resources.Resource) *storage.Objects {
	if own := k.converted[row]; own != nil {
		return own
	}
	return k.objects
}

// endWatches ends the watches of an established kind.
func (k *customKind) endWatches() {
	for _, objects := range k.converted {
		objects.Cache().EndWatches()
	}
	k.objects.Cache().EndWatches()
}

// close ends the watch caches of an established kind.
func (k *customKind) close() {
	for _, objects := range k.converted {
		objects.Close()
	}
	k.objects.Close()
}

// sameKind reports whether two states of a definition make the same rows.
func sameKind(a, b *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Served(a) == crd.Served(b) && apiequality.Semantic.DeepEqual(a.Spec, b.Spec) &&
		apiequality.Semantic.DeepEqual(a.Status.AcceptedNames, b.Status.AcceptedNames)
}

func (d *Definitions) removeLocked(name string) {
	if kind := d.known[name]; kind != nil {
		delete(d.known, name)
		d.retireLocked(kind)
	}
}

// retireLocked stops serving a kind with the next published API.
func (d *Definitions) retireLocked(kind *customKind) {
	switch {
	case kind == nil || kind.objects == nil:
	case d.stopped:
		kind.close()
	default:
		d.retired = append(d.retired, kind)
	}
}

// publishLocked serves the known kinds. It ends the watches of retired ones, so that these are in
// flight as long as the request that retires the kind, and closes their caches once their requests
// have ended.
func (d *Definitions) publishLocked() {
	var kinds []*customKind
	for _, kind := range d.known {
		if kind.objects != nil {
			kinds = append(kinds, kind)
		}
	}
	d.publish(kinds)
	d.changed = true
	for _, kind := range d.retired {
		kind.requests.Shut() // a request that finds it shut looks the kind up again
		kind.endWatches()
		d.goLocked(func(context.Context) {
			kind.requests.Wait()
			kind.close()
			d.opts.Retired(kind.rows.Served)
		})
	}
	d.retired = nil
}

// settleAgain writes a definition without changes, so that it gets the names that have
// become free.
func (d *Definitions) settleAgain(ctx context.Context, name string) {
	if d.opts.Shared != nil {
		ctx = storage.WithPremises(ctx, &storage.Premises{})
	}
	update := func() error {
		return d.opts.Writer.UpdateDefinition(ctx, name, func(*apiextensionsv1.CustomResourceDefinition) {})
	}
	err := update()
	// Another process settles names of the group. Two that repeated their writes at once could
	// keep each other from ending.
	for apierrors.IsTooManyRequests(err) && inflight.Sleep(ctx, d.opts.Clock, retryDelay) == nil {
		err = update()
	}
	if err != nil && !apierrors.IsNotFound(err) {
		d.opts.Logger.Error(err, "Settling the names of a CustomResourceDefinition", "name", name)
	}
}

// follow watches the writes of other processes. It reads the newest state of the
// definition instead of using the event's, because this process may know a newer one.
func (d *Definitions) follow(ctx context.Context, revision int64) {
	for ctx.Err() == nil {
		err := d.objects.Follow(ctx, revision, func(entry *watchcache.Entry) error {
			if definition, ok := entry.Object().(*apiextensionsv1.CustomResourceDefinition); ok {
				return d.learn(ctx, entry.Key, definition.Name)
			}
			return nil
		})
		if ctx.Err() != nil || errors.Is(err, watchcache.ErrClosed) {
			return
		}
		d.opts.Logger.V(2).Info("Watching the CustomResourceDefinitions ended", "err", err)
		if inflight.Sleep(ctx, d.opts.Clock, retryDelay) != nil {
			return
		}
		if again, err := d.reload(ctx); err == nil {
			revision = again
		}
	}
}

// retryDelay is the delay before a failed store operation is retried.
const retryDelay = time.Second

// learn replaces a definition with its newest stored state. A definition that this process has
// written may now get a name that another process has freed.
func (d *Definitions) learn(ctx context.Context, key, name string) error {
	freed, err := d.learnState(ctx, key, name)
	for _, name := range freed {
		d.settleAgain(ctx, name)
	}
	return err
}

func (d *Definitions) learnState(ctx context.Context, key, name string) (freed []string, err error) {
	d.mu.Lock()
	defer d.unlock(ctx)
	var was, definition *apiextensionsv1.CustomResourceDefinition
	if known := d.known[name]; known != nil {
		was = known.definition
	}
	obj, err := d.objects.Get(ctx, key, name)
	switch {
	case apierrors.IsNotFound(err):
		if was == nil {
			return nil, nil
		}
		d.removeLocked(name)
	case err != nil:
		return nil, err
	default:
		definition = obj.(*apiextensionsv1.CustomResourceDefinition)
		if !d.replaceLocked(definition) {
			return nil, nil
		}
	}
	d.publishLocked()
	return d.freedLocked(definition, was), nil
}

// Close ends the goroutines. No requests are being served any more.
func (d *Definitions) Close() {
	d.mu.Lock()
	d.stopped = true
	d.mu.Unlock()
	d.cancel()
	d.running.Wait()
	for _, kind := range d.known {
		if kind.objects != nil {
			kind.close()
		}
	}
}
