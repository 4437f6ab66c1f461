package apiserver_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/store"
)

// heldStore holds the first write of a key until it is released.
type heldStore struct {
	store.Store
	key            string
	held, released chan struct{}
}

func (s *heldStore) Put(ctx context.Context, key string, value []byte, expected int64) (int64, error) {
	if strings.HasSuffix(key, s.key) {
		close(s.held)
		<-s.released
	}
	return s.Store.Put(ctx, key, value, expected)
}

// A count of a quota's objects that misses an admitted one, because that is still being
// stored, does not lower the quota's usage.
func TestQuotaCountWhileStoring(t *testing.T) {
	held := &heldStore{key: "/configmaps/default/first", held: make(chan struct{}), released: make(chan struct{})}
	h := start(t, func(o *apiserver.Options) {
		held.Store = o.Store
		o.Store = held
	})
	core := h.client().CoreV1()
	quotas, maps := core.ResourceQuotas("default"), core.ConfigMaps("default")
	limit := corev1.ResourceList{corev1.ResourceConfigMaps: resource.MustParse("1")}
	must(quotas.Create(h.ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: limit}}, metav1.CreateOptions{}))(t)
	// The test is the controller: count reads the quota and writes its usage.
	write := func(q *corev1.ResourceQuota, used int) error {
		q.Status = corev1.ResourceQuotaStatus{Hard: limit, Used: corev1.ResourceList{corev1.ResourceConfigMaps: *resource.NewQuantity(int64(used), resource.DecimalSI)}}
		_, err := quotas.UpdateStatus(h.ctx, q, metav1.UpdateOptions{})
		return err
	}
	read := func() *corev1.ResourceQuota { return must(quotas.Get(h.ctx, "q", metav1.GetOptions{}))(t) }
	count := func() int { return len(must(maps.List(h.ctx, metav1.ListOptions{}))(t).Items) }
	if err := write(read(), 0); err != nil {
		t.Fatal(err)
	}

	created := make(chan error, 1)
	go func() {
		_, err := maps.Create(h.ctx, configMap("first"), metav1.CreateOptions{})
		created <- err
	}()
	<-held.held
	early := read()
	if used := early.Status.Used[corev1.ResourceConfigMaps]; used.Value() != 1 || count() != 0 {
		t.Fatalf("%v used with %d objects, want the charge before the object", used.Value(), count())
	}
	if err := write(early.DeepCopy(), 0); !apierrors.IsConflict(err) {
		t.Errorf("a count before the object is stored: %v", err)
	}
	close(held.released)
	if err := <-created; err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"first", "second"} { // the first refusal after the write renews the quota
		if err := write(early.DeepCopy(), 0); !apierrors.IsConflict(err) {
			t.Errorf("the %s attempt with a count from before: %v", when, err)
		}
	}
	if _, err := maps.Create(h.ctx, configMap("second"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a second object under a quota of one: %v", err)
	}
	if now := read(); now.ResourceVersion == early.ResourceVersion {
		t.Error("the quota was not renewed")
	}
	if err := maps.Delete(h.ctx, "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := write(read(), count()); err != nil {
		t.Errorf("a count of everything: %v", err)
	}
	must(maps.Create(h.ctx, configMap("second"), metav1.CreateOptions{}))(t)
}
