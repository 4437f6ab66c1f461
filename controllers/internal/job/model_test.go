package job

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/job/conditions"
	"minikcm.dev/minikcm/controllers/internal/job/decide"
	"minikcm.dev/minikcm/controllers/internal/job/indexes"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/podset"
	"minikcm.dev/minikcm/internal/loop"
)

var steps = flag.Int("job.steps", 120, "steps that a drawn history has")

// checker receives violations of invariants: a property test, or a test that expects them.
type checker interface {
	Fatalf(format string, args ...any)
}

// model is a world with one Job, its controller, a kubelet, and the state of the
// invariants.
type model struct {
	*modeltest.Run
	t      checker
	draw   modeltest.Draw
	decide decision
	// seen holds the last state of every pod that existed.
	seen map[types.UID]*corev1.Pod
	// counted maps the UIDs that the status has listed to the name of the list.
	counted map[types.UID]string
	last    *batchv1.Job
}

func newModel(t checker, draw modeltest.Draw, decide decision) *model {
	m := &model{
		Run: modeltest.NewRun(draw), t: t, draw: draw, decide: decide,
		seen: map[types.UID]*corev1.Pod{}, counted: map[types.UID]string{},
	}
	m.World.Graceful = func(o plan.Object) bool { _, ok := o.(*corev1.Pod); return ok }
	m.World.AfterWrite = m.check
	executorOf := func(a *modeltest.Actor) executor.Executor { return executor.Executor{Writer: a.Writer(), Parallel: 1} }
	m.must(m.Actor("job-controller", func(a *modeltest.Actor) (loop.Reconciler, error) {
		r := NewReconciler(Sources{Clock: m.Clock, Jobs: a.Watch(&batchv1.Job{}), Executor: executorOf(a), Decide: m.surveying(a.Watch(&corev1.Pod{}))})
		a.OnEvent(&batchv1.Job{}, r.OnJob)
		a.OnEvent(&corev1.Pod{}, r.OnPod, r.ObservePod)
		return r, nil
	}))
	m.must(m.Actor("orphans", func(a *modeltest.Actor) (loop.Reconciler, error) {
		o, err := NewOrphans(Sources{Clock: m.Clock, Jobs: a.Watch(&batchv1.Job{}), Pods: a.Watch(&corev1.Pod{}), Executor: executorOf(a)})
		if err != nil {
			return nil, err
		}
		a.OnEvent(&batchv1.Job{}, o.OnJob)
		a.OnEvent(&corev1.Pod{}, o.OnPod)
		return o, nil
	}))
	m.Other(m.kubelet)
	m.Other(m.user)
	return m
}

// decision is decide.Job, or a mistake, with the pods that the snapshot was taken of.
type decision func(in decide.Snapshot, pods []*corev1.Pod) (decide.Plan, error)

func correct(in decide.Snapshot, _ []*corev1.Pod) (decide.Plan, error) { return decide.Job(in, in.At) }

// surveying returns the model's decision. It compares the account of the pods with a count of the
// pods in the cache.
func (m *model) surveying(pods cache.Indexer) func(decide.Snapshot, time.Time) (decide.Plan, error) {
	return func(in decide.Snapshot, now time.Time) (decide.Plan, error) {
		if decide.Idle(in.Job) {
			return m.decide(in, nil)
		}
		var owned, orphans []*corev1.Pod
		for _, o := range pods.List() {
			pod := o.(*corev1.Pod)
			if controllerref.ControllerUID(pod) == "" {
				orphans = append(orphans, pod)
			} else {
				owned = append(owned, pod)
			}
		}
		podset.SortByName(owned)
		podset.SortByName(orphans)
		all := append(owned, orphans...)
		want, err := decide.Survey(in.Job, all, in.Failures, now)
		m.must(err)
		if diff := cmp.Diff(want, in.Pods, cmpopts.EquateEmpty()); diff != "" {
			m.t.Fatalf("the account differs (-survey +account):\n%s", diff)
		}
		return m.decide(in, all)
	}
}

