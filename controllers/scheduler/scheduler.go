package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/events"
	"minikcm.dev/minikcm/controllers/env"
)

// Name is the scheduler's name in its events and its user agent. Pods of other
// schedulers are not touched; once they have a node, they count on it.
const Name = corev1.DefaultSchedulerName

// apiWorkers is how many bindings and status writes are under way at once. One
// goroutine decides; these wait for the apiserver.
const apiWorkers = 16

// Scheduler binds pods to nodes. Make it with New, then Run it, once.
type Scheduler struct {
	client   kubernetes.Interface
	pods     corelisters.PodLister
	recorder *events.Recorder
	clock    clock.Clock
	random   *clock.Random
	logger   klog.Logger

	handlers    []handler
	cache       *believed
	queue       *queue
	nominations *nominations
	tasks       *tasks

	namespaces corelisters.NamespaceLister
	// synced are done when what decisions look at besides is known.
	synced []cache.DoneChecker

	// The rest belongs to the goroutine that decides.
	siblings *siblings
	snapshot *Snapshot
	start    int
}

// handler is what New added to an informer.
type handler struct {
	informer     cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
}

// New returns a scheduler that is not yet running. It asks the shared informers
// for pods and nodes, and for what says which pods belong together: services,
// ReplicationControllers, ReplicaSets, StatefulSets and namespaces.
func New(_ context.Context, e *env.Env) (*Scheduler, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	return newScheduler(e, client)
}

func newScheduler(e *env.Env, client kubernetes.Interface) (*Scheduler, error) {
	core := e.Informers.Core().V1()
	s := &Scheduler{
		client:      client,
		pods:        core.Pods().Lister(),
		recorder:    e.Recorder.For(Name),
		clock:       e.Clock,
		random:      e.Random,
		logger:      klog.LoggerWithValues(e.Logger, "controller", Name),
		cache:       newBelieved(),
		nominations: newNominations(),
		tasks:       newTasks(),
	}
	s.queue = newQueue(e.Clock, e.Ledger, s.helps)
	s.siblings, s.synced = newSiblings(e.Informers)
	s.namespaces = core.Namespaces().Lister()
	s.synced = append(s.synced, core.Namespaces().Informer().HasSyncedChecker())
	if err := s.watch(core.Nodes().Informer(), s.nodeHandler()); err != nil {
		return nil, fmt.Errorf("watching nodes: %w", err)
	}
	if err := s.watch(core.Pods().Informer(), s.podHandler()); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	return s, nil
}

func (s *Scheduler) watch(informer cache.SharedIndexInformer, h cache.ResourceEventHandler) error {
	registration, err := informer.AddEventHandler(h)
	if err != nil {
		return err
	}
	s.handlers = append(s.handlers, handler{informer, registration})
	return nil
}

// Run schedules until ctx ends. It returns nil when every goroutine and timer of
// it has ended; bindings that are under way then get the ended context.
func (s *Scheduler) Run(ctx context.Context) error {
	var running sync.WaitGroup
	if s.waitForSync(ctx) {
		running.Go(s.decideAll)
		running.Go(func() { s.tasks.run(klog.NewContext(ctx, s.logger), apiWorkers) })
		<-ctx.Done()
	}
	for _, h := range s.handlers {
		// The informer may have stopped before us: then there is nothing to remove.
		_ = h.informer.RemoveEventHandler(h.registration)
	}
	s.queue.close()
	running.Wait()
	return nil
}

// waitForSync waits until all that decisions look at is known: before, none could
// be right.
func (s *Scheduler) waitForSync(ctx context.Context) bool {
	synced := slices.Clone(s.synced)
	for _, h := range s.handlers {
		synced = append(synced, h.registration.HasSyncedChecker())
	}
	return cache.WaitFor(klog.NewContext(ctx, s.logger.V(4)), Name, synced...)
}

// decideAll decides upon one pod after the other until the queue is closed.
func (s *Scheduler) decideAll() {
	defer s.tasks.close()
	for a := s.queue.pop(); a != nil; a = s.queue.pop() {
		s.decide(a)
	}
}

