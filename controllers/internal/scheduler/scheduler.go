package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/scheduler/cache"
	"minikcm.dev/minikcm/controllers/internal/scheduler/config"
	"minikcm.dev/minikcm/controllers/internal/scheduler/explain"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/events"
)

// Name is the scheduler's name in its user agent, and the name of its default profile. It ignores
// the pending pods of other schedulers, but counts their pods on the nodes that they are bound to.
const Name = corev1.DefaultSchedulerName

// Options configure a scheduler.
type Options struct {
	// Config has the profiles and their shared settings; nil: kube-scheduler's default.
	Config *config.Config
	// PodGroups makes the scheduler schedule pods by their PodGroups (KEP-4671). The API must serve them.
	PodGroups bool
}

// apiWorkers is the number of concurrent bindings and status writes. A single goroutine
// decides; the API workers wait for the API server.
const apiWorkers = 16

// Scheduler binds pods to nodes. New makes one; Run may be called once.
type Scheduler struct {
	client kubernetes.Interface
	pods   corelisters.PodLister
	config *config.Config
	// recorders write the events of each profile, in its name.
	recorders map[string]*events.Recorder
	clock     clock.Clock
	random    *clock.Random
	logger    klog.Logger

	handlers  []handler
	cache     *cache.Cache
	queue     *queue.Queue
	nominator *queue.Nominator
	tasks     *tasks
	volumes   *volumes
	devices   *devices
	metrics   metrics
	// groups is nil if pods are scheduled without regard to their PodGroups.
	groups *podGroups

	namespaces corelisters.NamespaceLister
	budgets    policylisters.PodDisruptionBudgetLister
	// synced are the informers without a handler that decisions depend on.
	synced []toolscache.DoneChecker

	// The fields below belong to the deciding goroutine.
	siblings *siblings
	snapshot *framework.Snapshot
	start    int
}

// handler is an event handler that New added to an informer.
type handler struct {
	informer     toolscache.SharedIndexInformer
	registration toolscache.ResourceEventHandlerRegistration
}

// New returns a scheduler that is not running yet. It adds handlers to the shared informers
// of pods, nodes, claims, volumes, StorageClasses, and of the kinds of CSI and of dynamic resource
// allocation. It reads services, ReplicationControllers, ReplicaSets, StatefulSets and namespaces,
// which decide which pods are spread together, and PodDisruptionBudgets, which preemption spares.
func New(_ context.Context, e *env.Env, opts Options) (*Scheduler, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	return newScheduler(e, client, opts)
}

