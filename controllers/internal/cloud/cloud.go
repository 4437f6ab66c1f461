package cloud

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/simulatedcloud"
)

// Account is the service account that the cloud itself acts as. No role of upstream's allows
// its requests: a cloud has credentials of its own.
const Account = "simulated-cloud"

// The errors of looking up an instance.
var (
	// ErrNotFound means that the instance does not exist.
	ErrNotFound = errors.New("instance not found")
	// ErrForeign means that the cloud does not know the machine of the Node: it is of another cloud,
	// or its kubelet has not registered.
	ErrForeign = errors.New("the node is no instance of this cloud")
)

// Store holds the ConfigMaps of the cloud. Reads return the latest state.
type Store interface {
	List(ctx context.Context) ([]*corev1.ConfigMap, error)
	Get(ctx context.Context, name string) (*corev1.ConfigMap, error)
	Create(ctx context.Context, c *corev1.ConfigMap) error
	Delete(ctx context.Context, c *corev1.ConfigMap) error
}

// Cloud is a client of the simulated cloud.
type Cloud struct {
	store  Store
	cached cache.Store
	// Informer delivers the ConfigMaps of all namespaces; InstanceOf and Concerns select the
	// cloud's.
	Informer cache.SharedIndexInformer
}

// Config returns the configuration of clients that act as the cloud.
func Config(e *env.Env) (*rest.Config, error) {
	config := rest.CopyConfig(e.Config)
	if e.Account != nil {
		var err error
		if config, err = e.Account(Account); err != nil {
			return nil, fmt.Errorf("getting the credentials of the service account %s: %w", Account, err)
		}
	}
	config.UserAgent = env.UserAgentPrefix + Account
	config.Wrap(cause.Wrap)
	return config, nil
}

// New returns a client that acts as the cloud.
func New(e *env.Env) (*Cloud, error) {
	config, err := Config(e)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of the cloud: %w", err)
	}
	informer := e.Informers.ConfigMaps().Informer()
	c := NewOn(clientStore{client}, informer.GetStore())
	c.Informer = informer
	return c, nil
}

// NewOn returns a client of a store, with a cache of its ConfigMaps.
func NewOn(store Store, cached cache.Store) *Cloud { return &Cloud{store: store, cached: cached} }

// Instance returns the instance of a Node, which may be stopped. The error is ErrNotFound if there
// is none, or another one under its name, and ErrForeign if the cloud does not know the Node. That
// an instance is gone is never concluded from the cache, which may not have it yet.
func (c *Cloud) Instance(ctx context.Context, node *corev1.Node) (simulatedcloud.Instance, error) {
	id := node.Spec.ProviderID
	if id != "" && !simulatedcloud.IsProviderID(id) {
		return simulatedcloud.Instance{}, ErrForeign
	}
	is := func(m *corev1.ConfigMap) (simulatedcloud.Instance, bool) {
		i, ok := simulatedcloud.InstanceOf(m)
		return i, ok && (id == "" || i.ProviderID == id)
	}
	if m, ok := c.fromCache(node.Name); ok {
		if i, ok := is(m); ok {
			return i, nil
		}
	}
	m, err := c.store.Get(ctx, node.Name)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return simulatedcloud.Instance{}, fmt.Errorf("getting instance %s: %w", node.Name, err)
	default:
		if i, ok := is(m); ok {
			return i, nil
		}
	}
	if id == "" {
		return simulatedcloud.Instance{}, ErrForeign
	}
	return simulatedcloud.Instance{}, ErrNotFound
}

func (c *Cloud) fromCache(name string) (*corev1.ConfigMap, bool) {
	o, _, _ := c.cached.GetByKey(simulatedcloud.Namespace + "/" + name) // the lookup by a key does not fail
	m, ok := o.(*corev1.ConfigMap)
	return m, ok
}

// Inventory returns the contents of the cloud.
func (c *Cloud) Inventory(ctx context.Context) (simulatedcloud.Inventory, error) {
	maps, err := c.store.List(ctx)
	if err != nil {
		return simulatedcloud.Inventory{}, fmt.Errorf("listing what the cloud has: %w", err)
	}
	return simulatedcloud.InventoryOf(maps), nil
}

// CreateRoute creates a route, and adds it to the inventory, which says whether the cloud refuses
// it. The caller is the only one that creates routes.
func (c *Cloud) CreateRoute(ctx context.Context, v *simulatedcloud.Inventory, r simulatedcloud.Route) error {
	if err := v.CheckRoute(&r); err != nil {
		return err
	}
	m := r.ConfigMap()
	if err := c.store.Create(ctx, m); err != nil {
		return err
	}
	r.Name = m.Name
	v.Routes = append(v.Routes, r)
	return nil
}

// DeleteRoute deletes a route, and removes it from the inventory. A route that is gone is no error.
func (c *Cloud) DeleteRoute(ctx context.Context, v *simulatedcloud.Inventory, r simulatedcloud.Route) error {
	gone := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: simulatedcloud.Namespace, Name: r.Name}}
	if err := c.store.Delete(ctx, gone); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	for i := range v.Routes {
		if v.Routes[i].Name == r.Name {
			v.Routes = append(v.Routes[:i:i], v.Routes[i+1:]...)
			break
		}
	}
	return nil
}

// InstanceOf returns the instance that an event of the Informer is about.
func InstanceOf(ev loop.Event) (simulatedcloud.Instance, bool) {
	m, ok := ev.Object.(*corev1.ConfigMap)
	if !ok {
		return simulatedcloud.Instance{}, false
	}
	return simulatedcloud.InstanceOf(m)
}

// Concerns reports whether an event of the Informer is about the cloud.
func Concerns(ev loop.Event) bool { return ev.Object.GetNamespace() == simulatedcloud.Namespace }

// clientStore is the Store of a client.
type clientStore struct{ client kubernetes.Interface }

func (s clientStore) List(ctx context.Context) ([]*corev1.ConfigMap, error) {
	list, err := s.client.CoreV1().ConfigMaps(simulatedcloud.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	maps := make([]*corev1.ConfigMap, len(list.Items))
	for i := range list.Items {
		maps[i] = &list.Items[i]
	}
	return maps, nil
}

func (s clientStore) Get(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	return s.client.CoreV1().ConfigMaps(simulatedcloud.Namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s clientStore) Create(ctx context.Context, c *corev1.ConfigMap) error {
	_, err := s.client.CoreV1().ConfigMaps(simulatedcloud.Namespace).Create(ctx, c, metav1.CreateOptions{})
	return err
}

func (s clientStore) Delete(ctx context.Context, c *corev1.ConfigMap) error {
	return s.client.CoreV1().ConfigMaps(simulatedcloud.Namespace).Delete(ctx, c.Name, metav1.DeleteOptions{})
}
