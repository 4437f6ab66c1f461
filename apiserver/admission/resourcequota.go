package admission

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/admission"
	plugin "k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/quota"
)

// quotaTries is the number of attempts to update a quota that has been changed
// concurrently.
const quotaTries = 4

// ResourceQuota rejects requests that would exceed a quota of their namespace, and adds
// the others to the quota's usage (Kubernetes documentation, "Resource Quotas"). It
// must be the last plugin, because it does not undo the usage of a request that is
// rejected later; the resource quota controller corrects that.
type ResourceQuota struct {
	// In returns a namespace's quotas, including all writes of this process.
	In func(ctx context.Context, namespace string) ([]*corev1.ResourceQuota, error)
	// Save writes a quota's status, or returns a Conflict error if the quota has
	// changed.
	Save func(ctx context.Context, quota *corev1.ResourceQuota) error

	registry quotav1.Registry
	// locks serialize the writes of a namespace, to avoid conflicts.
	locks [64]sync.Mutex
	seed  maphash.Seed
}

// NewResourceQuota returns the plugin, on the cluster's clock.
func NewResourceQuota(c clock.PassiveClock) *ResourceQuota {
	return &ResourceQuota{registry: quota.NewRegistry(nil, c), seed: maphash.MakeSeed()}
}

// Check implements Checker.
func (p *ResourceQuota) Check(ctx context.Context, a *Attributes) error {
	if a.Operation == Delete || a.Namespace == "" || !a.Resource.Namespaced || uncounted(a.Resource.GroupResource()) {
		return nil
	}
	evaluator := p.registry.Get(a.Resource.GroupResource())
	if evaluator == nil {
		evaluator = quota.Count(a.Resource.GroupResource(), nil)
	}
	attributes := a.Record()
	if !evaluator.Handles(attributes) {
		return nil
	}
	quotas, err := p.In(ctx, a.Namespace)
	if err != nil || len(quotas) == 0 {
		return err
	}
	lock := &p.locks[maphash.String(p.seed, a.Namespace)%uint64(len(p.locks))]
	lock.Lock()
	defer lock.Unlock()
	for try := 1; ; try++ {
		err := p.use(ctx, attributes, evaluator)
		if !apierrors.IsConflict(err) || try == quotaTries {
			return err
		}
	}
}

// use adds the request to the usage, if it fits.
func (p *ResourceQuota) use(ctx context.Context, a upstream.Attributes, evaluator quotav1.Evaluator) error {
	known, err := p.In(ctx, a.GetNamespace())
	if err != nil {
		return err
	}
	before := make([]corev1.ResourceQuota, len(known))
	for i := range known {
		before[i] = *known[i].DeepCopy()
	}
	after, err := plugin.CheckRequest(before, a, evaluator, nil)
	if err != nil || a.IsDryRun() {
		return err
	}
	for i := range after {
		if quotav1.Equals(known[i].Status.Used, after[i].Status.Used) {
			continue
		}
		if err := p.Save(ctx, &after[i]); err != nil {
			return fmt.Errorf("counting the use of quota %s/%s: %w", after[i].Namespace, after[i].Name, err)
		}
	}
	return nil
}

// uncounted reports whether no quota counts a kind.
func uncounted(gr schema.GroupResource) bool {
	switch gr.Group {
	case "authentication.k8s.io", "authorization.k8s.io":
		return true
	case corev1.GroupName, eventsv1.GroupName:
		return gr.Resource == "events" || gr.Resource == "bindings" || gr.Resource == "componentstatuses"
	}
	return false
}