func newScheduler(e *env.Env, client kubernetes.Interface, opts Options) (*Scheduler, error) {
	if opts.Config == nil {
		opts.Config = config.Default()
	}
	s := &Scheduler{
		client:    client,
		pods:      e.Informers.Pods().Lister(),
		config:    opts.Config,
		recorders: map[string]*events.Recorder{},
		clock:     e.Clock,
		random:    e.Random,
		logger:    klog.LoggerWithValues(e.Logger, "controller", Name),
		cache:     cache.New(),
		nominator: queue.NewNominator(),
		tasks:     newTasks(),
		metrics:   newMetrics(e),
	}
	var err error
	if s.devices, err = newDevices(e.Informers, e.Clock, s.logger); err != nil {
		return nil, fmt.Errorf("indexing resource claims: %w", err)
	}
	s.devices.backing.AddEventHandler(s.deviceClassHandler())
	for name := range opts.Config.Profiles {
		s.recorders[name] = e.Recorder.For(name)
	}
	queueOptions := queue.Options{
		Name: Name, Hint: s.helps, Ready: s.devices.ready, InitialBackoff: opts.Config.InitialBackoff, MaxBackoff: opts.Config.MaxBackoff,
	}
	if opts.PodGroups {
		s.groups = newPodGroups()
		queueOptions.Groups = s.groups
	}
	s.queue = queue.New(e.Clock, e.Ledger, queueOptions)
	if s.volumes, err = newVolumes(e.Informers, s.cache.Node); err != nil {
		return nil, fmt.Errorf("indexing volumes: %w", err)
	}
	s.siblings, s.synced = newSiblings(e.Informers)
	s.namespaces = e.Informers.Namespaces().Lister()
	budgets := e.Informers.PodDisruptionBudgets()
	s.budgets = budgets.Lister()
	s.synced = append(s.synced, e.Informers.Namespaces().Informer().HasSyncedChecker(), budgets.Informer().HasSyncedChecker())
	if opts.PodGroups {
		if err := s.watch(e.Informers.PodGroups().Informer(), s.podGroupHandler()); err != nil {
			return nil, fmt.Errorf("watching PodGroups: %w", err)
		}
	}
	for _, w := range []struct {
		what     string
		informer toolscache.SharedIndexInformer
		handler  toolscache.ResourceEventHandler
	}{
		{"resource claims", e.Informers.ResourceClaims().Informer(), s.resourceClaimHandler()},
		{"ResourceSlices", e.Informers.ResourceSlices().Informer(), s.sliceHandler()},
		{"DeviceClasses", e.Informers.DeviceClasses().Informer(), s.devices.backing},
		{"DeviceTaintRules", e.Informers.DeviceTaintRules().Informer(), s.taintRuleHandler()},
		{"nodes", e.Informers.Nodes().Informer(), s.nodeHandler()},
		{"volumes", e.Informers.PersistentVolumes().Informer(), s.volumeHandler()},
		{"claims", e.Informers.PersistentVolumeClaims().Informer(), s.claimHandler()},
		{"StorageClasses", e.Informers.StorageClasses().Informer(), s.classHandler()},
		{"CSINodes", e.Informers.CSINodes().Informer(), s.storageHandler()},
		{"CSIDrivers", e.Informers.CSIDrivers().Informer(), s.storageHandler()},
		{"VolumeAttachments", e.Informers.VolumeAttachments().Informer(), s.attachmentHandler()},
		{"CSIStorageCapacities", e.Informers.CSIStorageCapacities().Informer(), s.storageHandler()},
		{"pods", e.Informers.Pods().Informer(), s.podHandler()},
	} {
		if err := s.watch(w.informer, w.handler); err != nil {
			return nil, fmt.Errorf("watching %s: %w", w.what, err)
		}
	}
	return s, nil
}

func (s *Scheduler) watch(informer toolscache.SharedIndexInformer, h toolscache.ResourceEventHandler) error {
	registration, err := informer.AddEventHandler(h)
	if err != nil {
		return err
	}
	s.handlers = append(s.handlers, handler{informer, registration})
	return nil
}

// Run schedules pods until ctx ends. It returns nil when all its goroutines and timers have
// ended. Bindings in progress are cancelled with ctx.
func (s *Scheduler) Run(ctx context.Context) error {
	var running sync.WaitGroup
	if s.waitForSync(ctx) {
		running.Go(func() { s.decideAll(klog.NewContext(ctx, s.logger)) })
		running.Go(func() { s.tasks.run(klog.NewContext(ctx, s.logger), apiWorkers) })
		<-ctx.Done()
	}
	for _, h := range s.handlers {
		// An informer that has stopped already returns an error, which is of no interest.
		_ = h.informer.RemoveEventHandler(h.registration)
	}
	s.queue.Close()
	running.Wait()
	for _, e := range s.config.Extenders {
		e.Close()
	}
	return nil
}

// waitForSync waits until all informers that decisions depend on have synced.
func (s *Scheduler) waitForSync(ctx context.Context) bool {
	synced := slices.Clone(s.synced)
	for _, h := range s.handlers {
		synced = append(synced, h.registration.HasSyncedChecker())
	}
	return toolscache.WaitFor(klog.NewContext(ctx, s.logger.V(4)), Name, synced...)
}

// decideAll decides on one pod after another until the queue is closed.
func (s *Scheduler) decideAll(ctx context.Context) {
	defer s.tasks.close()
	untilClose := context.WithoutCancel(ctx)
	for a := s.queue.Pop(untilClose); a != nil; a = s.queue.Pop(untilClose) {
		s.decide(ctx, a)
	}
}

