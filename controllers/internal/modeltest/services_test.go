package modeltest_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/controllers/internal/endpoints"
	"minikcm.dev/minikcm/controllers/internal/endpointslice"
	"minikcm.dev/minikcm/controllers/internal/endpointslice/endpointslicetest"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// servedBy returns a service of n ready pods on one node.
func servedBy(n int, setup func(run *modeltest.Run, a *modeltest.Actor) (loop.Reconciler, error)) modeltest.Scenery {
	return modeltest.Scenery{
		Owner: &corev1.Service{ObjectMeta: webMeta(), Spec: corev1.ServiceSpec{
			ClusterIP: "10.1.0.1", IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Selector: webLabels,
			Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(80)}},
		}},
		Others: func(plan.Object) []plan.Object {
			all := []plan.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}
			for i := range n {
				all = append(all, &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint("web-", i), Labels: webLabels}, Spec: corev1.PodSpec{NodeName: "n1"},
				})
			}
			return all
		},
		Setup: setup,
		Tend: func(run *modeltest.Run) {
			allReady(run)
			for i, pod := range modeltest.List[*corev1.Pod](run.World) {
				if pod.Status.PodIP == "" {
					ip := fmt.Sprintf("10.%d.%d.%d", 2+i/65536, i/256%256, i%256)
					run.World.Change(pod, func(o plan.Object) {
						p := o.(*corev1.Pod)
						p.Status.PodIP, p.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
					})
				}
			}
		},
	}
}

func endpointSlicesOf(n int) modeltest.Scenery {
	return servedBy(n, func(run *modeltest.Run, a *modeltest.Actor) (loop.Reconciler, error) {
		r, err := endpointslice.NewReconciler(endpointslice.Sources{
			Clock: run.Clock, Client: endpointslicetest.Client(a.Writer()), Recorder: &record.FakeRecorder{}, Logger: klog.Background(),
			Services: a.Watch(&corev1.Service{}), Pods: a.Watch(&corev1.Pod{}), Nodes: a.Watch(&corev1.Node{}), Slices: a.Watch(&discoveryv1.EndpointSlice{}),
			Add: func(types.NamespacedName, ...int64) {},
		})
		if err != nil {
			return nil, err
		}
		a.OnEvent(&corev1.Service{}, r.OnService)
		a.OnEvent(&corev1.Pod{}, r.OnPod, r.ObservePod)
		a.OnEvent(&corev1.Node{}, r.OnNode, r.ObserveNode)
		a.OnEvent(&discoveryv1.EndpointSlice{}, r.OnSlice, r.ObserveSlice)
		return r, nil
	})
}

func endpointsOf(n int) modeltest.Scenery {
	return servedBy(n, func(_ *modeltest.Run, a *modeltest.Actor) (loop.Reconciler, error) {
		r, err := endpoints.NewReconciler(endpoints.Sources{
			Writer: a.Writer(), Recorder: &record.FakeRecorder{},
			Services: a.Watch(&corev1.Service{}), Pods: a.Watch(&corev1.Pod{}),
			//lint:ignore SA1019 the test covers the controller of Endpoints
			Endpoints: a.Watch(&corev1.Endpoints{}),
		})
		if err != nil {
			return nil, err
		}
		a.OnEvent(&corev1.Service{}, loop.Self)
		a.OnEvent(&corev1.Pod{}, r.OnPod, r.ObservePod)
		//lint:ignore SA1019 the test covers the controller of Endpoints
		a.OnEvent(&corev1.Endpoints{}, endpoints.OnEndpoints)
		return r, nil
	})
}
