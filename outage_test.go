package minikcm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// TestEtcdGoneAndBack takes the etcd away beneath a cluster with a workload, a client
// that writes and an informer over HTTPS, and gives it back.
func TestEtcdGoneAndBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	etcd := storetest.NewEtcd(t, storetest.EtcdOptions{})
	c := start(t, minikcm.Options{Sharing: minikcm.SharingOptions{Etcd: store.EtcdOptions{Endpoints: []string{etcd.Endpoint}}}, Nodes: minikcm.NodeOptions{Count: 2}})
	client := overHTTPS(t, c)
	createWeb(t, client, 3)
	waitForPods(ctx, t, client, 3)
	seen := followConfigMaps(ctx, t, client)
	acknowledged := map[string]string{}
	write := func(name string) error {
		created, err := client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err == nil {
			acknowledged[name] = created.ResourceVersion
		}
		return err
	}
	for i := range 20 {
		if err := write(fmt.Sprintf("before-%02d", i)); err != nil {
			t.Fatal(err)
		}
	}

	etcd.Stop()
	err := write("without")
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusInternalServerError || status.Status().Reason != "" || !strings.Contains(err.Error(), "code = Unavailable") {
		t.Errorf("a write without etcd: %v", err)
	}
	for path, text := range map[string]string{"/livez": "[-]etcd failed", "/readyz": "[-]etcd failed", "/healthz/etcd": "internal server error: "} {
		body, code := get(ctx, t, client, path)
		if code != http.StatusInternalServerError || !strings.Contains(body, text) {
			t.Errorf("%s without etcd: %d, %s", path, code, body)
		}
	}
	etcd.Start()

	// A consistent read is answered when etcd is.
	if _, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{}); err != nil {
		t.Errorf("reading when etcd is back: %v", err)
	}
	if body, code := get(ctx, t, client, "/readyz"); code != http.StatusOK {
		t.Errorf("/readyz when etcd is back: %d, %s", code, body)
	}
	for i := range 20 {
		if err := write(fmt.Sprintf("after-%02d", i)); err != nil {
			t.Fatal(err)
		}
	}
	scale, err := client.AppsV1().Deployments("default").GetScale(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale.Spec.Replicas, scale.ResourceVersion = 5, "" // whatever was written meanwhile
	if _, err := client.AppsV1().Deployments("default").UpdateScale(ctx, "web", scale, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitForPods(ctx, t, client, 5)

	list, err := client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]string{}
	for _, item := range list.Items {
		stored[item.Name] = item.ResourceVersion
	}
	for name, revision := range acknowledged {
		if stored[name] != revision {
			t.Errorf("%s was acknowledged at revision %s, and is there at %q", name, revision, stored[name])
		}
	}
	for len(stored) > 0 {
		select {
		case name := <-seen:
			delete(stored, name)
		case <-ctx.Done():
			t.Fatalf("the informer has not seen %v", stored)
		}
	}
	select {
	case <-c.Done():
		t.Errorf("the cluster has stopped: %v", c.Err())
	default:
	}
}

func overHTTPS(t *testing.T, c *minikcm.Cluster) kubernetes.Interface {
	t.Helper()
	config, err := c.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func get(ctx context.Context, t *testing.T, client kubernetes.Interface, path string) (body string, code int) {
	t.Helper()
	result := client.Discovery().RESTClient().Get().AbsPath(path).Do(ctx)
	result.StatusCode(&code)
	data, err := result.Raw()
	if err != nil && code == 0 {
		t.Fatal(err)
	}
	return string(data), code
}

// waitForPods returns when so many pods of the deployment web are Ready.
func waitForPods(ctx context.Context, t *testing.T, client kubernetes.Interface, n int32) {
	t.Helper()
	for {
		watcher, err := client.AppsV1().Deployments("default").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=web"})
		if err != nil {
			t.Fatal(err)
		}
		for event := range watcher.ResultChan() {
			if web, ok := event.Object.(*appsv1.Deployment); ok && web.Status.ReadyReplicas == n {
				watcher.Stop()
				return
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("the deployment has not come to %d ready pods", n)
		}
	}
}

// followConfigMaps returns the names that an informer sees.
func followConfigMaps(ctx context.Context, t *testing.T, client kubernetes.Interface) <-chan string {
	t.Helper()
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	informer := factory.Core().V1().ConfigMaps().Informer()
	seen := make(chan string, 1000)
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		seen <- obj.(*corev1.ConfigMap).Name
	}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	factory.StartWithContext(ctx)
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	return seen
}
