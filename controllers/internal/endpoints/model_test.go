package endpoints_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/record"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/endpoints"
	"minikcm.dev/minikcm/controllers/internal/endpoints/decide"
	"minikcm.dev/minikcm/controllers/internal/endpointslice/selection"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// decision is the signature of decide.Endpoints.
type decision func(service *corev1.Service, account *decide.Account, current *corev1.Endpoints, trigger time.Time) *corev1.Endpoints

func web() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web"},
		Spec: corev1.ServiceSpec{
			ClusterIP: "10.1.0.1", Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("http")}},
		},
	}
}

// changePod creates, changes or deletes a pod.
func changePod(t *rapid.T, w *modeltest.World, draw modeltest.Draw) bool {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint("p", draw(5, "pod")), Labels: map[string]string{"app": "web"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: int32(80 + draw(3, "port")/2), Protocol: corev1.ProtocolTCP}}}}
	current, err := w.Get(t.Context(), pod)
	switch change := draw(5, "change of the pod"); {
	case err != nil:
		_, err = w.Create(t.Context(), pod)
	case change == 0:
		err = w.Delete(t.Context(), current)
	case change == 1:
		w.Change(current, func(o plan.Object) { o.SetLabels(map[string]string{"app": []string{"web", "db"}[draw(2, "label")]}) })
	default:
		w.Change(current, func(o plan.Object) {
			status := &o.(*corev1.Pod).Status
			status.PodIP = fmt.Sprint("10.0.0.", 1+draw(3, "address"))
			status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: []corev1.ConditionStatus{"True", "False"}[draw(2, "ready")]}}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// accountsAgree lets pods and the service change, and compares every decision with one that is
// made from all cached pods.
func accountsAgree(t *rapid.T, mistake decision) {
	run := modeltest.NewRun(func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) })
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(run.Actor(endpoints.Name, func(a *modeltest.Actor) (loop.Reconciler, error) {
		services, pods := a.Watch(&corev1.Service{}), a.Watch(&corev1.Pod{})
		selected, err := selection.New(pods, services)
		must(err)
		r, err := endpoints.NewReconciler(endpoints.Sources{
			Writer: a.Writer(), Recorder: &record.FakeRecorder{}, Services: services, Pods: pods, Endpoints: a.Watch(&corev1.Endpoints{}),
			Decide: func(service *corev1.Service, account *decide.Account, current *corev1.Endpoints, trigger time.Time) *corev1.Endpoints {
				all, err := selected.Pods("a", service.Spec.Selector)
				must(err)
				want := decide.Endpoints(service, decide.NewAccount(service, all), current, trigger)
				got := mistake(service, account, current, trigger)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("the account differs from all pods (-all +account):\n%s", diff)
				}
				return got
			},
		})
		must(err)
		a.OnEvent(&corev1.Service{}, loop.Self)
		a.OnEvent(&corev1.Pod{}, r.OnPod, r.ObservePod)
		a.OnEvent(&corev1.Endpoints{}, endpoints.OnEndpoints)
		return r, nil
	}))
	_, err := run.World.Create(t.Context(), web())
	must(err)
	run.Crashes = true
	run.Other(func(draw modeltest.Draw) bool { return changePod(t, run.World, draw) })
	run.Other(func(draw modeltest.Draw) bool {
		run.World.Change(web(), func(o plan.Object) {
			o.(*corev1.Service).Spec.PublishNotReadyAddresses = draw(4, "publish") == 0
		})
		return true
	})
	for range 120 {
		run.Step()
		must(run.Err())
	}
	run.Crashes = false
	must(run.Settle(5000, time.Hour))
}

func TestAccountsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { accountsAgree(t, decide.Endpoints) })
}

func TestPlantedMistakesAreSeen(t *testing.T) {
	stale := func(service *corev1.Service, account *decide.Account, current *corev1.Endpoints, trigger time.Time) *corev1.Endpoints {
		account.Unset("p1")
		return decide.Endpoints(service, account, current, trigger)
	}
	modeltest.MustBreak(t, "differs from all pods", func(t *rapid.T) { accountsAgree(t, stale) })
}
