package cronjob

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/cronjob/decide"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/job/conditions"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// decider decides whether a Job is due.
type decider func(in decide.Snapshot, now time.Time) decide.Plan

// model is a world with one CronJob, its controller, and a stand-in for the Job controller.
type model struct {
	*modeltest.Run
	t      *rapid.T
	policy batchv1.ConcurrencyPolicy
	// started maps each scheduled time to the UID of its Job.
	started map[string]types.UID
	// shown are the Jobs that the controller's cache has contained.
	shown map[types.UID]bool
}

func newModel(t *rapid.T, decide decider) *model {
	draw := func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }
	m := &model{Run: modeltest.NewRun(draw), t: t, started: map[string]types.UID{}, shown: map[types.UID]bool{}}
	m.policy = rapid.SampledFrom([]batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}).Draw(t, "policy")
	m.World.AfterWrite = m.check
	m.must(m.Actor(Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		r, err := NewReconciler(Sources{
			Clock: m.Clock, CronJobs: a.Watch(&batchv1.CronJob{}), Jobs: a.Watch(&batchv1.Job{}),
			Executor: executor.Executor{Writer: a.Writer(), Parallel: 1}, Decide: decide,
		})
		if err != nil {
			return nil, err
		}
		a.OnEvent(&batchv1.CronJob{}, r.OnCronJob)
		a.OnEvent(&batchv1.Job{}, func(ev loop.Event) []types.NamespacedName {
			m.shown[ev.Object.GetUID()] = true
			return r.OnJob(ev)
		})
		return r, nil
	}))
	m.Other(m.finish)
	m.Other(m.wait)
	m.Other(m.suspend)
	_, err := m.World.Create(t.Context(), &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "c"},
		Spec: batchv1.CronJobSpec{
			Schedule: "* * * * *", ConcurrencyPolicy: m.policy,
			SuccessfulJobsHistoryLimit: ptr.To[int32](1), FailedJobsHistoryLimit: ptr.To[int32](1),
		},
	})
	m.must(err)
	return m
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// finish finishes a running Job.
func (m *model) finish(draw modeltest.Draw) bool {
	for _, j := range modeltest.List[*batchv1.Job](m.World) {
		if conditions.Finished(j) != nil {
			continue
		}
		kind := []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed}[draw(2, "end")]
		m.World.Change(j, func(o plan.Object) {
			at := metav1.NewTime(m.Clock.Now())
			s := &o.(*batchv1.Job).Status
			s.StartTime, s.CompletionTime = &at, &at
			s.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: at}}
		})
		return true
	}
	return false
}

// wait advances the clock by most of a minute, or several. Expectations time out after five
// minutes, so every wait is shorter.
func (m *model) wait(draw modeltest.Draw) bool {
	for _, j := range modeltest.List[*batchv1.Job](m.World) {
		if !m.shown[j.UID] {
			return false
		}
	}
	m.Clock.SetTime(m.Clock.Now().Add([]time.Duration{25 * time.Second, 50 * time.Second, 4 * time.Minute}[draw(3, "wait")]))
	return true
}

func (m *model) suspend(draw modeltest.Draw) bool {
	suspend := draw(3, "suspend") == 0
	for _, cj := range modeltest.List[*batchv1.CronJob](m.World) {
		m.World.Change(cj, func(o plan.Object) { o.(*batchv1.CronJob).Spec.Suspend = &suspend })
	}
	return true
}

func (m *model) check() {
	running := 0
	modeltest.Each(m.World, func(j *batchv1.Job) {
		m.onceForATime(j)
		m.neverEarly(j)
		if conditions.Finished(j) == nil {
			running++
		}
	})
	m.aloneUnlessAllowed(running)
}

// onceForATime checks that each scheduled time has one Job.
func (m *model) onceForATime(j *batchv1.Job) {
	at := j.Annotations[batchv1.CronJobScheduledTimestampAnnotation]
	if other := m.started[at]; other != "" && other != j.UID {
		m.t.Fatalf("%s is started for %s, which had one before", j.Name, at)
	}
	m.started[at] = j.UID
}

