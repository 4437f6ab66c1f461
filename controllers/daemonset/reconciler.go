package daemonset

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/controllerref"
	"minikcm.dev/minikcm/controllers/history"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/plan"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// DaemonSets, Pods, Revisions and Nodes are the informers' caches.
	DaemonSets, Pods, Revisions, Nodes cache.Indexer
	// Executor needs no Kind and no Tracker: the reconciler sets them.
	Executor plan.Executor
	// Decide replaces the function Decide if not nil: model tests plant mistakes here.
	Decide func(in Snapshot, now time.Time) (Plan, error)
}

// Reconciler is the controller without its loop: it reconciles a key, and maps
// events to keys.
type Reconciler struct {
	clock        clock.PassiveClock
	daemonSets   appslisters.DaemonSetLister
	nodes        corelisters.NodeLister
	pods         controllerref.Index[*corev1.Pod]
	revisions    controllerref.Index[*appsv1.ControllerRevision]
	executor     plan.Executor
	expectations *controllerref.Expectations
	decide       func(in Snapshot, now time.Time) (Plan, error)

	mu       sync.Mutex
	failures map[types.UID]Failures
}

// NewReconciler returns a reconciler. It adds the indexes that it needs to the caches.
func NewReconciler(s Sources) (*Reconciler, error) {
	r := &Reconciler{
		clock: s.Clock, daemonSets: appslisters.NewDaemonSetLister(s.DaemonSets), nodes: corelisters.NewNodeLister(s.Nodes),
		executor: s.Executor, expectations: controllerref.NewExpectations(s.Clock), decide: s.Decide, failures: map[types.UID]Failures{},
	}
	if r.decide == nil {
		r.decide = Decide
	}
	r.executor.Kind, r.executor.Tracker = Kind, r.expectations
	var err error
	if r.pods, err = controllerref.NewIndex[*corev1.Pod](s.Pods); err != nil {
		return nil, fmt.Errorf("preparing the cache of pods: %w", err)
	}
	if r.revisions, err = controllerref.NewIndex[*appsv1.ControllerRevision](s.Revisions); err != nil {
		return nil, fmt.Errorf("preparing the cache of ControllerRevisions: %w", err)
	}
	return r, nil
}

// Reconcile takes the DaemonSet's next step.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	d, err := r.daemonSets.DaemonSets(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting DaemonSet %s: %w", key, err)
	}
	if met, left := r.expectations.Met(d.UID); !met {
		return loop.Result{RequeueAfter: left}, nil
	}
	nodes, err := r.nodes.List(labels.Everything())
	if err != nil {
		return loop.Result{}, fmt.Errorf("listing the nodes for DaemonSet %s: %w", key, err)
	}
	p, err := r.decide(Snapshot{
		DaemonSet: d, Pods: r.pods.Candidates(d), Revisions: r.revisions.Candidates(d), Nodes: nodes, Failures: r.known(d.UID),
	}, r.clock.Now())
	if err != nil {
		return loop.Result{}, err
	}
	r.remember(d.UID, p.Failures)
	r.executor.RecordEvents(d, p.Events)
	return r.execute(ctx, d, p)
}

// execute executes the plan's actions and writes the status, whether they succeed or not.
func (r *Reconciler) execute(ctx context.Context, d *appsv1.DaemonSet, p Plan) (loop.Result, error) {
	result := loop.Result{RequeueAfter: p.RequeueAfter}
	actErr := r.executor.Act(ctx, d, p.Actions)
	collided := false
	if wanted := history.Taken(actErr); wanted != nil {
		var err error
		if collided, err = history.Collided(ctx, r.executor.Writer, d, wanted); err != nil || !collided {
			return result, err
		}
		actErr = nil
	}
	var statusErr error
	if update := Conclude(d, p, collided); update != nil {
		statusErr = r.executor.WriteStatus(ctx, update)
	}
	return plan.Settle(result, actErr, statusErr)
}

func (r *Reconciler) known(uid types.UID) Failures {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures[uid]
}

func (r *Reconciler) remember(uid types.UID, f Failures) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(f.nodes) == 0 {
		delete(r.failures, uid)
		return
	}
	r.failures[uid] = f
}
