package storageversiongarbagecollector

import (
	"context"
	"fmt"
	"slices"
	"time"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	versionclient "k8s.io/client-go/kubernetes/typed/apiserverinternal/v1alpha1"
	leaseclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	versionlisters "k8s.io/client-go/listers/apiserverinternal/v1alpha1"
	leaselisters "k8s.io/client-go/listers/coordination/v1"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/storageversiongarbagecollector/decide"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/members"
)

// Name is upstream's name of the controller.
const Name = "storageversion-garbage-collector-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Aliases: []string{"storage-version-gc"}, Gate: featuregates.StorageVersionAPI,
		Account: "storage-version-garbage-collector",
		About:   "removes the entries of API servers that are gone from StorageVersions",
		Watches: []string{"storageversions", "leases"}, Writes: []string{"storageversions", "storageversions/status"},
		Docs:  "concepts/architecture/leases/#api-server-identity",
		Build: build,
	}
}

// Controller removes entries of StorageVersions. Its keys are their names.
type Controller struct {
	clock    clock.PassiveClock
	leases   leaselisters.LeaseLister
	versions versionlisters.StorageVersionLister
	// leaseClient and client are of the API, not of the caches.
	leaseClient leaseclient.LeasesGetter
	client      versionclient.StorageVersionsGetter
}

func build(p *controller.Parts) error {
	leases, versions := p.Informers.Leases(), p.Informers.StorageVersions()
	c := &Controller{
		clock: p.Clock, leases: leases.Lister(), versions: versions.Lister(),
		leaseClient: p.Client.CoordinationV1(), client: p.Client.InternalV1alpha1(),
	}
	l := p.Loop(c)
	l.Watch(leases.Informer(), c.wakeForLease)
	l.Watch(versions.Informer(), c.wakeForVersion)
	return nil
}

// wakeForLease enqueues the StorageVersions with an entry of the API server whose Lease was deleted.
func (c *Controller) wakeForLease(ev loop.Event) []types.NamespacedName {
	lease, ok := ev.Object.(*coordinationv1.Lease)
	if !ok || ev.Type != loop.Deleted || lease.Namespace != members.Namespace || !identifies(lease) {
		return nil
	}
	return loop.KeysOf(c.versions.List, func(v *apiserverinternalv1alpha1.StorageVersion) bool {
		return slices.ContainsFunc(v.Status.StorageVersions, func(s apiserverinternalv1alpha1.ServerStorageVersion) bool { return s.APIServerID == lease.Name })
	})
}

// wakeForVersion enqueues a StorageVersion that has an entry of an API server without a Lease, according to the
// cache.
func (c *Controller) wakeForVersion(ev loop.Event) []types.NamespacedName {
	v, ok := ev.Object.(*apiserverinternalv1alpha1.StorageVersion)
	if !ok || ev.Type == loop.Deleted || len(decide.Suspects(v, c.known)) == 0 {
		return nil
	}
	return loop.Self(ev)
}

// known reports whether the cache has the identity Lease of an API server.
func (c *Controller) known(server string) bool {
	lease, err := c.leases.Leases(members.Namespace).Get(server)
	return err == nil && identifies(lease)
}

// identifies reports whether a Lease in kube-system identifies an API server. Whether it has expired does not matter: the
// API servers delete expired ones.
func identifies(lease *coordinationv1.Lease) bool {
	return lease.Labels[members.IdentityLabel] == members.IdentityValue
}

// Reconcile removes the entries of API servers without a Lease from a StorageVersion, or deletes it.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	v, err := c.versions.Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting StorageVersion %s: %w", key.Name, err)
	}
	gone := map[string]bool{}
	for _, server := range decide.Suspects(v, c.known) {
		// The cache may lack the Lease of a server that has just started.
		lease, err := c.leaseClient.Leases(members.Namespace).Get(ctx, server, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			gone[server] = true
		case err != nil:
			return loop.Result{}, fmt.Errorf("getting the Lease of API server %s, which has an entry in StorageVersion %s: %w", server, key.Name, err)
		default:
			gone[server] = !identifies(lease)
		}
	}
	return loop.Result{}, c.execute(ctx, v, decide.StorageVersion(v, gone, metav1.NewTime(c.clock.Now().Truncate(time.Second))))
}

// execute writes a decision about v. The write fails if an API server has written v meanwhile. That is not an error:
// the event of the write, or of v's deletion, follows.
func (c *Controller) execute(ctx context.Context, v *apiserverinternalv1alpha1.StorageVersion, d decide.Decision) error {
	var err error
	switch {
	case d.Delete:
		err = executor.DeleteUnchanged(ctx, c.client.StorageVersions().Delete, v)
	case d.Status != nil:
		changed := v.DeepCopy()
		changed.Status = *d.Status
		_, err = c.client.StorageVersions().UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	}
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing the entries of API servers that are gone from StorageVersion %s: %w", v.Name, err)
	}
	return nil
}
