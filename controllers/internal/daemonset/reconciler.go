package daemonset

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/daemonset/decide"
	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/history/collision"
	"minikcm.dev/minikcm/controllers/internal/owner"
	"minikcm.dev/minikcm/internal/loop"
)

// Sources are the caches that a reconciler reads and the executor that it writes with.
type Sources struct {
	Clock clock.PassiveClock
	// DaemonSets, Pods, Revisions and Nodes are the informers' caches.
	DaemonSets, Pods, Revisions, Nodes cache.Indexer
	// Executor needs no Kind and no Tracker.
	Executor executor.Executor
	// Decide replaces decide.DaemonSet if not nil: model tests plant mistakes here.
	Decide func(in decide.Snapshot, now time.Time) (decide.Plan, error)
}

// Reconciler is the controller without its loop. It maps events to keys and reconciles them.
type Reconciler struct {
	*owner.Reconciler[*appsv1.DaemonSet, decide.Snapshot, decide.Plan]
	daemonSets appslisters.DaemonSetLister
	nodes      corelisters.NodeLister
	pods       dependents.Index[*corev1.Pod]
	revisions  dependents.Index[*appsv1.ControllerRevision]

	mu       sync.Mutex
	failures map[types.UID]decide.Failures
}

// NewReconciler returns a reconciler. It adds the indexes that it needs to the caches.
func NewReconciler(s Sources) (*Reconciler, error) {
	if s.Decide == nil {
		s.Decide = decide.DaemonSet
	}
	pods, podsErr := dependents.NewIndex[*corev1.Pod](s.Pods)
	revisions, revisionsErr := dependents.NewIndex[*appsv1.ControllerRevision](s.Revisions)
	r := &Reconciler{
		daemonSets: appslisters.NewDaemonSetLister(s.DaemonSets), nodes: corelisters.NewNodeLister(s.Nodes),
		pods: pods, revisions: revisions, failures: map[types.UID]decide.Failures{},
	}
	r.Reconciler = owner.New(s.Clock, s.DaemonSets, s.Executor, owner.Steps[*appsv1.DaemonSet, decide.Snapshot, decide.Plan]{
		Kind: decide.Kind, Gather: r.gather, Decide: s.Decide, Execute: r.execute,
	})
	return r, errors.Join(podsErr, revisionsErr)
}

func (r *Reconciler) gather(_ context.Context, d *appsv1.DaemonSet) (decide.Snapshot, error) {
	nodes, err := r.nodes.List(labels.Everything())
	if err != nil {
		return decide.Snapshot{}, fmt.Errorf("listing the nodes for DaemonSet %s/%s: %w", d.Namespace, d.Name, err)
	}
	return decide.Snapshot{
		DaemonSet: d, Pods: r.pods.Candidates(d), Revisions: r.revisions.Candidates(d), Nodes: nodes, Failures: r.known(d.UID),
	}, nil
}

func (r *Reconciler) execute(ctx context.Context, d *appsv1.DaemonSet, _ decide.Snapshot, p decide.Plan) (loop.Result, error) {
	r.remember(d.UID, p.Failures)
	r.Executor.RecordEvents(d, p.Events)
	return collision.Execute(ctx, &r.Executor, d, p.Actions, loop.Result{RequeueAfter: p.RequeueAfter}, func(collided bool) *appsv1.DaemonSet {
		return decide.Conclude(d, p, collided)
	})
}

func (r *Reconciler) known(uid types.UID) decide.Failures {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures[uid]
}

func (r *Reconciler) remember(uid types.UID, f decide.Failures) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.Empty() {
		delete(r.failures, uid)
		return
	}
	r.failures[uid] = f
}
