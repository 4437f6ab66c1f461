package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/modeltest"
)

// changing decides about a budget of n pods, of which one becomes unready or ready.
func changing(_ testing.TB, n int) func() error {
	b, account := budget("", "20%"), NewAccount()
	all := pods("web", n, 0)
	for _, pod := range all {
		account.Set(pod)
	}
	i := 0
	return func() error {
		pod := all[i%n].DeepCopy()
		i++
		pod.Status.Conditions[0].Status = map[bool]corev1.ConditionStatus{true: corev1.ConditionFalse, false: corev1.ConditionTrue}[isHealthy(pod)]
		account.Set(pod)
		_, err := Budget(Snapshot{Budget: b, Pods: account.Look(labels.Everything(), nil), Scales: map[types.UID]int32{"web": int32(n)}}, start)
		return err
	}
}

func BenchmarkEvent(b *testing.B) { modeltest.BenchmarkEvent(b, changing) }

func TestEventCostsTheSame(t *testing.T) { modeltest.CheckConstant(t, changing) }
