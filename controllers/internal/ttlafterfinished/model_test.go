package ttlafterfinished

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

const historySteps = 100

// decision decides whether a Job's time is over.
type decision func(job *batchv1.Job, now time.Time) (bool, time.Duration, error)

// model is a world with some Jobs that finish, and users that change the Jobs.
type model struct {
	*modeltest.Run
	t *rapid.T
}

// api is the world as the controller's client. It checks each deletion: no Job may be
// deleted before its time.
type api struct {
	batchclient.JobInterface
	m      *model
	writer executor.Writer
}

func (a api) Jobs(string) batchclient.JobInterface { return a }

func (a api) like(name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
}

func (a api) Get(ctx context.Context, name string, _ metav1.GetOptions) (*batchv1.Job, error) {
	o, err := a.writer.Get(ctx, a.like(name))
	if err != nil {
		return nil, err
	}
	return o.(*batchv1.Job), nil
}

func (a api) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	o, err := a.m.World.Get(ctx, a.like(name))
	if err != nil {
		return err
	}
	live := o.(*batchv1.Job)
	if live.UID != *opts.Preconditions.UID || live.ResourceVersion != *opts.Preconditions.ResourceVersion {
		return apierrors.NewConflict(batchv1.Resource("jobs"), name, errors.New("it has changed"))
	}
	a.m.neverEarly(live)
	return a.writer.Delete(ctx, live)
}

// neverEarly checks that no Job is deleted before the end of its time to live, or without
// one.
func (m *model) neverEarly(job *batchv1.Job) {
	if end, mortal := endOf(job); !mortal || m.Clock.Now().Before(end) {
		m.t.Fatalf("%s was deleted early: at %s, its time is over at %s (%v)", job.Name, m.Clock.Now(), end, mortal)
	}
}

// allInTheEnd checks that no Job remains whose time is over.
func (m *model) allInTheEnd() {
	for _, job := range modeltest.List[*batchv1.Job](m.World) {
		if end, mortal := endOf(job); mortal {
			m.t.Fatalf("%s is still there; its time was over at %s, now it is %s", job.Name, end, m.Clock.Now())
		}
	}
}

// endOf returns the end of a Job's time to live, calculated by the model.
func endOf(job *batchv1.Job) (time.Time, bool) {
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && job.Spec.TTLSecondsAfterFinished != nil {
			return c.LastTransitionTime.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second), true
		}
	}
	return time.Time{}, false
}

func newModel(t *rapid.T, due decision) *model {
	m := &model{Run: modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }), t: t}
	m.must(m.Actor(Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		c := &Controller{clock: m.Clock, jobs: batchlisters.NewJobLister(a.Watch(&batchv1.Job{})), client: api{m: m, writer: a.Writer()}, due: due}
		a.OnEvent(&batchv1.Job{}, onJob)
		return c, nil
	}))
	for _, name := range []string{"x", "y", "z"} {
		_, err := m.World.Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}})
		m.must(err)
	}
	m.Other(m.finish)
	m.Other(m.user)
	return m
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) any(draw modeltest.Draw, change func(*batchv1.Job)) bool {
	jobs := modeltest.List[*batchv1.Job](m.World)
	if len(jobs) == 0 {
		return false
	}
	m.World.Change(jobs[draw(len(jobs), "job")], func(o plan.Object) { change(o.(*batchv1.Job)) })
	return true
}

// finish finishes a Job.
func (m *model) finish(draw modeltest.Draw) bool {
	kind := []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed}[draw(2, "end")]
	return m.any(draw, func(job *batchv1.Job) {
		if len(job.Status.Conditions) == 0 {
			job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(m.Clock.Now())}}
		}
	})
}

// user changes or removes the time to live of a Job.
func (m *model) user(draw modeltest.Draw) bool {
	ttl := int32(draw(30, "time to live"))
	return m.any(draw, func(job *batchv1.Job) {
		if job.Spec.TTLSecondsAfterFinished = &ttl; ttl == 29 {
			job.Spec.TTLSecondsAfterFinished = nil
		}
	})
}

// TestJobsGoInTime checks that no Job is deleted early, and all are in the end, whatever
// users change and wherever the controller crashes.
func TestJobsGoInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { jobsGoInTime(t, Due) })
}

func jobsGoInTime(t *rapid.T, due decision) {
	m := newModel(t, due)
	m.Crashes = true
	m.must(m.Steps(historySteps))
	m.Crashes = false
	m.must(m.Settle(10_000, time.Hour))
	m.allInTheEnd()
}

// TestPlantedMistakesAreSeen checks that the property detects wrong decisions.
func TestPlantedMistakesAreSeen(t *testing.T) {
	for name, mistake := range map[string]struct {
		due  decision
		want string
	}{
		"a second too early": {func(job *batchv1.Job, now time.Time) (bool, time.Duration, error) {
			return Due(job, now.Add(time.Second))
		}, "was deleted early"},
		"the time is reckoned from the Job's creation": {func(job *batchv1.Job, now time.Time) (bool, time.Duration, error) {
			job = job.DeepCopy()
			for i := range job.Status.Conditions {
				job.Status.Conditions[i].LastTransitionTime = job.CreationTimestamp
			}
			return Due(job, now)
		}, "was deleted early"},
		"it is not looked at again": {func(job *batchv1.Job, now time.Time) (bool, time.Duration, error) {
			due, _, err := Due(job, now)
			return due, 0, err
		}, "is still there"},
		"failed Jobs stay": {func(job *batchv1.Job, now time.Time) (bool, time.Duration, error) {
			for _, c := range job.Status.Conditions {
				if c.Type == batchv1.JobFailed {
					return false, 0, nil
				}
			}
			return Due(job, now)
		}, "is still there"},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.MustBreak(t, mistake.want, func(t *rapid.T) { jobsGoInTime(t, mistake.due) })
		})
	}
}