// decide finds a node for a popped pod. API requests are left to the tasks; ctx is for the calls of
// extenders.
func (s *Scheduler) decide(ctx context.Context, a *queue.Attempt) {
	if a.Info == nil {
		s.decideGroup(ctx, a)
		return
	}
	pod := a.Info.Pod
	switch {
	case a.HasNode:
		s.resume(a)
		return
	case s.cache.HasPod(pod.UID):
		// The queue had an old state of a pod that has a node by now.
		s.queue.Done(a)
		return
	case pod.DeletionTimestamp != nil:
		s.recorderOf(pod).Eventf(pod, corev1.EventTypeWarning, reasonFailed, "skip schedule deleting pod: %s/%s", pod.Namespace, pod.Name)
		s.queue.Done(a)
		return
	}
	s.snapshot = s.cache.UpdateSnapshot(s.snapshot)
	in := s.inputOn(a)
	d := s.choose(ctx, a, in)
	s.start = d.Next
	if d.Err != nil {
		s.later(a, func(ctx context.Context) { s.failed(cause.With(ctx, cause.Of(pod)), a, d.Err) })
		return
	}
	if d.Node == "" {
		s.decideFailure(ctx, a, in, d.Diagnosis)
		return
	}
	if !s.cache.AssumePod(a.Info, d.Node) {
		s.queue.Done(a)
		return
	}
	s.explain(a, in, explain.Result{Node: d.Node})
	s.nominator.Remove(pod.UID)
	s.queue.Decided(a)
	s.queue.Notify(framework.ClusterEvent{Added: a.Info})
	if in.Devices != nil {
		s.devices.reserve(pod.UID, in.Devices.On(d.Node))
	}
	p := placed{attempt: a, in: in, node: d.Node}
	if in.Volumes != nil && in.Profile.BindsVolumes() {
		if plan := in.Volumes.PlanFor(s.snapshot.Get(d.Node).Node); !plan.Empty() {
			p.volumes = s.volumes.reserve(a, d.Node, plan)
		}
	}
	s.later(a, func(ctx context.Context) { s.bindPlaced(ctx, p) })
}

// later lets a task end the attempt of a pod. Its requests may take time.
func (s *Scheduler) later(a *queue.Attempt, task func(ctx context.Context)) {
	work := s.queue.Work(a)
	s.tasks.add(func(ctx context.Context) { task(s.tasks.pausing(ctx, work)) })
}

// inputOn gathers the inputs of the decision on a popped pod, with the present snapshot. Ties between
// nodes are broken by the cluster's seed and the pod's UID, independently of other decisions.
func (s *Scheduler) inputOn(a *queue.Attempt) plugins.Input {
	profile := s.profileOf(a.Info.Pod)
	in := plugins.Input{
		Pod:        a.Info,
		Profile:    profile.Profile,
		Snapshot:   s.snapshot,
		Start:      s.start,
		Nominated:  s.nominator.ByNode(),
		Prefer:     a.Nominated,
		Namespaces: s.namespaceLabels,
		Volumes:    s.volumes.input(a.Info),
		Devices:    s.devices.input(a.Info, profile.FilterTimeout, profile.DeviceTimeout),
		Budgets:    s.allBudgets,
		Trace:      explain.Trace(a.Info.Pod),
		Pick:       func(n int) int { return s.random.Keyed(string(a.Info.Pod.UID)).IntN(n) },
	}
	if s.groups != nil {
		in.Groups = s.groups.victim
	}
	if len(a.Info.SpreadConstraints) == 0 {
		set, err := s.siblings.of(a.Info.Pod)
		if err != nil {
			s.logger.Error(err, "Cannot spread a pod", "pod", klog.KObj(a.Info.Pod))
		}
		in.Siblings = set
	}
	return in
}

func (s *Scheduler) allBudgets() []*policyv1.PodDisruptionBudget {
	all, err := s.budgets.List(labels.Everything())
	if err != nil {
		s.logger.Error(err, "Cannot list the PodDisruptionBudgets")
	}
	return all
}

// profileOf returns the profile of a pod of this scheduler.
func (s *Scheduler) profileOf(pod *corev1.Pod) *config.Profile {
	return s.config.Profiles[pod.Spec.SchedulerName]
}

