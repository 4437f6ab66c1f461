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

// writes answers reads with err, and takes down what is written.
type writes struct {
	err  error
	done []string
}

func (w *writes) note(verb string, o plan.Object) (plan.Object, error) {
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
			index := func(objects ...any) cache.Indexer {
				i := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
				for _, o := range objects {
					if err := i.Add(o); err != nil {
						t.Fatal(err)
					}
				}
				return i
			}
			cj := newCronJob(active(0), policy(batchv1.ReplaceConcurrent))
			w, told := &writes{err: tc.err}, record.NewFakeRecorder(10)
			jobs := index()
			r, err := NewReconciler(Sources{
				Clock: clocktesting.NewFakePassiveClock(minute(10)), CronJobs: index(cj), Jobs: jobs,
				Executor: plan.Executor{Writer: w, Recorder: told, Parallel: 1},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := jobs.Add(jobOf(0)); err != nil {
				t.Fatal(err)
			}
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
