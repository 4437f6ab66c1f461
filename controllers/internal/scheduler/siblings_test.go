package scheduler

import (
	"context"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func controlledBy(apiVersion, kind, name string) st.PodOption {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: "owner", Controller: ptr.To(true)}}
	}
}

func serviceOf(name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.ServiceSpec{Selector: selector}}
}

// podSetFor returns the set of the pods that the selector matches.
func podSetFor(t *testing.T, selector string) *framework.PodSet {
	t.Helper()
	parsed, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	return framework.NewPodSet("default", parsed)
}

func TestSiblings(t *testing.T) {
	of := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: appsv1.ReplicaSetSpec{Selector: of}}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: appsv1.StatefulSetSpec{Selector: of}}
	rc := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: corev1.ReplicationControllerSpec{Selector: of.MatchLabels}}
	byRS, bySet := controlledBy("apps/v1", "ReplicaSet", "web"), controlledBy("apps/v1", "StatefulSet", "web")
	web := st.PodLabel("app", "web")
	other := serviceOf("other", map[string]string{"app": "other"})
	tests := []struct {
		name    string
		objects []runtime.Object
		pod     *corev1.Pod
		want    string // selector; "": none
	}{
		{name: "a pod of its own", objects: []runtime.Object{rs, set, other, serviceOf("headless", nil)}, pod: st.Pod("p", web)},
		{name: "a ReplicaSet's", objects: []runtime.Object{rs, other}, pod: st.Pod("p", web, byRS), want: "app=web"},
		{name: "a StatefulSet's", objects: []runtime.Object{set}, pod: st.Pod("p", web, bySet), want: "app=web"},
		{name: "a ReplicationController's", objects: []runtime.Object{rc}, pod: st.Pod("p", web, controlledBy("v1", "ReplicationController", "web")), want: "app=web"},
		{name: "an owner that is gone", pod: st.Pod("p", web, byRS)},
		{name: "another kind of owner", objects: []runtime.Object{rs}, pod: st.Pod("p", web, controlledBy("batch/v1", "Job", "web"))},
		{
			name: "services'", objects: []runtime.Object{serviceOf("a", map[string]string{"app": "web"}), serviceOf("b", map[string]string{"tier": "1"}), other},
			pod: st.Pod("p", web, st.PodLabel("tier", "1")), want: "app=web,tier=1",
		},
		{
			name: "both", objects: []runtime.Object{rs, serviceOf("b", map[string]string{"tier": "1"})},
			pod: st.Pod("p", web, st.PodLabel("tier", "1"), byRS), want: "app=web,tier=1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kinds := informers.KindsOf(fake.NewClientset(tt.objects...), nil)
			s, synced := newSiblings(kinds)
			ctx, cancel := context.WithCancel(t.Context())
			kinds.Start(ctx.Done())
			defer kinds.Shutdown()
			defer cancel()
			for _, done := range synced {
				<-done.Done()
			}
			for range 2 { // worked out, then remembered
				got, err := s.of(tt.pod)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case tt.want == "" && got == nil:
				case tt.want == "" || got == nil:
					t.Fatalf("belongs with %v, want %q", got, tt.want)
				case !reflect.DeepEqual(got, podSetFor(t, tt.want)):
					t.Fatalf("belongs with %+v, want %q", got, tt.want)
				}
			}
		})
	}
}
