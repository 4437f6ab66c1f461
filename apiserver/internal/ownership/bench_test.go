package ownership

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func benchPod() *corev1.Pod {
	yes := true
	grace := int64(30)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "web-7d9c-", Name: "web-7d9c-abcde", Namespace: "default", Labels: map[string]string{"app": "web", "pod-template-hash": "7d9c"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d9c", UID: "1bc40abf-c963-4f93-9c87-7b108fed569b", Controller: &yes, BlockOwnerDeletion: &yes}},
		},
		Spec: corev1.PodSpec{
			Containers:    []corev1.Container{{Name: "main", Image: "nginx", ImagePullPolicy: "Always", TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File"}},
			RestartPolicy: "Always", TerminationGracePeriodSeconds: &grace, DNSPolicy: "ClusterFirst", SecurityContext: &corev1.PodSecurityContext{}, SchedulerName: "default-scheduler",
			EnableServiceLinks: &yes,
		},
		Status: corev1.PodStatus{Phase: "Pending", QOSClass: "BestEffort"},
	}
}

func running(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	now := metav1.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)
	p.UID = "abc"
	p.Status = corev1.PodStatus{
		Phase: "Running", QOSClass: "BestEffort", HostIP: "10.0.0.1", HostIPs: []corev1.HostIP{{IP: "10.0.0.1"}}, PodIP: "10.244.0.7", PodIPs: []corev1.PodIP{{IP: "10.244.0.7"}}, StartTime: &now,
		Conditions: []corev1.PodCondition{
			{Type: "PodReadyToStartContainers", Status: "True", LastTransitionTime: now},
			{Type: "Initialized", Status: "True", LastTransitionTime: now},
			{Type: "Ready", Status: "True", LastTransitionTime: now},
			{Type: "ContainersReady", Status: "True", LastTransitionTime: now},
			{Type: "PodScheduled", Status: "True", LastTransitionTime: now},
		},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Ready: true, Image: "nginx", ImageID: "x", ContainerID: "containerd://x", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}},
	}
	return p
}

// BenchmarkTrack compares this package with the library for the creation of a Pod and
// its becoming ready.
func BenchmarkTrack(b *testing.B) {
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	tracker := NewTracker()
	create := &Write{Live: &corev1.Pod{}, New: benchPod(), Manager: "kube-controller-manager", APIVersion: "v1", Ignored: []string{"status"}}
	managed, ok := tracker.Track(create)
	if !ok {
		b.Fatal("the creation is left to the library")
	}
	status := &Write{Live: benchPod(), New: running(benchPod()), Managed: managed, Manager: "kubelet", APIVersion: "v1", Subresource: "status", Ignored: []string{"spec"}}
	for name, w := range map[string]*Write{"create": create, "status": status} {
		b.Run(name+"/tracker", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := tracker.Track(w); !ok {
					b.Fatal("left to the library")
				}
			}
		})
		version := fieldpath.APIVersion("v1")
		m, err := managedfields.NewDefaultFieldManager(converter(), scheme.Scheme, scheme.Scheme, scheme.Scheme, kind, kind.GroupVersion(), w.Subresource,
			map[fieldpath.APIVersion]fieldpath.Filter{version: fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie(w.Ignored[0])))})
		if err != nil {
			b.Fatal(err)
		}
		live, obj := w.Live.DeepCopyObject().(*corev1.Pod), w.New.DeepCopyObject().(*corev1.Pod)
		live.SetGroupVersionKind(kind)
		live.ManagedFields = w.Managed
		obj.SetGroupVersionKind(kind)
		b.Run(name+"/library", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				obj.ManagedFields = w.Managed
				m.UpdateNoErrors(live, obj, w.Manager)
			}
		})
	}
}
