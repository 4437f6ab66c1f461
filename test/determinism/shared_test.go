package determinism

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
)

// sharedResources are the resources that the controllers, the scheduler and the kubelets watch.
var sharedResources = []schema.GroupVersionResource{
	{Version: "v1", Resource: "configmaps"},
	{Version: "v1", Resource: "endpoints"},
	{Version: "v1", Resource: "events"},
	{Version: "v1", Resource: "namespaces"},
	{Version: "v1", Resource: "nodes"},
	{Version: "v1", Resource: "pods"},
	{Version: "v1", Resource: "serviceaccounts"},
	{Version: "v1", Resource: "services"},
	{Group: "apps", Version: "v1", Resource: "controllerrevisions"},
	{Group: "apps", Version: "v1", Resource: "daemonsets"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "apps", Version: "v1", Resource: "replicasets"},
	{Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "batch", Version: "v1", Resource: "cronjobs"},
	{Group: "batch", Version: "v1", Resource: "jobs"},
	{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
	{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
}

// Informers that share objects with the server get what others decode, in all states of all
// objects, and nothing in the process modifies these objects afterwards.
func TestSharedObjects(t *testing.T) {
	t.Parallel()
	for name, course := range map[string]step{"busy": busy, "autoscaled": autoscaled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareShared(t, course)
		})
	}
}

func compareShared(t *testing.T, course step) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cluster, err := minikcm.Start(ctx, minikcm.Options{Nodes: minikcm.NodeOptions{Count: 3, Manage: minikcm.ManageAll}, Seed: 3, Clock: minikcm.ClockOptions{Mode: clock.ModeVirtual, Driven: true}, API: minikcm.APIOptions{NoHTTPS: true}, Faults: minikcm.FaultOptions{API: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	}()
	decoded, endDecoded := observe(ctx, t, cluster, informers.WithoutManagedFields()) // references have none
	defer endDecoded()
	shared, endShared := observe(ctx, t, cluster, informers.ByReference())
	defer endShared()
	if err := course(ctx, &driver{cluster: cluster, client: cluster.Client(), random: clock.NewRandom(3)}); err != nil {
		t.Fatal(err)
	}
	decoded.compare(t, shared)
}

// states are the states of objects, by kind, name and resourceVersion.
type states struct {
	mu  sync.Mutex
	all map[string]runtime.Object
}

// observe collects the states that informers with the options get.
func observe(ctx context.Context, t *testing.T, cluster *minikcm.Cluster, opts ...informers.Option) (s *states, end func()) {
	t.Helper()
	config := cluster.Config()
	config.AcceptContentTypes, config.ContentType = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	factory, err := informers.NewForConfig(config, cluster.Ledger(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	s = &states{all: map[string]runtime.Object{}}
	for _, resource := range sharedResources {
		informer, err := factory.ForResource(resource)
		if err != nil {
			t.Fatal(err)
		}
		add := func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			s.add(resource.Resource, obj.(runtime.Object))
		}
		handler := cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }, DeleteFunc: add}
		if _, err := informer.Informer().AddEventHandler(handler); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	factory.StartWithContext(ctx)
	factory.WaitForCacheSync(ctx.Done())
	return s, func() { cancel(); factory.Shutdown() }
}

func (s *states) add(resource string, obj runtime.Object) {
	m := obj.(metav1.Object)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[fmt.Sprintf("%s %s/%s at %s", resource, m.GetNamespace(), m.GetName(), m.GetResourceVersion())] = obj
}

// compare compares all states that both have seen.
func (s *states) compare(t *testing.T, shared *states) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	opts := []cmp.Option{
		cmpopts.EquateEmpty(), // protobuf reads back an empty list as none
		// A decoded time is in the machine's zone.
		cmp.Comparer(func(a, b metav1.Time) bool { return a.Time.Equal(b.Time) }),
		cmp.Comparer(func(a, b metav1.MicroTime) bool { return a.Time.Equal(b.Time) }),
		cmp.Comparer(func(a, b metav1.FieldsV1) bool { return a.String() == b.String() }),
	}
	compared, different := 0, 0
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		other, ok := shared.all[name]
		if !ok {
			continue // it was gone before the second informer began, or came after the first ended
		}
		compared++
		if diff := cmp.Diff(s.all[name], other, opts...); diff != "" {
			different++
			if different <= 5 {
				t.Errorf("%s differs (-decoded +shared):\n%s", name, diff)
			}
		}
	}
	t.Logf("%d states compared, %d differ", compared, different)
	if compared < 100 {
		t.Errorf("%d states were compared, want many", compared)
	}
}