// mistaken decides about a state of the Job other than the snapshot's.
func mistaken(in decide.Snapshot, job *batchv1.Job, pods []*corev1.Pod) (decide.Plan, error) {
	var err error
	in.Job = job
	if in.Pods, err = decide.Survey(job, pods, in.Failures, in.At); err != nil {
		return decide.Plan{}, err
	}
	return decide.Job(in, in.At)
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatalf("%v", err)
	}
}

// kubelet takes one pod a step further in its life.
func (m *model) kubelet(draw modeltest.Draw) bool {
	pods := slices.DeleteFunc(modeltest.List[*corev1.Pod](m.World), func(pod *corev1.Pod) bool {
		return controllerref.Ended(pod) && (pod.DeletionTimestamp == nil || len(pod.Finalizers) > 0)
	})
	if len(pods) == 0 {
		return false
	}
	pod := pods[draw(len(pods), "pod")]
	if controllerref.Ended(pod) {
		m.World.Remove(pod)
		return true
	}
	phase := corev1.PodRunning
	if pod.Status.Phase == corev1.PodRunning || pod.DeletionTimestamp != nil {
		phase = []corev1.PodPhase{corev1.PodSucceeded, corev1.PodSucceeded, corev1.PodFailed}[draw(3, "end")]
	}
	m.World.Change(pod, func(o plan.Object) {
		p := o.(*corev1.Pod)
		p.Status.Phase, p.Spec.NodeName = phase, "n1"
		if phase != corev1.PodRunning {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(m.Clock.Now())},
			}}}
		}
	})
	return true
}

// user suspends, resumes, scales, or deletes a pod.
func (m *model) user(draw modeltest.Draw) bool {
	switch draw(4, "user") {
	case 0:
		yes := draw(2, "suspend") == 1
		m.change(func(s *batchv1.JobSpec) { s.Suspend = &yes })
	case 1:
		n := int32(draw(maxParallelism+1, "parallelism"))
		m.change(func(s *batchv1.JobSpec) { s.Parallelism = &n })
	case 2:
		if pods := modeltest.List[*corev1.Pod](m.World); len(pods) > 0 {
			m.must(m.World.Delete(context.Background(), pods[draw(len(pods), "victim")]))
		}
	}
	return true
}

func (m *model) change(change func(*batchv1.JobSpec)) {
	for _, job := range modeltest.List[*batchv1.Job](m.World) {
		m.World.Change(job, func(o plan.Object) { change(&o.(*batchv1.Job).Spec) })
	}
}

const maxParallelism = 3

func (m *model) create(ctx context.Context) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "j"}, Spec: batchv1.JobSpec{
		Parallelism: ptr.To[int32](2), Completions: ptr.To(int32(1 + m.draw(6, "completions"))), BackoffLimit: ptr.To(int32(m.draw(21, "limit"))),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"job": "j"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"job": "j"}}},
	}}
	switch m.draw(3, "kind") {
	case 1:
		job.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	case 2:
		job.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
		job.Spec.BackoffLimitPerIndex, job.Spec.BackoffLimit = ptr.To(int32(m.draw(3, "limit of an index"))), ptr.To[int32](1<<31-1)
	}
	if m.draw(2, "replaces only failed pods") == 1 {
		job.Spec.PodReplacementPolicy = ptr.To(batchv1.Failed)
	}
	_, err := m.World.Create(ctx, job)
	m.must(err)
}

// check checks the invariants after a write.
func (m *model) check() {
	modeltest.Each(m.World, func(job *batchv1.Job) {
		if m.last != nil && m.last.ResourceVersion != job.ResourceVersion {
			m.countedOnce(job)
			m.endIsFinal(job)
		}
		m.last = job
	})
	if m.last == nil {
		return
	}
	modeltest.Each(m.World, func(pod *corev1.Pod) {
		before := m.seen[pod.UID]
		if before == nil {
			m.neverAFinishedIndex(pod)
		} else if decide.Tracked(before) && !decide.Tracked(pod) {
			m.countedBeforeReleased(pod)
		}
		m.seen[pod.UID] = pod
	})
	m.oneActivePodAnIndex()
	m.withinParallelism()
}