// decide finds a node for a popped pod, and leaves to the tasks what the API has
// to be told.
func (s *Scheduler) decide(a *attempt) {
	pod := a.info.Pod
	switch {
	case s.cache.has(pod.UID):
		// An old state of a pod that has been given a node since.
		s.queue.done(a)
		return
	case pod.DeletionTimestamp != nil:
		s.recorder.Eventf(pod, corev1.EventTypeWarning, reasonFailed, "skip schedule deleting pod: %s/%s", pod.Namespace, pod.Name)
		s.queue.done(a)
		return
	}
	in := s.input(a)
	d := Decide(in)
	s.start = d.Next
	if d.Node == "" {
		s.decideFailure(a, in, d.Diagnosis)
		return
	}
	if !s.cache.assume(a.info, d.Node) {
		s.queue.done(a)
		return
	}
	s.nominations.remove(pod.UID)
	s.queue.decided(a)
	s.queue.changed(change{added: a.info})
	s.tasks.add(func(ctx context.Context) { s.bind(ctx, a, d.Node) })
}

// input gathers what the decision upon a popped pod depends on. Of equal nodes it
// picks by the cluster's seed and the pod, whatever else is being decided.
func (s *Scheduler) input(a *attempt) Input {
	s.snapshot = s.cache.update(s.snapshot)
	in := Input{
		Pod:        a.info,
		Snapshot:   s.snapshot,
		Start:      s.start,
		Nominated:  s.nominations.get(),
		Prefer:     a.nominated,
		Namespaces: s.namespaceLabels,
		Pick:       func(n int) int { return s.random.Keyed(string(a.info.Pod.UID)).IntN(n) },
	}
	if len(a.info.spread) == 0 {
		set, err := s.siblings.of(a.info.Pod)
		if err != nil {
			s.logger.Error(err, "Cannot spread a pod", "pod", klog.KObj(a.info.Pod))
		}
		in.Siblings = set
	}
	return in
}

func (s *Scheduler) namespaceLabels() map[string]labels.Set {
	all, err := s.namespaces.List(labels.Everything())
	if err != nil {
		s.logger.Error(err, "Cannot list the namespaces")
	}
	byName := make(map[string]labels.Set, len(all))
	for _, ns := range all {
		byName[ns.Name] = ns.Labels
	}
	return byName
}

// decideFailure looks for pods to delete in favour of one that fits nowhere. The
// node that they free is kept for it from now on.
func (s *Scheduler) decideFailure(a *attempt, in Input, d *Diagnosis) {
	a.ruled = d.ruled()
	if d.Nodes == 0 {
		s.renominate(a, "")
		s.tasks.add(func(ctx context.Context) { s.reject(ctx, a, d, "") })
		return
	}
	p := Preempt(in, d)
	d.Preemption = p.Message
	if p.Wait {
		s.tasks.add(func(ctx context.Context) { s.reject(ctx, a, d, in.Prefer) })
		return
	}
	s.renominate(a, p.Node)
	if p.Node == "" {
		s.tasks.add(func(ctx context.Context) { s.reject(ctx, a, d, "") })
		return
	}
	s.tasks.add(func(ctx context.Context) { s.preempt(ctx, a, d, p) })
}

func (s *Scheduler) renominate(a *attempt, node string) {
	s.queue.nominate(a, node)
	s.nominations.set(a.info, node)
	if a.nominated != "" && a.nominated != node {
		s.queue.changed(change{node: a.nominated})
	}
}

// helps reports whether the change may let a waiting pod in: there is room on the
// node as it is now, or might be if pods that it outranks were deleted from there,
// or pods elsewhere no longer stand against it.
func (s *Scheduler) helps(p *queuedPod, c change) bool {
	if p.ruled && p.info.mayBeHelpedBy(c) {
		return true
	}
	n := s.cache.node(c.node)
	if n == nil {
		return false
	}
	r := filter(p.info, n)
	if r == nil {
		return true
	}
	// Who waits for its victims to go needs the room, not more victims.
	return !r.final && p.nominated == "" && p.info.mayPreempt() && n.hasLowerPriority(p.info)
}
