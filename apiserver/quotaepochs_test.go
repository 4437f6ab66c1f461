package apiserver_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/store"
)

// uncloseable is the store of a server that another server closes.
type uncloseable struct{ store.Store }

func (uncloseable) Close() error { return nil }

// sharing makes a server one of several on its store.
func sharing(o *apiserver.Options) { o.SharedStore = true }

// counter is the quota controller, one step at a time, with the quota q of the namespace
// default, which limits ConfigMaps.
type counter struct {
	h     *harness
	limit corev1.ResourceList
}

// newCounter creates the quota. It returns when the other server has it, too.
func newCounter(h, other *harness, limit int64) *counter {
	c := &counter{h, corev1.ResourceList{corev1.ResourceConfigMaps: *resource.NewQuantity(limit, resource.DecimalSI)}}
	must(c.quotas().Create(h.ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: c.limit}}, metav1.CreateOptions{}))(h.t)
	if err := c.write(c.read(), 0); err != nil {
		h.t.Fatal(err)
	}
	must(other.client().CoreV1().ResourceQuotas("default").List(other.ctx, metav1.ListOptions{}))(h.t)
	return c
}

func (c *counter) quotas() corev1client.ResourceQuotaInterface {
	return c.h.client().CoreV1().ResourceQuotas("default")
}

func (c *counter) read() *corev1.ResourceQuota {
	return must(c.quotas().Get(c.h.ctx, "q", metav1.GetOptions{}))(c.h.t)
}

func (c *counter) count() int {
	return len(must(c.h.client().CoreV1().ConfigMaps("default").List(c.h.ctx, metav1.ListOptions{}))(c.h.t).Items)
}

func (c *counter) write(q *corev1.ResourceQuota, used int) error {
	q.Status = corev1.ResourceQuotaStatus{Hard: c.limit, Used: corev1.ResourceList{corev1.ResourceConfigMaps: *resource.NewQuantity(int64(used), resource.DecimalSI)}}
	_, err := c.quotas().UpdateStatus(c.h.ctx, q, metav1.UpdateOptions{})
	return err
}

// recount counts until the usage is accepted.
func (c *counter) recount() error {
	for {
		q := c.read()
		if err := c.write(q, c.count()); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// A process charges a create and is paused before it stores the object. The controller, at
// another process, counts without the object, and another object uses the released quota. The
// late write fails.
func TestQuotaEpochs(t *testing.T) {
	held := &heldStore{key: "/configmaps/default/first", held: make(chan struct{}), released: make(chan struct{})}
	paused := start(t, sharing, func(o *apiserver.Options) {
		held.Store = o.Store
		o.Store = held
	})
	other := start(t, sharing, func(o *apiserver.Options) { o.Store = uncloseable{held.Store} })
	c := newCounter(other, paused, 1)
	release := sync.OnceFunc(func() { close(held.released) })
	defer release()
	created := make(chan error, 1)
	go func() {
		request := paused.client().CoreV1().RESTClient().Post().Namespace("default").Resource("configmaps").Body(configMap("first")).MaxRetries(0)
		created <- request.Do(paused.ctx).Error()
	}()
	<-held.held
	early := c.read()
	if used := early.Status.Used[corev1.ResourceConfigMaps]; used.Value() != 1 || c.count() != 0 {
		t.Fatalf("%v used with %d objects, want the charge before the object", used.Value(), c.count())
	}
	if err := c.write(early.DeepCopy(), 0); !apierrors.IsConflict(err) {
		t.Errorf("a count of a revision that is not settled: %v", err)
	}
	if err := c.write(early.DeepCopy(), 0); !apierrors.IsConflict(err) {
		t.Errorf("the same count again: %v", err)
	}
	if err := c.recount(); err != nil {
		t.Fatalf("a count of the settled revision: %v", err)
	}
	must(other.client().CoreV1().ConfigMaps("default").Create(other.ctx, configMap("second"), metav1.CreateOptions{}))(t)
	release()
	if err := <-created; !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("the late write: %v", err)
	}
	if n := c.count(); n != 1 {
		t.Errorf("%d objects exist under a quota of 1", n)
	}
	if err := c.recount(); err != nil {
		t.Errorf("a count of everything: %v", err)
	}
}

// A charge that comes between the two steps of a lower usage is not lost.
func TestQuotaEpochsChargeBetween(t *testing.T) {
	one := start(t, sharing)
	other := start(t, sharing, func(o *apiserver.Options) { o.Store = uncloseable{one.store} })
	c := newCounter(one, other, 2)
	create := func(h *harness, name string) error {
		_, err := h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap(name), metav1.CreateOptions{})
		return err
	}
	if err := errors.Join(create(other, "a"), create(other, "b")); err != nil {
		t.Fatal(err)
	}
	if err := other.client().CoreV1().ConfigMaps("default").Delete(other.ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	q := c.read()
	if err := c.write(q, c.count()); !apierrors.IsConflict(err) {
		t.Fatalf("a count of a revision that is not settled: %v", err)
	}
	if q = c.read(); c.count() != 1 {
		t.Fatal("one object is left")
	}
	// A third object does not fit, because a's is still charged.
	if err := create(other, "c"); !apierrors.IsForbidden(err) {
		t.Errorf("an object before the count: %v", err)
	}
	if err := c.write(q, 1); err != nil {
		t.Errorf("a count of the settled revision: %v", err)
	}
	if err := create(other, "c"); err != nil {
		t.Errorf("an object after the count: %v", err)
	}
}

// Creators and deleters at two servers, and a controller at each, as when the one is about
// to take over from the other: the quota is never exceeded.
func TestQuotaOfTwoServers(t *testing.T) {
	const limit, rounds, workers = 5, 40, 6
	one := start(t, sharing)
	other := start(t, sharing, func(o *apiserver.Options) { o.Store = uncloseable{one.store} })
	c := newCounter(one, other, limit)
	second := &counter{other, c.limit}
	var working, counting sync.WaitGroup
	ended := make(chan struct{})
	for _, counter := range []*counter{c, second} {
		counting.Go(func() {
			for {
				if err := counter.recount(); err != nil {
					t.Error(err)
				}
				if n := counter.count(); n > limit {
					t.Errorf("%d objects exist under a quota of %d", n, limit)
				}
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	var mu sync.Mutex
	made := 0
	for worker := range workers {
		client := []kubernetes.Interface{one.client(), other.client()}[worker%2]
		working.Go(func() {
			for i := range rounds {
				object := configMap(fmt.Sprintf("m-%d-%d", worker, i))
				request := client.CoreV1().RESTClient().Post().Namespace("default").Resource("configmaps").Body(object).MaxRetries(0)
				err := request.Do(one.ctx).Error()
				switch {
				case err == nil:
					mu.Lock()
					made++
					mu.Unlock()
					if err := client.CoreV1().ConfigMaps("default").Delete(one.ctx, object.Name, metav1.DeleteOptions{}); err != nil {
						t.Error(err)
					}
				case !apierrors.IsForbidden(err) && !apierrors.IsTooManyRequests(err):
					t.Error(err)
				}
			}
		})
	}
	working.Wait()
	close(ended)
	counting.Wait()
	if made < limit {
		t.Errorf("%d objects were created", made)
	}
	if err := c.recount(); err != nil {
		t.Fatal(err)
	}
	if used := c.read().Status.Used[corev1.ResourceConfigMaps]; used.Value() != 0 {
		t.Errorf("%v used at the end", used.Value())
	}
}