// countedOnce checks that the status lists a pod's UID once and in one list, and that the
// counter grows by one when the UID leaves the list.
func (m *model) countedOnce(job *batchv1.Job) {
	was, is := &m.last.Status, &job.Status
	lists := func(s *batchv1.JobStatus) map[types.UID]string {
		in := map[types.UID]string{}
		if s.UncountedTerminatedPods != nil {
			for _, uid := range s.UncountedTerminatedPods.Succeeded {
				in[uid] = "succeeded"
			}
			for _, uid := range s.UncountedTerminatedPods.Failed {
				if in[uid] != "" {
					m.t.Fatalf("pod %s is in both lists", uid)
				}
				in[uid] = "failed"
			}
		}
		return in
	}
	before, after := lists(was), lists(is)
	left := map[string]int32{}
	for uid, list := range before {
		if after[uid] == "" {
			left[list]++
		}
	}
	for uid, list := range after {
		if before[uid] == "" {
			if m.counted[uid] != "" {
				m.t.Fatalf("pod %s is counted as %s, after it has been as %s", uid, list, m.counted[uid])
			}
			m.counted[uid] = list
		}
	}
	if indexes.Indexed(job) {
		left["succeeded"] = int32(indexes.Parse(is.CompletedIndexes, indexes.Completions(job)).Total()) - was.Succeeded
	}
	if is.Succeeded-was.Succeeded != left["succeeded"] || is.Failed-was.Failed != left["failed"] {
		m.t.Fatalf("%d and %d pods became %d succeeded and %d failed ones", left["succeeded"], left["failed"], is.Succeeded-was.Succeeded, is.Failed-was.Failed)
	}
}

// endIsFinal checks that a finished Job does not change, and that all its pods are counted.
func (m *model) endIsFinal(job *batchv1.Job) {
	if conditions.Finished(m.last) != nil && !equality.Semantic.DeepEqual(m.last.Status, job.Status) {
		m.t.Fatalf("a finished Job became %+v, was %+v", job.Status, m.last.Status)
	}
	if conditions.Finished(job) == nil {
		return
	}
	if u := job.Status.UncountedTerminatedPods; len(u.Succeeded)+len(u.Failed) > 0 {
		m.t.Fatalf("a finished Job has uncounted pods: %+v", job.Status)
	}
	modeltest.Each(m.World, func(pod *corev1.Pod) {
		if !controllerref.Ended(pod) && pod.DeletionTimestamp == nil {
			m.t.Fatalf("the Job has finished, and %s runs", pod.Name)
		}
	})
}

// countedBeforeReleased checks that an ended pod loses its finalizer only after the status
// has counted it.
func (m *model) countedBeforeReleased(pod *corev1.Pod) {
	job := m.last
	if !controllerref.Ended(pod) || m.counted[pod.UID] != "" || conditions.Of(&job.Status, batchv1.JobSuccessCriteriaMet) != nil {
		return
	}
	if indexes.Indexed(job) && pod.Status.Phase == corev1.PodSucceeded && indexes.Parse(job.Status.CompletedIndexes, indexes.Completions(job)).Has(indexes.Of(pod)) {
		return
	}
	m.t.Fatalf("%s %s is released and not counted: %+v", pod.Status.Phase, pod.Name, job.Status)
}

// neverAFinishedIndex checks that no pod is created for an index that has succeeded or has
// failed permanently.
func (m *model) neverAFinishedIndex(pod *corev1.Pod) {
	job := m.last
	if !indexes.Indexed(job) {
		return
	}
	i := indexes.Of(pod)
	if indexes.Parse(job.Status.CompletedIndexes, indexes.Completions(job)).Has(i) {
		m.t.Fatalf("index %d is run, and has succeeded: %+v", i, job.Status)
	}
	if lost := job.Status.FailedIndexes; lost != nil && indexes.Parse(*lost, indexes.Completions(job)).Has(i) {
		m.t.Fatalf("index %d is run, and has failed: %+v", i, job.Status)
	}
}

// oneActivePodAnIndex checks that no index has two active pods.
func (m *model) oneActivePodAnIndex() {
	if !indexes.Indexed(m.last) {
		return
	}
	active := map[int]string{}
	modeltest.Each(m.World, func(pod *corev1.Pod) {
		if !controllerref.Active(pod) {
			return
		}
		if other := active[indexes.Of(pod)]; other != "" {
			m.t.Fatalf("%s and %s run the same index", other, pod.Name)
		}
		active[indexes.Of(pod)] = pod.Name
	})
}

