package evolution

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/inflight"
)

// controller runs each Reconciler of a cluster once, for the time that its spec gives. Then
// it sets the condition Complete of the object.
type controller struct {
	cluster *minikcm.Cluster
	client  dynamic.Interface
	logger  klog.Logger

	mu      sync.Mutex
	running map[types.UID]context.CancelFunc
	works   sync.WaitGroup
}

// Start begins to run Reconcilers, whose kind Install has made known. stop ends the running ones,
// and returns when all of them have ended.
func Start(cluster *minikcm.Cluster, logger klog.Logger) (stop func() error, err error) {
	config := jsonConfig(cluster.ConfigFor("evolution", "system:masters"))
	watching := jsonConfig(config)
	if cluster.Ledger() != nil {
		informers.Wrap(watching)
	}
	c := &controller{cluster: cluster, logger: logger, running: map[types.UID]context.CancelFunc{}}
	if c.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("making the client of the controller of reconcilers: %w", err)
	}
	watcher, err := dynamic.NewForConfig(watching)
	if err != nil {
		return nil, fmt.Errorf("making the client that watches reconcilers: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	informer := informers.Counted(dynamicinformer.NewFilteredDynamicInformer(watcher, reconcilers, metav1.NamespaceAll, 0, nil, nil).Informer(), cluster.Ledger())
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.begin(ctx, obj) },
		DeleteFunc: c.end,
	})
	var watch sync.WaitGroup
	watch.Go(func() { informer.RunWithContext(ctx) })
	stop = func() error {
		cancel()
		watch.Wait() // after which begin is not called
		c.works.Wait()
		return nil
	}
	if err != nil {
		return nil, fmt.Errorf("watching reconcilers: %w", err)
	}
	return stop, nil
}

// begin runs a Reconciler that has not completed.
func (c *controller) begin(ctx context.Context, obj any) {
	object, ok := obj.(*unstructured.Unstructured)
	if !ok || object.GetDeletionTimestamp() != nil {
		return
	}
	if _, completed, _ := unstructured.NestedSlice(object.Object, "status", "conditions"); completed {
		return
	}
	work := inflight.Begin(c.cluster.Ledger(), inflight.Action)
	own, cancel := inflight.WithCancelCause(inflight.With(ctx, work))
	c.mu.Lock()
	c.running[object.GetUID()] = func() { cancel(nil) }
	c.mu.Unlock()
	c.works.Go(func() {
		defer work.End()
		defer cancel(nil)
		err := c.run(own, object)
		if own.Err() == nil {
			c.complete(own, object, err)
		}
	})
}

// end ends a Reconciler that was deleted.
func (c *controller) end(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	object, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.running[object.GetUID()]; cancel != nil {
		cancel()
		delete(c.running, object.GetUID())
	}
}

func (c *controller) run(ctx context.Context, object *unstructured.Unstructured) error {
	asked, err := specOf(object)
	if err != nil {
		return err
	}
	return run(ctx, asked.by, asked.lasts, env{
		config: c.cluster.ConfigFor("evolution:"+asked.by, "system:masters"), ledger: c.cluster.Ledger(),
		sleep: func(ctx context.Context, d time.Duration) error { return inflight.Sleep(ctx, c.cluster.Clock(), d) },
	})
}

// complete sets the condition Complete: True, or False with the error.
func (c *controller) complete(ctx context.Context, object *unstructured.Unstructured, err error) {
	condition := metav1.Condition{
		Type: "Complete", Status: metav1.ConditionTrue, Reason: "TimeIsOver",
		LastTransitionTime: metav1.NewTime(c.cluster.Clock().Now()),
	}
	if err != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "Failed", err.Error()
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []metav1.Condition{condition}}})
	if err == nil {
		_, err = c.client.Resource(reconcilers).Namespace(object.GetNamespace()).Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil && ctx.Err() == nil {
		c.logger.Error(err, "Setting the condition of a reconciler failed", "reconciler", klog.KObj(object))
	}
}
