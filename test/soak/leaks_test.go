package soak

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

var (
	churned      = flag.Int("churn", 100, "rounds of the leak test, a multiple of 10")
	heapProfiles = flag.String("heap-profiles", "", "folder for the heap profiles of the leak test")
)

// leakLimit returns the number of bytes that one of n rounds may leave behind, after as many rounds to warm
// up. Full caches of recent names, which take 600 rounds to fill (client-go's event correlator keeps 4,096
// entries, the scheduler 1,024 owners), leave the random source, which keeps some bytes for each generated
// name, and the watch caches' history of the last five minutes, which varies by some 2 MB: of 100 rounds, each
// left 35 to 47 kB, of 600 rounds 1 kB.
func leakLimit(n int) uint64 {
	if n >= 600 {
		return 16_000
	}
	return 60_000
}

// TestLeaks measures the live heap while namespaces with Deployments, custom kinds and their objects come
// and go: what a round allocates is free when its objects, events and history are gone.
func TestLeaks(t *testing.T) {
	cluster := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(2),
		minikcmtest.WithOptions(func(o *minikcm.Options) { o.API.RecordedWrites = 100 }))
	c := &churn{t: t, cluster: cluster, dynamic: dynamic.NewForConfigOrDie(cluster.Config()), extensions: apiextensions.NewForConfigOrDie(cluster.Config())}
	c.rounds(*churned)
	before, goroutines := c.liveHeap("before"), runtime.NumGoroutine()
	c.rounds(*churned)
	after := c.liveHeap("after")
	t.Logf("%.1f MB live after %d rounds, %.1f MB after %d", float64(before)/1e6, *churned, float64(after)/1e6, c.round)
	if n, limit := uint64(*churned), leakLimit(*churned); after > before+n*limit {
		t.Errorf("a round leaves %d bytes behind, at most %d are allowed", (after-before)/n, limit)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines run, %d did before", n, goroutines)
	}
}

type churn struct {
	t          *testing.T
	cluster    *minikcmtest.Cluster
	dynamic    dynamic.Interface
	extensions apiextensions.Interface
	round      int
}

func (c *churn) rounds(n int) {
	c.t.Helper()
	for range n / 10 {
		for range 10 {
			c.create()
		}
		c.advance(time.Minute)
		for i := range 10 {
			c.remove(c.round - i)
		}
		c.advance(time.Minute)
	}
}

func (c *churn) advance(d time.Duration) {
	c.t.Helper()
	if err := c.cluster.Advance(c.t.Context(), d); err != nil {
		c.t.Fatal(err)
	}
}

func (c *churn) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func kindOf(i int) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "leaks.example.com", Version: "v1", Resource: fmt.Sprintf("things%d", i)}
}

func (c *churn) create() {
	c.t.Helper()
	c.round++
	ctx, client, name, gvr := c.t.Context(), c.cluster.Client(), fmt.Sprintf("leak-%d", c.round), kindOf(c.round)
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	c.must(err)
	labels := map[string]string{"app": name}
	_, err = client.AppsV1().Deployments(name).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "web"}}}},
		},
	}, metav1.CreateOptions{})
	c.must(err)
	_, err = client.CoreV1().Services(name).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	c.must(err)
	kind := fmt.Sprintf("Thing%d", c.round)
	_, err = c.extensions.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, definitionOf(gvr, kind), metav1.CreateOptions{})
	c.must(err)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gvr.GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": "thing"}, "spec": map[string]any{"size": int64(3)},
	}}
	_, err = c.dynamic.Resource(gvr).Namespace(name).Create(ctx, object, metav1.CreateOptions{})
	c.must(err)
}

func definitionOf(gvr schema.GroupVersionResource, kind string) *apiextensionsv1.CustomResourceDefinition {
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"size": {Type: "integer", Minimum: ptr.To(1.0)}, "name": {Type: "string", Pattern: "^[a-z]+$"},
	}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: gvr.Resource + "." + gvr.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gvr.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: gvr.Resource, Kind: kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: gvr.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec},
				}},
			}},
		},
	}
}

func (c *churn) remove(round int) {
	c.t.Helper()
	ctx, gvr := c.t.Context(), kindOf(round)
	c.must(c.cluster.Client().CoreV1().Namespaces().Delete(ctx, fmt.Sprintf("leak-%d", round), metav1.DeleteOptions{}))
	c.must(c.extensions.ApiextensionsV1().CustomResourceDefinitions().Delete(ctx, gvr.Resource+"."+gvr.Group, metav1.DeleteOptions{}))
}

// liveHeap returns the bytes of the heap that are in use after the events and the history of the
// rounds have expired.
func (c *churn) liveHeap(name string) uint64 {
	c.t.Helper()
	c.advance(3 * time.Hour)
	namespaces, err := c.cluster.Client().CoreV1().Namespaces().List(context.WithoutCancel(c.t.Context()), metav1.ListOptions{})
	c.must(err)
	if n := len(namespaces.Items); n > 4 {
		c.t.Fatalf("%d namespaces are left", n)
	}
	runtime.GC()
	runtime.GC()
	if *heapProfiles != "" {
		f, err := os.Create(*heapProfiles + "/heap-" + name)
		c.must(err)
		c.must(pprof.WriteHeapProfile(f))
		c.must(f.Close())
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
