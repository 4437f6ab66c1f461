package storageversiongarbagecollector

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestIdentifies(t *testing.T) {
	for name, test := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"an API server":          {map[string]string{"apiserver.kubernetes.io/identity": "kube-apiserver"}, true},
		"another kind of server": {map[string]string{"apiserver.kubernetes.io/identity": "sample-apiserver"}, false},
		"a leader election":      {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := identifies(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Labels: test.labels}}); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
