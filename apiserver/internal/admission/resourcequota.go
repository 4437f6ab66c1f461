package admission

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"regexp"
	"sync"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	plugin "k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/internal/quota"
	"minikcm.dev/minikcm/internal/reasons"
)

// quotaTries is the number of attempts to update a quota that has been changed
// concurrently. Other processes change it all the time while they create objects; each of
// their successes costs one attempt here.
const quotaTries = 100

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
	// Renew writes a quota unchanged, so that it gets a new resourceVersion, and returns it.
	// It returns a Conflict error if the quota is not at resourceVersion; empty means any.
	Renew func(ctx context.Context, namespace, name, resourceVersion string) (*corev1.ResourceQuota, error)
	// Stored is In from the store, including the writes of other processes. It is needed
	// with Epochs.
	Stored func(ctx context.Context, namespace string) ([]*corev1.ResourceQuota, error)
	// Epochs protect the quotas from the writes of other processes on the store; nil: there
	// are none.
	Epochs Epochs

	registry quotav1.Registry
	// locks serialize the writes of a namespace, to avoid conflicts.
	locks [64]sync.Mutex
	seed  maphash.Seed
	// charges are the admitted writes that may not have been stored.
	charges charges
}

// NewResourceQuota returns the plugin, on the cluster's clock.
func NewResourceQuota(c clock.PassiveClock, backing quota.Backing) *ResourceQuota {
	return &ResourceQuota{registry: quota.NewRegistry(nil, c, backing), seed: maphash.MakeSeed()}
}

// Check implements Checker.
func (p *ResourceQuota) Check(ctx context.Context, a *Attributes) error {
	if a.Resource.GroupResource() == corev1.Resource("resourcequotas") {
		if err := p.checkQuota(ctx, a); err != nil {
			return err
		}
	}
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
	lock := p.lock(a.Namespace)
	lock.Lock()
	defer lock.Unlock()
	for try := 1; ; try++ {
		fresh := p.Epochs != nil && try > 1
		err := p.use(ctx, a, evaluator, fresh)
		// The cache may not show usage that another process has released.
		stale := p.Epochs != nil && !fresh && apierrors.IsForbidden(err)
		if !apierrors.IsConflict(err) && !stale || try == quotaTries {
			return err
		}
	}
}

func (p *ResourceQuota) lock(namespace string) *sync.Mutex {
	return &p.locks[maphash.String(p.seed, namespace)%uint64(len(p.locks))]
}

// checkQuota rejects a status that shows less usage than before if the count may have
// missed admitted writes.
func (p *ResourceQuota) checkQuota(ctx context.Context, a *Attributes) error {
	of := types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
	if a.Operation == Delete && !a.DryRun {
		p.charges.forget(of)
		if p.Epochs != nil {
			return p.Epochs.Forget(ctx, a.Namespace, a.Name)
		}
	}
	now, isQuota := a.Object.(*corev1.ResourceQuota)
	old, wasQuota := a.Old.(*corev1.ResourceQuota)
	if a.Operation != Update || a.DryRun || !isQuota || !wasQuota || !quota.Lowers(now.Status.Used, old.Status.Used) {
		return nil
	}
	lock := p.lock(a.Namespace)
	lock.Lock()
	defer lock.Unlock()
	if p.Epochs != nil {
		return p.settleFirst(ctx, old)
	}
	some, open := p.charges.recent(of)
	if !some {
		return nil
	}
	if !open {
		p.charges.forget(of)
		if _, err := p.Renew(ctx, a.Namespace, a.Name, ""); err != nil {
			return err
		}
	}
	return errMayHaveMissed(a.Name)
}

// errMayHaveMissed returns the error for a usage that may be too low.
func errMayHaveMissed(quota string) error {
	return apierrors.NewConflict(corev1.Resource("resourcequotas"), quota,
		errors.New("the usage may have been counted without objects that were being stored; read the quota and count again"))
}

// quotas returns a namespace's quotas, from the store if fresh is set.
func (p *ResourceQuota) quotas(ctx context.Context, namespace string, fresh bool) ([]*corev1.ResourceQuota, error) {
	if fresh {
		return p.Stored(ctx, namespace)
	}
	return p.In(ctx, namespace)
}

// use adds the request to the usage, if it fits.
func (p *ResourceQuota) use(ctx context.Context, write *Attributes, evaluator quotav1.Evaluator, fresh bool) error {
	a := write.Record()
	if err := p.chargeInEpoch(ctx, write); err != nil {
		return err
	}
	known, err := p.quotas(ctx, a.GetNamespace(), fresh)
	if err != nil {
		return err
	}
	before := make([]corev1.ResourceQuota, len(known))
	for i := range known {
		before[i] = *known[i].DeepCopy()
	}
	after, err := plugin.CheckRequest(before, a, evaluator, nil)
	if err != nil {
		write.RefuseBy(reasons.ByQuota, quotaNamed(err), "")
	}
	if err != nil || a.IsDryRun() {
		return err
	}
	for i := range after {
		if quotav1.Equals(known[i].Status.Used, after[i].Status.Used) {
			continue
		}
		end := p.charges.begin(types.NamespacedName{Namespace: after[i].Namespace, Name: after[i].Name})
		if err := p.Save(ctx, &after[i]); err != nil {
			end()
			return fmt.Errorf("counting the use of quota %s/%s: %w", after[i].Namespace, after[i].Name, err)
		}
		write.atEnd(end)
	}
	return nil
}

// quotaName is how CheckRequest names the quota that refuses a request.
var quotaName = regexp.MustCompile(`(?:exceeded|failed) quota: ([^,:]+)`)

func quotaNamed(err error) string {
	if named := quotaName.FindStringSubmatch(err.Error()); named != nil {
		return named[1]
	}
	return ""
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
