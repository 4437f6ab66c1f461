package decide

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func podWith(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: "1"},
		Spec:       corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("t")}}},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func named(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claim}}
	}
}

func on(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

func users(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}
	}
}

func claimWith(name string, change ...func(*resourcev1.ResourceClaim)) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n"}}
	for _, f := range change {
		f(c)
	}
	return c
}

func ownedBy(pod string) func(*resourcev1.ResourceClaim) {
	return func(c *resourcev1.ResourceClaim) {
		c.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(podWith(func(p *corev1.Pod) {
			p.UID = "1"
			if pod != "p" {
				p.Name, p.UID = pod, "2"
			}
		}), corev1.SchemeGroupVersion.WithKind("Pod"))}
		c.Annotations = map[string]string{PodClaim: "gpu"}
	}
}

func allocated(c *resourcev1.ResourceClaim) {
	c.Finalizers, c.Status.Allocation = []string{"other", resourcev1.Finalizer}, &resourcev1.AllocationResult{}
}

func knownOf(generated *resourcev1.ResourceClaim, claims ...*resourcev1.ResourceClaim) Known {
	return Known{
		Claim: func(name string) *resourcev1.ResourceClaim {
			if i := slices.IndexFunc(claims, func(c *resourcev1.ResourceClaim) bool { return c.Name == name }); i >= 0 {
				return claims[i]
			}
			return nil
		},
		Generated: func(string) *resourcev1.ResourceClaim { return generated },
		Template: func(name string) (*resourcev1.ResourceClaimTemplate, error) {
			if name != "t" {
				return nil, errors.New("not found")
			}
			t := &resourcev1.ResourceClaimTemplate{}
			t.Spec.Labels, t.Spec.Annotations = map[string]string{"l": "1"}, map[string]string{"a": "1"}
			t.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r"}}
			return t, nil
		},
	}
}

func TestGenerate(t *testing.T) {
	for name, test := range map[string]struct {
		pod    *corev1.Pod
		known  Known
		want   string // the name of the claim, or * for one to create
		failed string
	}{
		"new":                              {podWith(), knownOf(nil), "*", ""},
		"of a lost write":                  {podWith(), knownOf(claimWith("old")), "old", ""},
		"named":                            {podWith(named("c")), knownOf(nil, claimWith("c", ownedBy("p"))), "", ""},
		"named, deleted":                   {podWith(named("c")), knownOf(nil), "*", ""},
		"named, deleted, there is another": {podWith(named("c")), knownOf(claimWith("d"), claimWith("d")), "d", ""},
		"named, of another pod":            {podWith(named("c")), knownOf(nil, claimWith("c", ownedBy("q"))), "*", ""},
		"not needed": {podWith(func(p *corev1.Pod) {
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu"}}
		}), knownOf(nil), "", ""},
		"the user's":          {podWith(users("c")), knownOf(nil, claimWith("c")), "", ""},
		"the user's, not yet": {podWith(users("c")), knownOf(nil), "", ""},
		"no template": {podWith(func(p *corev1.Pod) {
			p.Spec.ResourceClaims[0].ResourceClaimTemplateName = ptr.To("x")
		}), knownOf(nil), "", `resource claim template "x": not found`},
	} {
		t.Run(name, func(t *testing.T) {
			claim, create, err := Generate(test.pod, &test.pod.Spec.ResourceClaims[0], test.known)
			got, failed := "", ""
			if claim != nil {
				got = claim.Name
			}
			if create {
				got = "*"
			}
			if err != nil {
				failed = err.Error()
			}
			if got != test.want || failed != test.failed {
				t.Errorf("%q, %q; want %q, %q", got, failed, test.want, test.failed)
			}
		})
	}
}

func TestFromTemplate(t *testing.T) {
	pod := podWith()
	c, _, err := Generate(pod, &pod.Spec.ResourceClaims[0], knownOf(nil))
	if err != nil {
		t.Fatal(err)
	}
	if c.GenerateName != "p-gpu-" || c.Labels["l"] != "1" || c.Annotations["a"] != "1" || c.Annotations[PodClaim] != "gpu" || c.Spec.Devices.Requests[0].Name != "r" {
		t.Errorf("%+v", c)
	}
	if ref := c.OwnerReferences[0]; ref.UID != "1" || !*ref.Controller || !*ref.BlockOwnerDeletion || ref.Kind != "Pod" || ref.APIVersion != "v1" {
		t.Errorf("%+v", ref)
	}
	long := generateName(strings.Repeat("p", 80), strings.Repeat("c", 40))
	if len(long) > maxGenerateName || strings.Count(long, "p") != 37 || strings.Count(long, "c") != 18 {
		t.Errorf("%d: %s", len(long), long)
	}
}

func TestStatuses(t *testing.T) {
	pod := podWith(named("old"), func(p *corev1.Pod) {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "net"}, corev1.PodResourceClaim{Name: "fpga"})
	})
	got := Statuses(pod, map[string]string{"gpu": "new", "fpga": "f"})
	if len(got) != 2 || *got[0].ResourceClaimName != "new" || got[1].Name != "fpga" || *got[1].ResourceClaimName != "f" || *pod.Status.ResourceClaimStatuses[0].ResourceClaimName != "old" {
		t.Errorf("%+v", got)
	}
}

func TestReserve(t *testing.T) {
	reserved := func(c *resourcev1.ResourceClaim) {
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "1"}}
	}
	for name, test := range map[string]struct {
		pod    *corev1.Pod
		claims []*resourcev1.ResourceClaim
		want   int
	}{
		"without a node":   {podWith(users("c")), []*resourcev1.ResourceClaim{claimWith("c", allocated)}, 0},
		"with a node":      {podWith(users("c"), on("a")), []*resourcev1.ResourceClaim{claimWith("c", allocated)}, 1},
		"reserved":         {podWith(users("c"), on("a")), []*resourcev1.ResourceClaim{claimWith("c", allocated, reserved)}, 0},
		"not allocated":    {podWith(users("c"), on("a")), []*resourcev1.ResourceClaim{claimWith("c")}, 0},
		"no claim yet":     {podWith(users("c"), on("a")), nil, 0},
		"generated":        {podWith(named("c"), on("a")), []*resourcev1.ResourceClaim{claimWith("c", ownedBy("p"), allocated)}, 1},
		"of another's pod": {podWith(named("c"), on("a")), []*resourcev1.ResourceClaim{claimWith("c", ownedBy("q"), allocated)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Reserve(test.pod, knownOf(nil, test.claims...))
			if len(got) != test.want || (err != nil) != (name == "of another's pod") {
				t.Fatalf("%+v, %v", got, err)
			}
			if len(got) == 1 && (got[0].Status.ReservedFor[0].UID != "1" || len(test.claims[0].Status.ReservedFor) > 0) {
				t.Errorf("%+v", got[0].Status.ReservedFor)
			}
		})
	}
}
