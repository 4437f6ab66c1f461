package quota_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/quota"
)

var now = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func container(name string, requests, limits corev1.ResourceList) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
}

func podOf(containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: containers}}
}

func with[T any](obj T, change func(T)) T {
	change(obj)
	return obj
}

func TestUsage(t *testing.T) {
	asking := container("c", amounts("cpu", "1", "memory", "1Gi", "example.com/gpu", "2"), amounts("cpu", "2"))
	running := amounts("count/pods", "1", "pods", "1", "cpu", "1", "requests.cpu", "1", "memory", "1Gi", "requests.memory", "1Gi",
		"limits.cpu", "2", "requests.example.com/gpu", "2")
	service := func(kind corev1.ServiceType, ports ...corev1.ServicePort) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{Type: kind, Ports: ports}}
	}
	claim := func(class *string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: class, Resources: corev1.VolumeResourceRequirements{Requests: amounts("storage", "1Gi")},
		}}
	}
	for _, tc := range []struct {
		name, kind string
		obj        runtime.Object
		want       corev1.ResourceList
	}{
		{"pod", "pods", podOf(asking), running},
		{"ended pod", "pods", with(podOf(asking), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), amounts("count/pods", "1")},
		{"pod within its grace period", "pods", with(podOf(asking), func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(now.Add(-10*time.Second))), ptr.To[int64](30)
		}), running},
		{"pod beyond it", "pods", with(podOf(asking), func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(now.Add(-31*time.Second))), ptr.To[int64](30)
		}), amounts("count/pods", "1")},
		{"service", "services", service(corev1.ServiceTypeClusterIP, corev1.ServicePort{}), amounts("count/services", "1", "services", "1", "services.nodeports", "0", "services.loadbalancers", "0")},
		{"node ports", "services", service(corev1.ServiceTypeNodePort, corev1.ServicePort{}, corev1.ServicePort{}), amounts("count/services", "1", "services", "1", "services.nodeports", "2", "services.loadbalancers", "0")},
		{"load balancer without node ports", "services", with(service(corev1.ServiceTypeLoadBalancer, corev1.ServicePort{}, corev1.ServicePort{NodePort: 30001}), func(s *corev1.Service) {
			s.Spec.AllocateLoadBalancerNodePorts = ptr.To(false)
		}), amounts("count/services", "1", "services", "1", "services.nodeports", "1", "services.loadbalancers", "1")},
		{"claim", "persistentvolumeclaims", claim(nil), amounts("count/persistentvolumeclaims", "1", "persistentvolumeclaims", "1", "requests.storage", "1Gi")},
		{"claim of a class", "persistentvolumeclaims", claim(ptr.To("gold")), amounts("count/persistentvolumeclaims", "1", "persistentvolumeclaims", "1", "requests.storage", "1Gi",
			"gold.storageclass.storage.k8s.io/persistentvolumeclaims", "1", "gold.storageclass.storage.k8s.io/requests.storage", "1Gi")},
		{"resource claim", "resourceclaims.resource.k8s.io", &resourcev1.ResourceClaim{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2}},
			{Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "nic", AllocationMode: resourcev1.DeviceAllocationModeAll}},
			{FirstAvailable: []resourcev1.DeviceSubRequest{
				{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
				{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 4},
				{DeviceClassName: "tpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
			}},
		}}}}, amounts("count/resourceclaims.resource.k8s.io", "1", "gpu.deviceclass.resource.k8s.io/devices", "6", "nic.deviceclass.resource.k8s.io/devices", "32",
			"tpu.deviceclass.resource.k8s.io/devices", "1")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			evaluator := quota.NewRegistry(nil, clocktesting.NewFakePassiveClock(now), quota.Backing{}).Get(schema.ParseGroupResource(tc.kind))
			got, err := evaluator.Usage(tc.obj)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if of := evaluator.MatchingResources(keys(got)); len(of) != len(got) {
				t.Errorf("of the names %v, it counts %v", keys(got), of)
			}
		})
	}
}

func keys(list corev1.ResourceList) []corev1.ResourceName {
	var names []corev1.ResourceName
	for name := range list {
		names = append(names, name)
	}
	return names
}

func TestScopes(t *testing.T) {
	deadline := with(podOf(container("c", nil, nil)), func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](5) })
	classy := with(podOf(container("c", amounts("cpu", "1"), nil)), func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" })
	far := with(podOf(container("c", nil, nil)), func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: corev1.PodAffinityTerm{Namespaces: []string{"other"}}}},
		}}
	})
	exists := func(scope corev1.ResourceQuotaScope) corev1.ScopedResourceSelectorRequirement {
		return corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}
	}
	class := func(op corev1.ScopeSelectorOperator, values ...string) corev1.ScopedResourceSelectorRequirement {
		return corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: op, Values: values}
	}
	for _, tc := range []struct {
		name  string
		scope corev1.ScopedResourceSelectorRequirement
		want  map[string]bool
	}{
		{"terminating", exists(corev1.ResourceQuotaScopeTerminating), map[string]bool{"deadline": true}},
		{"not terminating", exists(corev1.ResourceQuotaScopeNotTerminating), map[string]bool{"classy": true, "far": true}},
		{"best effort", exists(corev1.ResourceQuotaScopeBestEffort), map[string]bool{"deadline": true, "far": true}},
		{"not best effort", exists(corev1.ResourceQuotaScopeNotBestEffort), map[string]bool{"classy": true}},
		{"any class", class(corev1.ScopeSelectorOpExists), map[string]bool{"classy": true}},
		{"the class", class(corev1.ScopeSelectorOpIn, "high"), map[string]bool{"classy": true}},
		{"other classes", class(corev1.ScopeSelectorOpNotIn, "high"), map[string]bool{"deadline": true, "far": true}},
		{"no class", class(corev1.ScopeSelectorOpDoesNotExist), map[string]bool{"deadline": true, "far": true}},
		{"cross namespace", exists(corev1.ResourceQuotaScopeCrossNamespacePodAffinity), map[string]bool{"far": true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			evaluator := quota.NewRegistry(nil, clocktesting.NewFakePassiveClock(now), quota.Backing{}).Get(corev1.Resource("pods"))
			for name, pod := range map[string]*corev1.Pod{"deadline": deadline, "classy": classy, "far": far} {
				in, err := evaluator.MatchingScopes(pod, []corev1.ScopedResourceSelectorRequirement{tc.scope})
				if err != nil {
					t.Fatal(err)
				}
				if (len(in) == 1) != tc.want[name] {
					t.Errorf("pod %s is in the scope: %v", name, len(in) == 1)
				}
			}
		})
	}
}

func TestConstraints(t *testing.T) {
	evaluator := quota.NewRegistry(nil, clocktesting.NewFakePassiveClock(now), quota.Backing{}).Get(corev1.Resource("pods"))
	pod := podOf(container("b", amounts("cpu", "1"), nil), container("a", nil, nil))
	err := evaluator.Constraints([]corev1.ResourceName{"requests.cpu", "limits.memory", "pods"}, pod)
	if want := "must specify limits.memory for: a,b; requests.cpu for: a"; err == nil || err.Error() != want {
		t.Errorf("Constraints() = %v, want %s", err, want)
	}
}
