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

// quotaTries is how often a quota is read again that somebody else has written.
const quotaTries = 4

// ResourceQuota refuses what would exceed a quota of its namespace, and counts the
// rest (Kubernetes documentation, "Resource Quotas"). It has to be the last plugin, as
// what it has counted it does not give back; the resource quota controller mends that.
type ResourceQuota struct {
	// In returns a namespace's quotas, as new as what this process has written.
	In func(ctx context.Context, namespace string) ([]*corev1.ResourceQuota, error)
	// Save writes a quota's status, unless the quota has changed: a Conflict error.
	Save func(ctx context.Context, quota *corev1.ResourceQuota) error

	registry quotav1.Registry
	// locks keep the writes of one namespace in a line, so that they need not meet in
	// conflicts.
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

// use counts the request, if it fits.
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

// uncounted are the kinds that no quota counts.
func uncounted(gr schema.GroupResource) bool {
	switch gr.Group {
	case "authentication.k8s.io", "authorization.k8s.io":
		return true
	case corev1.GroupName, eventsv1.GroupName:
		return gr.Resource == "events" || gr.Resource == "bindings" || gr.Resource == "componentstatuses"
	}
	return false
}
