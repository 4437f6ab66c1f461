package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestReleaseClaim(t *testing.T) {
	forPods := func(uids ...types.UID) func(*resourcev1.ResourceClaim) {
		return func(c *resourcev1.ResourceClaim) {
			for _, uid := range uids {
				c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: string(uid), UID: uid})
			}
		}
	}
	deleted := func(c *resourcev1.ResourceClaim) { c.DeletionTimestamp = &metav1.Time{} }
	finalizer := func(c *resourcev1.ResourceClaim) { c.Finalizers = []string{resourcev1.Finalizer} }
	succeeded := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	unscheduled := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }
	for name, test := range map[string]struct {
		claim *resourcev1.ResourceClaim
		ended []types.UID
		owner *corev1.Pod
		want  string
	}{
		"unused":                              {claimWith("c"), nil, nil, ""},
		"in use":                              {claimWith("c", allocated, forPods("1", "2")), nil, nil, ""},
		"one of two ended":                    {claimWith("c", allocated, forPods("1", "2")), []types.UID{"1"}, nil, "reserved "},
		"both ended":                          {claimWith("c", allocated, forPods("1", "2")), []types.UID{"1", "2"}, nil, "reserved deallocated finalizer "},
		"ended, allocated without finalizer":  {claimWith("c", forPods("1"), func(c *resourcev1.ResourceClaim) { c.Status.Allocation = &resourcev1.AllocationResult{} }), []types.UID{"1"}, nil, "reserved "},
		"allocated, not reserved yet":         {claimWith("c", allocated), nil, nil, ""},
		"being deleted, allocated":            {claimWith("c", allocated, deleted), nil, nil, "deallocated finalizer "},
		"being deleted, not allocated":        {claimWith("c", finalizer, deleted), nil, nil, "finalizer "},
		"being deleted, in use":               {claimWith("c", allocated, deleted, forPods("1")), nil, nil, ""},
		"a finalizer before the allocation":   {claimWith("c", finalizer), nil, nil, ""},
		"generated, the pod runs":             {claimWith("c", ownedBy("p"), allocated, forPods("1")), nil, podWith(on("a")), ""},
		"generated, the pod has ended":        {claimWith("c", ownedBy("p"), allocated, forPods("1")), []types.UID{"1"}, podWith(succeeded), "reserved deallocated finalizer deleted "},
		"generated, the pod waits":            {claimWith("c", ownedBy("p")), nil, podWith(), ""},
		"generated, the pod never got a node": {claimWith("c", ownedBy("p")), nil, podWith(unscheduled), "deleted "},
		"generated, the pod was replaced":     {claimWith("c", ownedBy("p")), nil, podWith(func(p *corev1.Pod) { p.UID = "9" }), "deleted "},
		"generated, the pod is not known":     {claimWith("c", ownedBy("p")), nil, nil, ""},
		"generated, already being deleted":    {claimWith("c", ownedBy("p"), deleted), nil, podWith(succeeded), ""},
	} {
		t.Run(name, func(t *testing.T) {
			ended := map[types.UID]bool{}
			for _, uid := range test.ended {
				ended[uid] = true
			}
			r, got := ReleaseClaim(test.claim, ended, test.owner), ""
			if r.Status != nil && len(r.Status.ReservedFor) < len(test.claim.Status.ReservedFor) {
				got += "reserved "
			}
			if r.Status != nil && test.claim.Status.Allocation != nil && r.Status.Allocation == nil {
				got += "deallocated "
			}
			if r.Finalizer {
				got += "finalizer "
			}
			if r.Delete {
				got += "deleted "
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
