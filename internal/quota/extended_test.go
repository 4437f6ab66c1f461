package quota_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/quota"
)

// TestExtendedResources counts the devices of the class gpu, which backs example.com/gpu, and of nic, which
// backs no other resource than its own.
func TestExtendedResources(t *testing.T) {
	pod := podOf(container("c", amounts("example.com/gpu", "2", "deviceclass.resource.kubernetes.io/nic", "1"), nil))
	pod.Namespace, pod.Name, pod.UID = "ns", "p", "uid-p"
	claim := func(name string, at time.Time, of string) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.NewTime(at)}}
		for class, count := range map[string]int64{"gpu": 2, "nic": 2} {
			c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, resourcev1.DeviceRequest{Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count,
			}})
		}
		if of != "" {
			c.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: of, UID: "uid-p", Controller: ptr.To(true)}}
		}
		return c
	}
	const gpu, implicitGPU, nic = "requests.example.com/gpu", "requests.deviceclass.resource.kubernetes.io/gpu", "requests.deviceclass.resource.kubernetes.io/nic"
	users := amounts(gpu, "2", implicitGPU, "2", nic, "2")
	pods := amounts(implicitGPU, "2", nic, "1") // what its claim uses beyond the pod
	for name, test := range map[string]struct {
		claim  *resourcev1.ResourceClaim
		others []*resourcev1.ResourceClaim
		named  string // by the pod's status
		want   corev1.ResourceList
	}{
		"a user's claim":            {claim: claim("c", now, ""), want: users},
		"the pod's":                 {claim: claim("c", now, "p"), named: "c", want: pods},
		"the pod's, not named yet":  {claim: claim("c", now, "p"), want: pods},
		"after another":             {claim: claim("c", now, "p"), others: []*resourcev1.ResourceClaim{claim("d", now.Add(-time.Second), "p")}, want: users},
		"at once, the second":       {claim: claim("c", now, "p"), others: []*resourcev1.ResourceClaim{claim("b", now, "p")}, want: users},
		"before another":            {claim: claim("c", now, "p"), others: []*resourcev1.ResourceClaim{claim("b", now.Add(time.Second), "p"), claim("c", now, "p")}, want: pods},
		"the pod has another":       {claim: claim("c", now, "p"), named: "d", want: users},
		"of a pod that is gone":     {claim: claim("c", now, "q"), want: users},
		"a user's claim is earlier": {claim: claim("c", now, "p"), others: []*resourcev1.ResourceClaim{claim("b", now.Add(-time.Second), "")}, want: pods},
	} {
		t.Run(name, func(t *testing.T) {
			pod := pod.DeepCopy()
			if test.named != "" {
				pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: test.named}
			}
			registry := quota.NewRegistry(nil, clocktesting.NewFakePassiveClock(now), quota.Backing{
				Classes: func() []*resourcev1.DeviceClass {
					return []*resourcev1.DeviceClass{
						{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: ptr.To("example.com/gpu")}},
						{ObjectMeta: metav1.ObjectMeta{Name: "nic"}},
					}
				},
				Pod: func(_, name string) *corev1.Pod {
					if name != "p" {
						return nil
					}
					return pod
				},
				Claims: func(string) []*resourcev1.ResourceClaim { return test.others },
			})
			evaluator := registry.Get(resourcev1.Resource("resourceclaims"))
			got, err := evaluator.Usage(test.claim)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []corev1.ResourceName{"count/resourceclaims.resource.k8s.io", "gpu.deviceclass.resource.k8s.io/devices", "nic.deviceclass.resource.k8s.io/devices"} {
				delete(got, name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if of := evaluator.MatchingResources(append(keys(got), "requests.example.com/other", "requests.deviceclass.resource.kubernetes.io/x")); len(of) != len(got) {
				t.Errorf("of the names %v, it counts %v", keys(got), of)
			}
		})
	}
}