// neverEarly checks that no Job is created before its scheduled time.
func (m *model) neverEarly(j *batchv1.Job) {
	at, err := time.Parse(time.RFC3339, j.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
	if err != nil || at.After(m.Clock.Now()) {
		m.t.Fatalf("%s for %v is there at %v: %v", j.Name, at, m.Clock.Now(), err)
	}
}

// aloneUnlessAllowed checks that two Jobs run at a time only if the policy is Allow.
func (m *model) aloneUnlessAllowed(running int) {
	if running > 1 && m.policy != batchv1.AllowConcurrent {
		m.t.Fatalf("%d Jobs run, with the policy %s", running, m.policy)
	}
}

// goesOn checks that the last scheduled times were handled, and that finished Jobs are no
// longer listed as active.
func (m *model) goesOn(since time.Time) {
	cj := modeltest.List[*batchv1.CronJob](m.World)[0]
	if s := cj.Status; s.LastScheduleTime == nil || s.LastScheduleTime.Sub(since) < 8*time.Minute || len(s.Active) != 0 {
		m.t.Fatalf("ten minutes after %v: %+v", since, s)
	}
}

// historyIsBounded checks that only the last successful and the last failed Job are kept.
func (m *model) historyIsBounded() {
	kept := map[batchv1.JobConditionType]int{}
	modeltest.Each(m.World, func(j *batchv1.Job) {
		if c := conditions.Finished(j); c != nil {
			kept[c.Type]++
		}
	})
	for kind, n := range kept {
		if n > 1 {
			m.t.Fatalf("%d Jobs are kept that are %s, one is to be", n, kind)
		}
	}
}

// TestEachTimeOnce crashes the controller between the creation of a Job and the write of
// the status, delivers events late, and finishes Jobs in between.
func TestEachTimeOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { eachTimeOnce(t, decide.CronJob) })
}

func eachTimeOnce(t *rapid.T, decide decider) {
	m := newModel(t, decide)
	m.Crashes = true
	m.must(m.Steps(150))
	m.Crashes = false
	for _, cj := range modeltest.List[*batchv1.CronJob](m.World) {
		m.World.Change(cj, func(o plan.Object) { o.(*batchv1.CronJob).Spec.Suspend = ptr.To(false) })
	}
	before := m.Clock.Now()
	last := func(int, string) int { return 0 }
	m.must(m.Settle(5_000, 10*time.Minute, func() bool { return m.finish(last) }))
	m.goesOn(before)
	m.historyIsBounded()
}

// TestPlantedMistakesAreSeen checks that the invariants detect wrong decisions.
func TestPlantedMistakesAreSeen(t *testing.T) {
	changing := func(change func(p *decide.Plan)) decider {
		return func(in decide.Snapshot, now time.Time) decide.Plan {
			p := decide.CronJob(in, now)
			change(&p)
			return p
		}
	}
	misreading := func(change func(in *decide.Snapshot)) decider {
		return func(in decide.Snapshot, now time.Time) decide.Plan {
			in.CronJob = in.CronJob.DeepCopy()
			change(&in)
			return decide.CronJob(in, now)
		}
	}
	for name, mistake := range map[string]struct {
		decide decider
		want   string
	}{
		"a Job's name does not follow from its time": {func(in decide.Snapshot, now time.Time) decide.Plan {
			p := decide.CronJob(in, now)
			if p.Start != nil {
				p.Start.Name += "-" + in.CronJob.ResourceVersion
			}
			return p
		}, "which had one before"},
		"a minute too early":             {func(in decide.Snapshot, now time.Time) decide.Plan { return decide.CronJob(in, now.Add(time.Minute)) }, "is there at"},
		"what runs is not known":         {misreading(func(in *decide.Snapshot) { in.CronJob.Status.Active, in.Jobs = nil, nil }), "Jobs run, with the policy"},
		"every policy is taken to allow": {misreading(func(in *decide.Snapshot) { in.CronJob.Spec.ConcurrencyPolicy = batchv1.AllowConcurrent }), "Jobs run, with the policy"},
		"it is not looked at again":      {changing(func(p *decide.Plan) { p.RequeueAfter = 0 }), "ten minutes after"},
		"finished Jobs stay":             {changing(func(p *decide.Plan) { p.Tidy = nil }), "are kept"},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.MustBreak(t, mistake.want, func(t *rapid.T) { eachTimeOnce(t, mistake.decide) })
		})
	}
}
