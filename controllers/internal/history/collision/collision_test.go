package collision

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"minikcm.dev/minikcm/controllers/internal/history"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

func TestHoldsOther(t *testing.T) {
	owner := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "agent", UID: "owner"}}
	kind := appsv1.SchemeGroupVersion.WithKind("DaemonSet")
	wanted := history.Newborn{Owner: owner, OwnerKind: kind, Data: []byte("x"), HashLabel: "hash", Hash: "1"}.Revision()
	stranger := owner.DeepCopy()
	stranger.UID = "stranger"
	for name, tc := range map[string]struct {
		live     history.Newborn
		collided bool
		fails    bool
	}{
		"its own":                      {history.Newborn{Owner: owner, Data: []byte("x")}, false, false},
		"something else":               {history.Newborn{Owner: owner, Data: []byte("y")}, true, false},
		"the same of another owner":    {history.Newborn{Owner: stranger, Data: []byte("x")}, false, true},
		"something else of a stranger": {history.Newborn{Owner: stranger, Data: []byte("y")}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			world := modeltest.NewWorld(clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0)))
			tc.live.OwnerKind, tc.live.HashLabel, tc.live.Hash = kind, "hash", "1"
			if _, err := world.Create(t.Context(), tc.live.Revision()); err != nil {
				t.Fatal(err)
			}
			collided, err := holdsOther(t.Context(), world, owner, wanted)
			if collided != tc.collided || (err != nil) != tc.fails {
				t.Errorf("holdsOther() = %v, %v", collided, err)
			}
		})
	}
}

func TestTaken(t *testing.T) {
	r := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one"}}
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "controllerrevisions"}, "one")
	if got := taken(&plan.ActionError{Verb: plan.Create, Object: r, Err: exists}); got != r {
		t.Errorf("taken() = %v", got)
	}
	if got := taken(&plan.ActionError{Verb: plan.Create, Object: &corev1.Pod{}, Err: exists}); got != nil {
		t.Errorf("taken() = %v of a pod's name", got)
	}
	if got := taken(nil); got != nil {
		t.Errorf("taken(nil) = %v", got)
	}
}