// withinParallelism checks that there are never more active pods than the largest
// parallelism so far.
func (m *model) withinParallelism() {
	active := 0
	modeltest.Each(m.World, func(pod *corev1.Pod) {
		if controllerref.Active(pod) {
			active++
		}
	})
	if active > maxParallelism {
		m.t.Fatalf("%d pods run, %d at most were asked for", active, maxParallelism)
	}
}

// history takes the drawn steps, then lets the Job finish.
func (m *model) history(ctx context.Context) {
	m.create(ctx)
	m.Crashes = true
	m.must(m.Steps(*steps))
	m.Crashes = false
	m.change(func(s *batchv1.JobSpec) { s.Suspend, s.Parallelism = ptr.To(false), ptr.To[int32](2) })
	first := func(int, string) int { return 0 }
	m.must(m.Settle(20_000, 100*time.Hour, func() bool { return m.kubelet(first) }))
	for _, job := range modeltest.List[*batchv1.Job](m.World) {
		if conditions.Finished(job) == nil {
			m.t.Fatalf("the Job has not finished: %+v", job.Status)
		}
	}
	modeltest.Each(m.World, func(pod *corev1.Pod) {
		if decide.Tracked(pod) {
			m.t.Fatalf("the Job has finished, and pod %s waits for it", pod.Name)
		}
	})
}

func drawFrom(t *rapid.T) modeltest.Draw {
	return func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }
}

// TestEveryPodIsCountedOnce crashes the controller, delivers events late, and lets users
// and kubelets act between its writes.
func TestEveryPodIsCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { newModel(t, drawFrom(t), correct).history(t.Context()) })
}

// broke is the panic value of an invariant that is broken under seeded draws.
type broke struct{ message string }

type recorder struct{}

func (recorder) Fatalf(format string, args ...any) { panic(broke{fmt.Sprintf(format, args...)}) }

// breaks runs one history with the draws of a seed, and returns the message of the broken
// invariant, or "".
func breaks(t *testing.T, seed uint64, decide decision) (message string) {
	defer func() {
		if value := recover(); value != nil {
			b, ok := value.(broke)
			if !ok {
				panic(value)
			}
			message = b.message
		}
	}()
	random := clock.NewRandom(seed)
	newModel(recorder{}, func(n int, _ string) int { return random.IntN(n) }, decide).history(t.Context())
	return ""
}

// TestPlantedMistakesAreSeen checks that the invariants detect planted mistakes.
func TestPlantedMistakesAreSeen(t *testing.T) {
	mistakes := map[string]struct {
		plant decision
		want  string
	}{
		"ends are released and not counted": {func(in decide.Snapshot, _ []*corev1.Pod) (decide.Plan, error) {
			p, err := decide.Job(in, in.At)
			if p.Status != nil {
				p.Status.UncountedTerminatedPods = in.Job.Status.UncountedTerminatedPods
			}
			return p, err
		}, "is released and not counted"},
		"what is counted is not known": {func(in decide.Snapshot, pods []*corev1.Pod) (decide.Plan, error) {
			job := *in.Job
			job.Status.UncountedTerminatedPods = nil
			return mistaken(in, &job, pods)
		}, "became"},
		"completed indexes are not known": {func(in decide.Snapshot, pods []*corev1.Pod) (decide.Plan, error) {
			job := *in.Job
			job.Status.CompletedIndexes = ""
			return mistaken(in, &job, pods)
		}, "index"},
		"a spare pod is released as it is by now": {func(in decide.Snapshot, _ []*corev1.Pod) (decide.Plan, error) {
			p, err := decide.Job(in, in.At)
			for i := range p.Actions {
				p.Actions[i].Unchanged = false
			}
			return p, err
		}, "is released and not counted"},
		"pods that run are not seen": {func(in decide.Snapshot, pods []*corev1.Pod) (decide.Plan, error) {
			return mistaken(in, in.Job, slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }))
		}, "run"},
	}
	for name, mistake := range mistakes {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2000) {
				if message := breaks(t, seed, mistake.plant); strings.Contains(message, mistake.want) {
					return
				}
			}
			t.Errorf("no history of 2000 shows it")
		})
	}
}
