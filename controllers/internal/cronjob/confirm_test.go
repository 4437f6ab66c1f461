package cronjob

import (
	"context"
	"errors"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"minikcm.dev/minikcm/controllers/internal/cronjob/cronjobtest"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// writes is a Writer that returns err for reads, records writes, and refuses some of them.
type writes struct {
	err     error
	done    []string
	refused map[string]error // by verb
}

func (w *writes) note(verb string, o plan.Object) (plan.Object, error) {
	if err := w.refused[verb]; err != nil {
		return nil, err
	}
	w.done = append(w.done, verb+" "+o.GetName())
	return o, nil
}

func (w *writes) Get(_ context.Context, like plan.Object) (plan.Object, error) { return like, w.err }

func (w *writes) Create(_ context.Context, o plan.Object) (plan.Object, error) {
	return w.note("create", o)
}

func (w *writes) Update(_ context.Context, o plan.Object, _ string) (plan.Object, error) {
	return w.note("update", o)
}

func (w *writes) Patch(_ context.Context, o plan.Object, _ []byte) (plan.Object, error) {
	return w.note("patch", o)
}

func (w *writes) Delete(_ context.Context, o plan.Object) error {
	_, err := w.note("delete", o)
	return err
}

// reconcilerOf returns a reconciler in the tenth minute of a CronJob.
func reconcilerOf(t *testing.T, w *writes, recorder record.EventRecorder, cj *batchv1.CronJob, known ...*batchv1.Job) *Reconciler {
	t.Helper()
	index := func() cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	cronJobs, jobs := index(), index()
	r, err := NewReconciler(Sources{
		Clock: clocktesting.NewFakePassiveClock(cronjobtest.Minute(10)), CronJobs: cronJobs, Jobs: jobs,
		Executor: executor.Executor{Writer: w, Recorder: recorder, Parallel: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := cronJobs.Add(cj); err != nil {
		t.Fatal(err)
	}
	for _, job := range known {
		if err := jobs.Add(job); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// TestConflictHidesNoFailure checks that a Job that could not be created is retried at
// once, even if the write of the CronJob's status failed as stale too.
func TestConflictHidesNoFailure(t *testing.T) {
	gone := cronjobtest.New(cronjobtest.Active(0))
	away := errors.New("the store is away")
	w := &writes{refused: map[string]error{"create": away, "update": apierrors.NewConflict(batchv1.Resource("cronjobs"), gone.Name, errors.New("old"))}}
	if _, err := reconcilerOf(t, w, record.NewFakeRecorder(10), gone).Reconcile(t.Context(), loop.KeyOf(gone)); !errors.Is(err, away) {
		t.Errorf("Reconcile() = %v, want %v", err, away)
	}
}

// TestReplacedJobIsRead checks that a Job that cannot be read is not replaced, and that an
// event says so.
func TestReplacedJobIsRead(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		event string
		want  string
	}{
		"it is there":    {nil, "Normal SuccessfulDelete Deleted job " + cronjobtest.NameOf(0), "delete " + cronjobtest.NameOf(0) + " create " + cronjobtest.NameOf(10) + " update c"},
		"it has gone":    {apierrors.NewNotFound(batchv1.Resource("jobs"), cronjobtest.NameOf(0)), `Warning FailedGet Get job: jobs.batch "` + cronjobtest.NameOf(0) + `" not found`, ""},
		"the read fails": {errors.New("the store is away"), "Warning FailedGet Get job: the store is away", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cj := cronjobtest.New(cronjobtest.Active(0), cronjobtest.Policy(batchv1.ReplaceConcurrent))
			w, recorder := &writes{err: tc.err}, record.NewFakeRecorder(10)
			r := reconcilerOf(t, w, recorder, cj, cronjobtest.JobOf(0))
			if _, err := r.Reconcile(t.Context(), loop.KeyOf(cj)); (err == nil) != (tc.err == nil) {
				t.Errorf("Reconcile() = %v", err)
			}
			if got := strings.Join(w.done, " "); got != tc.want {
				t.Errorf("it did %q, want %q", got, tc.want)
			}
			if first := <-recorder.Events; first != tc.event {
				t.Errorf("the event is %q, want %q", first, tc.event)
			}
		})
	}
}
