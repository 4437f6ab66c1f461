package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/store"
)

// After a reset the cluster has its initial state at the same address: existing clients
// continue to work, and their informers list the new state.
func TestReset(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	up, kubeconfig := launchUp(t, home, "--nodes", "1")
	client := clientOf(t, kubeconfig)
	ctx := t.Context()
	gone, back := make(chan struct{}), make(chan struct{}, 10)
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().ConfigMaps().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if obj.(*corev1.ConfigMap).Name == "after" {
				back <- struct{}{}
			}
		},
		DeleteFunc: func(obj any) {
			if name, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); name == "default/before" {
				close(gone)
			}
		},
	}); err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	namespace, err := client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	configMaps := client.CoreV1().ConfigMaps("default")
	before, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "before"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := launch(t, home, "run", "reset")
	if code, out := p.end(); code != 0 || !strings.Contains(out, "to its initial state") {
		t.Fatalf("it ends with %d: %s%s", code, out, p.stderr.String())
	}
	<-gone
	if _, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "after"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	<-back
	again, err := client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if again.UID == namespace.UID {
		t.Error("the namespace default is the one of before the reset")
	}
	if later := again.ResourceVersion; len(later) < len(before.ResourceVersion) || len(later) == len(before.ResourceVersion) && later <= before.ResourceVersion {
		t.Errorf("resource versions go back from %s to %s", before.ResourceVersion, later)
	}
	if nodes := nodesIn(t, kubeconfig); nodes != 1 {
		t.Errorf("there are %d nodes", nodes)
	}
	up.stop()
}

// A cluster with a data directory cannot be reset.
func TestNoResetOfKeptState(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	up, kubeconfig := launchUp(t, home, "--data-dir", t.TempDir(), "--nodes", "0")
	p := launch(t, home, "run", "reset", "--kubeconfig", kubeconfig)
	if code, _ := p.end(); code == 0 || !strings.Contains(p.stderr.String(), "which a reset would delete") {
		t.Errorf("it ends with %d: %s", code, p.stderr.String())
	}
	up.stop()
}

func TestResetRequests(t *testing.T) {
	for name, c := range map[string]struct {
		opts         minikcm.Options
		method, path string
		ready        bool
		code         int
		asked        bool
	}{
		"asked":             {method: "POST", path: resetPath, ready: true, code: http.StatusAccepted, asked: true},
		"while it starts":   {method: "POST", path: resetPath, code: http.StatusAccepted},
		"state":             {method: "GET", path: resetPath, ready: true, code: http.StatusOK},
		"beneath":           {method: "GET", path: resetPath + "/x", ready: true, code: http.StatusNotFound},
		"another verb":      {method: "PUT", path: resetPath, ready: true, code: http.StatusMethodNotAllowed},
		"a data directory":  {opts: minikcm.Options{Storage: minikcm.StorageOptions{DataDir: "x"}}, method: "POST", path: resetPath, ready: true, code: http.StatusConflict},
		"an external store": {opts: minikcm.Options{Sharing: minikcm.SharingOptions{Etcd: store.EtcdOptions{Endpoints: []string{"x"}}}}, method: "POST", path: resetPath, ready: true, code: http.StatusConflict},
	} {
		t.Run(name, func(t *testing.T) {
			r := newResets(&c.opts)
			if c.ready {
				r.setReady()
			}
			w := httptest.NewRecorder()
			r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody))
			if w.Code != c.code || len(r.asked) == 1 != c.asked {
				t.Errorf("it answers %d (%s), and was asked %d times", w.Code, w.Body, len(r.asked))
			}
		})
	}
}

// A request for the state during a reset gets its response when the cluster is ready, or none
// if the request is canceled first.
func TestResetStateWaits(t *testing.T) {
	r := newResets(&minikcm.Options{})
	r.setReady()
	if state, begun := r.begin(); !begun || state.Resets != 1 {
		t.Fatalf("%v %v", state, begun)
	}
	if _, begun := r.begin(); begun {
		t.Error("a second reset begins before the first is over")
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequestWithContext(canceled, http.MethodGet, resetPath, http.NoBody))
	if w.Body.Len() > 0 {
		t.Errorf("it answers %s", w.Body)
	}
	r.setReady()
	w = httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, resetPath, http.NoBody))
	if got := strings.TrimSpace(w.Body.String()); got != `{"resets":1}` {
		t.Errorf("it answers %s", got)
	}
}
