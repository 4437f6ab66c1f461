package selection

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"minikcm.dev/minikcm/internal/loop"
)

// Changes records which pods of a service have changed since its last reconcile. The zero value
// is ready to use. It is safe for concurrent use.
type Changes struct {
	mu       sync.Mutex
	services map[types.NamespacedName]*changed
}

// changed has the changes since a reconcile of a version of the service.
type changed struct {
	uid     types.UID
	version string
	pods    sets.Set[string]
}

// Touch marks a pod of the services as changed.
func (c *Changes) Touch(services []types.NamespacedName, pod string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, service := range services {
		if known := c.services[service]; known != nil {
			known.pods.Insert(pod)
		}
	}
}

// Take returns the names of the changed pods, sorted, and starts the next difference. all is
// true if the reconcile has to read all pods: it is the first one, or the service has changed.
func (c *Changes) Take(service *corev1.Service) (names []string, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.services == nil {
		c.services = map[types.NamespacedName]*changed{}
	}
	key := loop.KeyOf(service)
	known := c.services[key]
	if known == nil || known.uid != service.UID || known.version != service.ResourceVersion {
		c.services[key] = &changed{uid: service.UID, version: service.ResourceVersion, pods: sets.New[string]()}
		return nil, true
	}
	names = known.pods.UnsortedList()
	slices.Sort(names)
	clear(known.pods)
	return names, false
}

// Forget makes the next reconcile of the service read all pods.
func (c *Changes) Forget(service types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.services, service)
}
