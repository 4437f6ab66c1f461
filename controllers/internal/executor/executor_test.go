package executor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// api is a world that counts creates, and refuses those that refuse returns an error for.
type api struct {
	*modeltest.World
	mu       sync.Mutex
	requests int
	refuse   func(n int) error
}

func newAPI() *api {
	return &api{World: modeltest.NewWorld(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))}
}

func (a *api) Create(ctx context.Context, o plan.Object) (plan.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	if a.refuse != nil {
		if err := a.refuse(a.requests); err != nil {
			return nil, err
		}
	}
	return a.World.Create(ctx, o)
}

// notes is a tracker that records its calls.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(what string, owner types.UID, o plan.Object) {
	n.mu.Lock()
	defer n.mu.Unlock()
	line := what + " " + string(owner)
	if o != nil {
		line += " " + o.GetName()
	}
	n.lines = append(n.lines, line)
}

func (n *notes) Begin(owner types.UID)                   { n.add("begin", owner, nil) }
func (n *notes) End(owner types.UID)                     { n.add("end", owner, nil) }
func (n *notes) Written(owner types.UID, o plan.Object)  { n.add("written", owner, o) }
func (n *notes) Deleting(owner types.UID, o plan.Object) { n.add("deleting", owner, o) }
func (n *notes) Kept(owner types.UID, o plan.Object)     { n.add("kept", owner, o) }

type fixture struct {
	*executor.Executor
	api    *api
	events *record.FakeRecorder
	notes  *notes
	owner  *appsv1.ReplicaSet
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{api: newAPI(), events: record.NewFakeRecorder(1000), notes: &notes{}}
	f.Executor = &executor.Executor{
		Kind: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), Writer: f.api, Recorder: f.events, Tracker: f.notes,
	}
	f.owner = f.make(t, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "owner"}}).(*appsv1.ReplicaSet)
	return f
}

func (f *fixture) make(t *testing.T, o plan.Object) plan.Object {
	t.Helper()
	made, err := f.api.World.Create(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (f *fixture) pod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	return f.make(t, named(name)).(*corev1.Pod)
}

func named(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
}

// recorded returns the events so far.
func (f *fixture) recorded() []string {
	var all []string
	for {
		select {
		case e := <-f.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

func creations(n int) plan.Action {
	action := plan.Action{
		Verb: plan.Create, SlowStart: true,
		Succeeded: &plan.Event{Type: "Normal", Reason: "SuccessfulCreate", Message: "Created pod: ", Detail: true},
		Failed:    &plan.Event{Type: "Warning", Reason: "FailedCreate", Message: "Error creating: ", Detail: true},
	}
	for i := range n {
		action.Objects = append(action.Objects, named(fmt.Sprintf("p%d", i)))
	}
	return action
}

func TestSlowStart(t *testing.T) {
	quota := apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("exceeded quota"))
	for name, tt := range map[string]struct {
		refuseAfter, requests int
	}{
		"all refused":    {0, 1},
		"refused at 4":   {3, 7}, // 1 and 2 succeed, all 4 of the third batch are tried
		"nothing is":     {100, 20},
		"last batch has": {19, 20},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.api.refuse = func(n int) error {
				if n > tt.refuseAfter {
					return quota
				}
				return nil
			}
			err := f.Act(t.Context(), f.owner, []plan.Action{creations(20)})
			if (err != nil) != (tt.refuseAfter < 20) {
				t.Errorf("Act() = %v", err)
			}
			if f.api.requests != tt.requests {
				t.Errorf("%d requests were made, want %d", f.api.requests, tt.requests)
			}
			created := min(tt.refuseAfter, 20)
			events := f.recorded()
			if n := len(slices.DeleteFunc(slices.Clone(events), func(e string) bool { return !strings.HasPrefix(e, "Normal SuccessfulCreate Created pod: p") })); n != created {
				t.Errorf("%d creations were recorded, want %d", n, created)
			}
			refusal := "Warning FailedCreate Error creating: " + quota.Error()
			if n := len(slices.DeleteFunc(events, func(e string) bool { return e != refusal })); n != tt.requests-created {
				t.Errorf("%d refusals were recorded, want %d", n, tt.requests-created)
			}
		})
	}
}

func TestActStopsAtTheFirstFailure(t *testing.T) {
	f := newFixture(t)
	old := f.pod(t, "old")
	f.api.World.Change(old, func(o plan.Object) { o.SetLabels(map[string]string{"a": "b"}) })
	changed := old.DeepCopy()
	changed.Labels = map[string]string{"x": "y"}
	err := f.Act(t.Context(), f.owner, []plan.Action{plan.One(plan.Update, changed), plan.One(plan.Delete, old)})
	if result, left := executor.Settle(loop.Result{}, err); !plan.IsStale(err) || left != nil || !result.Unsure {
		t.Errorf("Act() with an old state = %v, want a stale error", err)
	}
	if _, err := f.api.Get(t.Context(), old); err != nil {
		t.Errorf("the action after the failed one was taken: %v", err)
	}
	var failed *plan.ActionError
	if !errors.As(err, &failed) || failed.Verb != plan.Update || failed.Object.GetName() != "old" || !apierrors.IsConflict(err) {
		t.Errorf("Act() = %v, want the action's error", err)
	}
}

func TestTracking(t *testing.T) {
	f := newFixture(t)
	goes, same, gone := f.pod(t, "goes"), f.pod(t, "same"), f.pod(t, "gone")
	f.api.World.Remove(gone)
	err := f.Act(t.Context(), f.owner, []plan.Action{
		plan.One(plan.Create, named("new")), plan.One(plan.Update, same), plan.One(plan.Delete, goes), plan.One(plan.Delete, gone),
	})
	if err != nil {
		t.Fatal(err)
	}
	uid := string(f.owner.UID)
	want := []string{
		"begin " + uid, "written " + uid + " new", "deleting " + uid + " goes", "deleting " + uid + " gone", "kept " + uid + " gone", "end " + uid,
	}
	if diff := cmp.Diff(want, f.notes.lines); diff != "" {
		t.Errorf("the tracker recorded (-want +got):\n%s", diff)
	}
}

func TestDeleteIsOfThisObject(t *testing.T) {
	f := newFixture(t)
	old := f.pod(t, "p")
	f.api.World.Remove(old)
	f.pod(t, "p")
	if err := f.Act(t.Context(), f.owner, []plan.Action{plan.One(plan.Delete, old)}); err != nil {
		t.Errorf("Act() = %v: what is to be deleted is gone", err)
	}
	if _, err := f.api.Get(t.Context(), old); err != nil {
		t.Errorf("another object of the name was deleted: %v", err)
	}
}

func TestAdoptAndRelease(t *testing.T) {
	f := newFixture(t)
	orphan := f.pod(t, "orphan")
	if err := f.Act(t.Context(), f.owner, []plan.Action{plan.One(plan.Adopt, orphan)}); err != nil {
		t.Fatal(err)
	}
	adopted, err := f.api.Get(t.Context(), orphan)
	if err != nil {
		t.Fatal(err)
	}
	ref := metav1.GetControllerOf(adopted)
	if ref == nil || ref.UID != f.owner.UID || ref.Kind != "ReplicaSet" || ref.APIVersion != "apps/v1" || !*ref.BlockOwnerDeletion {
		t.Errorf("controller = %+v", ref)
	}
	if err := f.Act(t.Context(), f.owner, []plan.Action{plan.One(plan.Release, adopted)}); err != nil {
		t.Fatal(err)
	}
	if released, err := f.api.Get(t.Context(), orphan); err != nil || len(released.GetOwnerReferences()) != 0 {
		t.Errorf("after the release: %+v, %v", released.GetOwnerReferences(), err)
	}
	f.api.World.Remove(orphan)
	if err := f.Act(t.Context(), f.owner, []plan.Action{plan.One(plan.Release, adopted)}); err != nil {
		t.Errorf("releasing what is gone = %v", err)
	}
	if err := f.Act(t.Context(), f.owner, []plan.Action{plan.One(plan.Adopt, orphan)}); !plan.IsStale(err) {
		t.Errorf("adopting what is gone = %v, want a stale error", err)
	}
}

func TestNoAdoptionByAFormerOwner(t *testing.T) {
	for name, happen := range map[string]func(t *testing.T, f *fixture){
		"deleted": func(t *testing.T, f *fixture) { f.api.World.Remove(f.owner) },
		"being deleted": func(t *testing.T, f *fixture) {
			f.api.World.Change(f.owner, func(o plan.Object) { o.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)}) })
		},
		"made again": func(t *testing.T, f *fixture) {
			f.api.World.Remove(f.owner)
			f.make(t, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "owner"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			orphan := f.pod(t, "orphan")
			happen(t, f)
			if err := f.Act(t.Context(), f.owner, []plan.Action{plan.One(plan.Adopt, orphan)}); !plan.IsStale(err) {
				t.Errorf("Act() = %v, want a stale error", err)
			}
			if o, err := f.api.Get(t.Context(), orphan); err != nil || len(o.GetOwnerReferences()) != 0 {
				t.Errorf("the orphan has the owners %+v, %v", o.GetOwnerReferences(), err)
			}
		})
	}
}