// recorderOf returns the recorder of the profile of a pod of this scheduler.
func (s *Scheduler) recorderOf(pod *corev1.Pod) *events.Recorder {
	return s.recorders[pod.Spec.SchedulerName]
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

// decideFailure looks for pods to preempt for a pod that fits on no node, and nominates the
// node that they free, so that later decisions keep the room free.
func (s *Scheduler) decideFailure(ctx context.Context, a *queue.Attempt, in plugins.Input, d *plugins.Diagnosis) {
	a.ByRules, a.ByVolumes, a.ByResources = d.ByRules(), d.ByVolumes, d.ByResources()
	if d.Nodes == 0 {
		s.renominate(a, "")
		s.explain(a, in, explain.Result{Message: d.Message()})
		s.later(a, func(ctx context.Context) { s.reject(ctx, a, d, "") })
		return
	}
	if in.Devices != nil {
		a.ByDevices, a.OnlyDevices = d.ByDevices()
	}
	p, idle := s.postFilter(ctx, in, d)
	if idle != nil {
		free := s.deallocate
		if plugins.IsExtendedClaim(idle, a.Info.Pod) && !slices.Contains(in.Devices.Claims, idle) {
			free = s.deleteExtended
		}
		s.tasks.add(func(ctx context.Context) { free(cause.With(ctx, cause.Of(a.Info.Pod)), idle) })
	}
	s.explain(a, in, explain.Result{Message: d.Message(), Preemption: p})
	switch {
	case p == nil:
		s.later(a, func(ctx context.Context) { s.reject(ctx, a, d, "") })
		return
	case p.Wait:
		s.later(a, func(ctx context.Context) { s.reject(ctx, a, d, in.Prefer) })
		return
	}
	s.renominate(a, p.Node)
	if p.Node == "" {
		s.later(a, func(ctx context.Context) { s.reject(ctx, a, d, "") })
		return
	}
	s.later(a, func(ctx context.Context) { s.preempt(ctx, a, d, *p) })
}

// postFilter looks for ways to make room for a pod that fits on no node: pods to preempt (nil: that is not tried),
// and a resource claim to deallocate (nil: none). It adds the messages of kube-scheduler's PostFilter plugins to
// the diagnosis.
func (s *Scheduler) postFilter(ctx context.Context, in plugins.Input, d *plugins.Diagnosis) (*plugins.Preemption, *resourcev1.ResourceClaim) {
	var idle *resourcev1.ResourceClaim
	if in.Profile.Deallocates() {
		if d.FailPostFilter() {
			return nil, nil
		}
		idle = in.Devices.Idle(in.Pod.Pod, d)
	}
	if !in.Profile.Preempts() {
		return nil, idle
	}
	p := s.findVictims(ctx, in, d)
	d.AddPreemption(&p)
	return &p, idle
}

// explain keeps the annotations about a decision, if the pod asks for them. They are written with the
// binding or the status.
func (s *Scheduler) explain(a *queue.Attempt, in plugins.Input, r explain.Result) {
	if in.Trace != nil {
		r.Total = in.Snapshot.Len()
		a.Annotations = explain.Annotations(in.Trace, r)
	}
}

func (s *Scheduler) renominate(a *queue.Attempt, node string) {
	s.queue.Nominate(a, node)
	s.nominator.Set(a.Info, node)
	if a.Nominated != "" && a.Nominated != node {
		s.queue.Notify(framework.ClusterEvent{Node: a.Nominated})
	}
}

// helps is the queue's hint. It checks the current state of the node, not the snapshot.
func (s *Scheduler) helps(p queue.Waiting, c framework.ClusterEvent) bool {
	switch {
	case p.ByExtenders: // what an extender decides by is not known
		return true
	case p.ByResources && slices.ContainsFunc(c.Backed, p.Info.Requests.Has):
		return true
	case c.OfDevices():
		return p.ByDevices && (c.Devices || s.devices.usesClaim(p.Info.Pod, c.ResourceClaim))
	case p.OnlyDevices && !c.Topology && !c.Offers:
		return false
	case c.OfVolumes():
		return c.Storage || p.Info.Uses(c.Claim)
	case p.ByVolumes:
		return false
	}
	profile := s.profileOf(p.Info.Pod)
	if p.ByRules && (p.Info.MayBeHelpedBy(c) || profile.SpreadsByDefault() && (c.Added != nil || c.Removed != nil)) {
		return true
	}
	return profile.NodeMayHelp(p.Info, s.devices.backed(p.Info), s.cache.Node(c.Node), p.Nominated != "")
}
