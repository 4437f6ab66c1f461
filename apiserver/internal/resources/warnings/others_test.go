package warnings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestServiceAccount(t *testing.T) {
	plain := &corev1.ServiceAccount{}
	annotated := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{mountableSecretsAnnotation: "true"}}}
	for _, test := range []struct {
		name     string
		obj, old *corev1.ServiceAccount
		warns    bool
	}{
		{"new without", plain, nil, false},
		{"new", annotated, nil, true},
		{"added", annotated, plain, true},
		{"kept", annotated, annotated, false},
		{"removed", plain, annotated, false},
	} {
		got := ServiceAccount(test.obj, test.old)
		if warns := len(got) > 0; warns != test.warns || warns && !strings.Contains(got[0], "deprecated in v1.32+") {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func TestResourceQuota(t *testing.T) {
	quota := func(hard ...string) *corev1.ResourceQuota {
		q := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{}}}
		for i := 0; i < len(hard); i += 2 {
			q.Spec.Hard[corev1.ResourceName(hard[i])] = resource.MustParse(hard[i+1])
		}
		return q
	}
	above := quota("cpu", "2", "limits.cpu", "1")
	for _, test := range []struct {
		name     string
		obj, old *corev1.ResourceQuota
		want     []string
	}{
		{"equal", quota("requests.cpu", "1", "limits.cpu", "1"), nil, nil},
		{"above", quota("requests.cpu", "2", "limits.cpu", "1"), nil, []string{"ResourceQuota requests.cpu (2) should be less than limits.cpu (1)"}},
		{"above, by the short name", above, nil, []string{"ResourceQuota cpu (2) should be less than limits.cpu (1)"}},
		{"above already", above, above, nil},
		{"no limit", quota("memory", "2"), nil, nil},
	} {
		if diff := cmp.Diff(test.want, ResourceQuota(test.obj, test.old)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestPodName(t *testing.T) {
	for name, warns := range map[string]bool{"web": false, "web.1": true, strings.Repeat("a", 64): true} {
		if got := PodName(&metav1.ObjectMeta{Name: name}); (len(got) > 0) != warns {
			t.Errorf("%s: %v", name, got)
		}
	}
}
