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

	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/plan"
)

// writes answers reads with err, takes down what is written, and refuses some of it.
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

// reconcilerOf looks at a CronJob in its tenth minute.
func reconcilerOf(t *testing.T, w *writes, told record.EventRecorder, cj *batchv1.CronJob, known ...*batchv1.Job) *Reconciler {
	t.Helper()
	index := func() cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	cronJobs, jobs := index(), index()
	r, err := NewReconciler(Sources{
		Clock: clocktesting.NewFakePassiveClock(minute(10)), CronJobs: cronJobs, Jobs: jobs,
		Executor: plan.Executor{Writer: w, Recorder: told, Parallel: 1},
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

// TestConflictHidesNoFailure: a Job that could not be started is tried again at once,
// even if the CronJob's status was stale too.
func TestConflictHidesNoFailure(t *testing.T) {
	gone := newCronJob(active(0))
	away := errors.New("the store is away")
	w := &writes{refused: map[string]error{"create": away, "update": apierrors.NewConflict(batchv1.Resource("cronjobs"), gone.Name, errors.New("old"))}}
	if _, err := reconcilerOf(t, w, record.NewFakeRecorder(10), gone).Reconcile(t.Context(), loop.KeyOf(gone)); !errors.Is(err, away) {
		t.Errorf("Reconcile() = %v, want %v", err, away)
	}
}

// TestReplacedJobIsRead: a Job that cannot be read is not replaced, and it is told.
func TestReplacedJobIsRead(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		told string
		want string
	}{
		"it is there":     {nil, "Normal SuccessfulDelete Deleted job " + nameOf(0), "delete " + nameOf(0) + " create " + nameOf(10) + " update c"},
		"it has gone":     {apierrors.NewNotFound(batchv1.Resource("jobs"), nameOf(0)), `Warning FailedGet Get job: jobs.batch "` + nameOf(0) + `" not found`, ""},
		"nobody can tell": {errors.New("the store is away"), "Warning FailedGet Get job: the store is away", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cj := newCronJob(active(0), policy(batchv1.ReplaceConcurrent))
			w, told := &writes{err: tc.err}, record.NewFakeRecorder(10)
			r := reconcilerOf(t, w, told, cj, jobOf(0))
			if _, err := r.Reconcile(t.Context(), loop.KeyOf(cj)); (err == nil) != (tc.err == nil) {
				t.Errorf("Reconcile() = %v", err)
			}
			if got := strings.Join(w.done, " "); got != tc.want {
				t.Errorf("it did %q, want %q", got, tc.want)
			}
			if first := <-told.Events; first != tc.told {
				t.Errorf("it was told %q, want %q", first, tc.told)
			}
		})
	}
}
