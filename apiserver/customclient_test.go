package apiserver_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

var storeListOptions = store.ListOptions{KeysOnly: true}

// restart starts another server on the harness's store.
func restart(t *testing.T, h *harness) *harness {
	t.Helper()
	ledger := clock.NewLedger()
	server, err := apiserver.New(h.ctx, apiserver.Options{
		Store: h.store, Ledger: ledger, Random: clock.NewRandom(2), Logger: klog.Background(), CompactionInterval: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return &harness{t: t, ctx: h.ctx, store: h.store, ledger: ledger, server: server}
}

// typedWidget is a custom kind as the author of an operator writes it.
type typedWidget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              typedWidgetSpec `json:"spec"`
}

type typedWidgetSpec struct {
	Size  int64  `json:"size"`
	Color string `json:"color,omitempty"`
}

func (w *typedWidget) DeepCopyObject() runtime.Object {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// typedClient returns a REST client that uses JSON for the types of a scheme.
func typedClient(t *testing.T, h *harness, cfg *rest.Config, types *runtime.Scheme, gv schema.GroupVersion) *rest.RESTClient {
	t.Helper()
	cfg = rest.CopyConfig(cfg)
	cfg.GroupVersion = &gv
	cfg.APIPath = "/apis"
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(types).WithoutConversion()
	client, err := rest.RESTClientForConfigAndClient(cfg, h.httpClient(cfg))
	if err != nil {
		t.Fatal(err)
	}
	return client
}
