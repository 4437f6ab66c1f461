package apiserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/store"
)

// departing is a store in which the client disconnects during writes to a key named
// "departed". As in etcd's client, a write whose context has ended may have been made.
type departing struct {
	store.Store
	depart context.CancelFunc
}

func (d *departing) Put(ctx context.Context, key string, value []byte, expected int64) (int64, error) {
	d.leave(key)
	revision, err := d.Store.Put(context.WithoutCancel(ctx), key, value, expected)
	return revision, ended(ctx, err)
}

func (d *departing) Delete(ctx context.Context, key string, expected int64) (int64, error) {
	d.leave(key)
	revision, err := d.Store.Delete(context.WithoutCancel(ctx), key, expected)
	return revision, ended(ctx, err)
}

func (d *departing) leave(key string) {
	if strings.HasSuffix(key, "/departed") {
		d.depart()
	}
}

func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// A write whose client disconnects is completed and recorded.
func TestClientDepartsDuringAWrite(t *testing.T) {
	d := &departing{Store: store.NewMemory()}
	h := start(t, func(o *apiserver.Options) { o.Store = d })
	client, err := kubernetes.NewForConfig(h.server.Config("tester", auth.GroupMasters))
	if err != nil {
		t.Fatal(err)
	}
	configMaps := client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "departed"}, Data: map[string]string{}}
	verbs := []string{"create", "update", "delete"}
	for _, verb := range verbs {
		ctx, cancel := context.WithCancel(h.ctx)
		d.depart = cancel
		object.Data["verb"] = verb
		switch verb {
		case "create":
			_, err = configMaps.Create(ctx, object, metav1.CreateOptions{})
		case "update":
			_, err = configMaps.Update(ctx, object, metav1.UpdateOptions{})
		case "delete":
			err = configMaps.Delete(ctx, object.Name, metav1.DeleteOptions{})
		}
		if err != nil && !errors.Is(err, context.Canceled) { // the response may still reach it
			t.Errorf("%s: %v", verb, err)
		}
		if err := h.ledger.WaitIdle(h.ctx); err != nil {
			t.Fatal(err)
		}
	}
	var recorded []string
	for _, w := range writesOf(h, object.Name) {
		recorded = append(recorded, w.Verb)
	}
	if diff := cmp.Diff(verbs, recorded); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
}