func TestRecordEvents(t *testing.T) {
	f := newFixture(t)
	f.RecordEvents(f.owner, []plan.Event{{Type: "Warning", Reason: "SelectingAll", Message: "careful"}})
	if diff := cmp.Diff([]string{"Warning SelectingAll careful"}, f.recorded()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	(&executor.Executor{}).RecordEvents(f.owner, []plan.Event{{Type: "Normal", Reason: "Any", Message: "ignored"}})
}

func TestSettle(t *testing.T) {
	hard := errors.New("disk full")
	going := apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("namespace a is being terminated"))
	going.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	stale := &plan.StaleError{Err: errors.New("old")}
	for name, tt := range map[string]struct {
		errs   []error
		want   error
		unsure bool
	}{
		"none":            {errs: []error{nil, nil}},
		"stale":           {errs: []error{stale}, unsure: true},
		"namespace going": {errs: []error{&plan.ActionError{Verb: plan.Create, Object: named("p"), Err: going}}},
		"hard":            {errs: []error{nil, hard}, want: hard},
		"hard and stale":  {errs: []error{hard, stale}, want: hard, unsure: true},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := executor.Settle(loop.Result{RequeueAfter: time.Minute}, tt.errs...)
			if !errors.Is(err, tt.want) || result != (loop.Result{RequeueAfter: time.Minute, Unsure: tt.unsure}) {
				t.Errorf("Settle() = %+v, %v, want %v", result, err, tt.want)
			}
		})
	}
}

func TestHardErrorsWinOverStaleOnes(t *testing.T) {
	f := newFixture(t)
	f.api.refuse = func(n int) error {
		if n == 2 {
			return apierrors.NewInternalError(errors.New("disk full"))
		}
		if n == 3 {
			return apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("old"))
		}
		return nil
	}
	err := f.Act(t.Context(), f.owner, []plan.Action{creations(3)})
	if err == nil || plan.IsStale(err) || !apierrors.IsInternalError(err) {
		t.Errorf("Act() = %v, want the internal error", err)
	}
}
