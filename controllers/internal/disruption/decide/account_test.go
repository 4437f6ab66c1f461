package decide

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

func drawnPod(t *rapid.T, name string) *corev1.Pod {
	of := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label) }
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"app": of("app", "web", "db"), "rev": of("rev", "1", "2")}}}
	if controller := of("controller", "", "a", "b"); controller != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(controller), Controller: ptr.To(true)}}
	}
	if of("ready", "yes", "no") == "yes" {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if of("deleted", "no", "no", "yes") == "yes" {
		pod.DeletionTimestamp = &metav1.Time{Time: start}
	}
	return pod
}

// TestAccountAgreesWithSurvey compares an account with a count from scratch after every
// change of a pod.
func TestAccountAgreesWithSurvey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		account, shown := NewAccount(), map[string]*corev1.Pod{}
		for range 60 {
			name := fmt.Sprint("p", rapid.IntRange(0, 5).Draw(t, "pod"))
			if rapid.IntRange(0, 3).Draw(t, "gone") == 0 {
				account.Unset(types.NamespacedName{Namespace: "ns", Name: name})
				delete(shown, name)
			} else {
				shown[name] = drawnPod(t, name)
				account.Set(shown[name])
			}
			var all []*corev1.Pod
			for _, pod := range shown {
				all = append(all, pod)
			}
			disrupted := map[string]metav1.Time{"p1": {}, "p3": {}, "p9": {}}
			for _, selector := range []labels.Selector{labels.Everything(), labels.SelectorFromSet(labels.Set{"app": "web"}), labels.Nothing()} {
				if diff := cmp.Diff(Survey(all, selector, disrupted), account.Look(selector, disrupted)); diff != "" {
					t.Fatalf("%s: the account differs (-survey +account):\n%s", selector, diff)
				}
			}
			if account.Len() != len(all) {
				t.Fatalf("Len() = %d, want %d", account.Len(), len(all))
			}
		}
	})
}
