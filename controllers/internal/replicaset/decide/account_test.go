package decide

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/replicaset/replicasettest"
)

// drawnPod returns a pod of the ReplicaSet, or an orphan.
func drawnPod(t *rapid.T) *corev1.Pod {
	pick := func(label string) bool { return rapid.Bool().Draw(t, label) }
	pod := replicasettest.Pod(rapid.SampledFrom([]string{"p1", "p2", "p3", "p4", "p5"}).Draw(t, "name"))
	pod.UID = pod.UID + "/" + types.UID(rapid.SampledFrom([]string{"first", "second"}).Draw(t, "life"))
	if pick("orphan") {
		replicasettest.Orphan(pod)
	}
	if rapid.IntRange(0, 3).Draw(t, "elsewhere") == 0 {
		pod.Namespace = "b"
	}
	pod.Labels["app"] = rapid.SampledFrom([]string{"web", "web", "db"}).Draw(t, "app")
	pod.Labels["tier"] = rapid.SampledFrom([]string{"front", "back"}).Draw(t, "tier")
	pod.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodRunning, corev1.PodRunning, corev1.PodFailed}).Draw(t, "phase")
	if pick("ready") {
		replicasettest.Ready(time.Duration(rapid.IntRange(-5, 20).Draw(t, "ready for")) * time.Second)(pod)
	}
	if rapid.IntRange(0, 9).Draw(t, "ready since when") == 0 {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if rapid.IntRange(0, 3).Draw(t, "deleted") == 0 {
		replicasettest.Going(pod)
	}
	return pod
}

// drawnChange changes what the pods are counted by.
func drawnChange(t *rapid.T, rs *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	changed := rs.DeepCopy()
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		changed.Spec.MinReadySeconds = int32(rapid.IntRange(0, 10).Draw(t, "minReadySeconds"))
	case 1:
		changed.Spec.Template.Labels["tier"] = rapid.SampledFrom([]string{"front", "back"}).Draw(t, "template")
	case 2:
		changed.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": rapid.SampledFrom([]string{"web", "db"}).Draw(t, "selector")}}
	case 3:
		changed.DeletionTimestamp = nil
		if rapid.Bool().Draw(t, "deleted") {
			changed.DeletionTimestamp = &metav1.Time{Time: replicasettest.Now}
		}
	}
	return changed
}

// TestAccountAgreesWithSurvey compares an account with a count from scratch after every
// change of a pod, of the owner and of the time, which may also be set back.
func TestAccountAgreesWithSurvey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rs, now := replicasettest.ReplicaSet(3), replicasettest.Now
		account, orphans := NewAccount(), NewAccount()
		shown := map[string]*corev1.Pod{}
		for range 60 {
			rs = drawnChange(t, rs)
			pod := drawnPod(t)
			key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
			account.Unset(key)
			orphans.Unset(key)
			delete(shown, key.String())
			into := account
			if controllerref.ControllerUID(pod) == "" {
				into = orphans
			}
			for range rapid.IntRange(0, 2).Draw(t, "sets") {
				into.Set(pod)
				shown[key.String()] = pod
				pod = pod.DeepCopy()
				pod.Labels["tier"] = "other"
			}
			if orphans.Len() == 0 {
				orphans = NewAccount() // as a tally does
			}
			now = now.Add(time.Duration(rapid.IntRange(-1, 4).Draw(t, "seconds")) * time.Second)
			compare(t, rs, account, orphans, shown, now)
		}
	})
}

func compare(t *rapid.T, rs *appsv1.ReplicaSet, account, orphans *Account, shown map[string]*corev1.Pod, now time.Time) {
	var pods []*corev1.Pod
	for _, pod := range shown {
		pods = append(pods, pod)
	}
	want, active, err := Survey(rs, pods, now)
	if err != nil {
		t.Fatal(err)
	}
	got, err := account.Look(rs, orphans, now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the account differs (-survey +account):\n%s", diff)
	}
	if got := account.Active(got); !slices.Equal(got, active) {
		t.Fatalf("Active() has %d pods, want %d", len(got), len(active))
	}
}
