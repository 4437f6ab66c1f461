package dump_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/minikcmtest"
)

// apply creates the objects of a file in testdata.
func apply(t *testing.T, c *minikcmtest.Cluster, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dump.Decode(data, dump.MaxObjects)
	if err != nil {
		t.Fatal(err)
	}
	summary, err := dump.New(file, objects).Load(t.Context(), c.Config(), dump.Options{RootsOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(summary.Refused) > 0 {
		t.Fatalf("%s: %v", file, summary.Refused)
	}
}

func manageAll(o *minikcm.Options) { o.Nodes.Manage = minikcm.ManageAll }

// source returns a cluster with a dozen workloads, rolled out and then updated.
func source(t *testing.T) *minikcmtest.Cluster {
	t.Helper()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Nodes.Count = -1
		o.Nodes.Pools = []minikcm.Pool{{Name: "small", Count: 3, Node: minikcm.NodeSpec{
			Capacity: capacity("cpu", "8", "memory", "32Gi"), Labels: map[string]string{"zone": "a"},
		}}}
	}))
	apply(t, c, "testdata/workloads.yaml")
	advance(t, c, 90*time.Second)
	set(t, c, "apps/v1", "deployments", "shop", "web", `{"spec":{"template":{"metadata":{"labels":{"version":"2"}}}}}`)
	set(t, c, "apps/v1", "statefulsets", "shop", "db", `{"spec":{"template":{"metadata":{"labels":{"version":"2"}}}}}`)
	set(t, c, "apps/v1", "daemonsets", "kube-system", "agent", `{"spec":{"template":{"metadata":{"labels":{"version":"2"}}}}}`)
	set(t, c, "v1", "nodes", "", "small-2", `{"spec":{"unschedulable":true}}`)
	advance(t, c, 90*time.Second)
	set(t, c, "v1", "configmaps", "shop", "held", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	if err := c.Client().CoreV1().ConfigMaps("shop").Delete(t.Context(), "held", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	return c
}

func advance(t *testing.T, c *minikcmtest.Cluster, d time.Duration) {
	t.Helper()
	if err := c.Advance(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// kinds are the kinds that are compared before and after.
var kinds = []struct{ apiVersion, resource string }{
	{"v1", "nodes"},
	{"v1", "pods"},
	{"v1", "services"},
	{"v1", "persistentvolumeclaims"},
	{"v1", "configmaps"},
	{"v1", "secrets"},
	{"v1", "serviceaccounts"},
	{"apps/v1", "deployments"},
	{"apps/v1", "replicasets"},
	{"apps/v1", "statefulsets"},
	{"apps/v1", "daemonsets"},
	{"apps/v1", "controllerrevisions"},
	{"batch/v1", "jobs"},
	{"batch/v1", "cronjobs"},
	{"autoscaling/v2", "horizontalpodautoscalers"},
	{"policy/v1", "poddisruptionbudgets"},
	{"discovery.k8s.io/v1", "endpointslices"},
	{"rbac.authorization.k8s.io/v1", "roles"},
	{"shop.example.com/v1", "orders"},
}

// Loading the dump of a cluster results in the same cluster: pods keep their nodes and names
// and are adopted by their owners, and nothing is rolled out, recreated or deleted.
func TestRoundTrip(t *testing.T) {
	from := source(t)
	d, err := dump.FromCluster(t.Context(), from.Config())
	if err != nil {
		t.Fatal(err)
	}
	to := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Nodes.Manage, o.Storage.Objects, o.Clock.Start = minikcm.ManageAll, d, from.Clock().Now().Add(72*time.Hour+time.Second)
	}))
	if loaded := to.Loaded(); len(loaded.Refused) > 0 || len(loaded.Made) > 0 {
		t.Errorf("refused %v, made %v", loaded.Refused, loaded.Made)
	}
	before := state(t, from)
	for _, d := range []time.Duration{0, 20 * time.Second} {
		advance(t, to, d)
		after := state(t, to)
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if after[name] != before[name] {
				t.Errorf("after %v: %s\n is %s\nwas %s", d, name, after[name], before[name])
			}
			delete(after, name)
		}
		for name := range after {
			t.Errorf("after %v: %s was not there before", d, name)
		}
	}
	for _, w := range to.Writes().Writes(func(*minikcm.Write) bool { return true }) {
		if w.Kind == "Pod" && w.Effect != minikcm.Changed && w.UserAgent != "minikcm-load" {
			t.Errorf("%s of pod %s by %s", w.Effect, w.Name, w.Actor)
		}
	}
}

// state describes the compared objects by kind, namespace and name.
func state(t *testing.T, c *minikcmtest.Cluster) map[string]string {
	t.Helper()
	client := dynamicOf(t, c.Config())
	all := map[string]string{}
	for _, k := range kinds {
		list, err := client.Resource(resource(k.apiVersion, k.resource)).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if strings.HasPrefix(o.GetName(), "kubernetes") || o.GetName() == "extension-apiserver-authentication" {
				continue // it contains the API server's address
			}
			all[k.resource+" "+o.GetNamespace()+"/"+o.GetName()] = describe(o)
		}
	}
	return all
}

// describe describes what must not change: the spec, the owner, and the parts of the status
// that do not depend on times or UIDs.
func describe(o *unstructured.Unstructured) string {
	owner := "nothing"
	if ref := metav1.GetControllerOf(o); ref != nil {
		owner = ref.Kind + "/" + ref.Name
	}
	text := fmt.Sprintf("owned by %s, deleted: %v, labels %v", owner, o.GetDeletionTimestamp() != nil, withoutUIDs(o.GetLabels()))
	for _, path := range [][]string{
		{"spec", "replicas"},
		{"spec", "nodeName"},
		{"spec", "clusterIP"},
		{"spec", "ports"},
		{"spec", "taints"},
		{"spec", "unschedulable"},
		{"spec", "podCIDR"},
		{"spec", "volumeName"},
		{"status", "phase"},
		{"status", "podIP"},
		{"status", "replicas"},
		{"status", "readyReplicas"},
		{"status", "updatedReplicas"},
		{"status", "currentRevision"},
		{"status", "updateRevision"},
		{"status", "numberReady"},
		{"status", "updatedNumberScheduled"},
		{"status", "succeeded"},
		{"status", "failed"},
		{"status", "active"},
		{"status", "currentReplicas"},
		{"status", "desiredHealthy"},
		{"status", "disruptionsAllowed"},
		{"status", "allocatable"},
		{"status", "capacity"},
		{"status", "addresses"},
		{"revision"},
	} {
		value, found, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
		if list, isList := value.([]any); isList && path[1] == "active" {
			value = len(list)
		}
		if found {
			text += fmt.Sprintf(", %s %v", strings.Join(path, "."), value)
		}
	}
	if o.GetKind() == "Pod" {
		statuses, _, _ := unstructured.NestedSlice(o.Object, "status", "containerStatuses")
		for _, s := range statuses {
			fields := s.(map[string]any)
			text += fmt.Sprintf(", %v ready %v, restarts %v", fields["name"], fields["ready"], fields["restartCount"])
		}
	}
	return text
}

func withoutUIDs(labels map[string]string) map[string]string {
	labels = maps.Clone(labels)
	delete(labels, "controller-uid")
	delete(labels, "batch.kubernetes.io/controller-uid")
	return labels
}

// With RootsOnly, a dump is loaded into a cluster with running controllers, and nothing exists
// twice.
func TestRootsOnly(t *testing.T) {
	from := source(t)
	d, err := dump.FromCluster(t.Context(), from.Config())
	if err != nil {
		t.Fatal(err)
	}
	to := minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithOptions(manageAll))
	summary, err := d.Load(t.Context(), to.Config(), dump.Options{RootsOnly: true, Now: to.Clock().Now()})
	if err != nil {
		t.Fatal(err)
	}
	if len(summary.Refused) > 0 {
		t.Errorf("refused: %v", summary.Refused)
	}
	to.Eventually("the Deployment to be rolled out", func(ctx context.Context, client kubernetes.Interface) error {
		deployment, err := client.AppsV1().Deployments("shop").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && deployment.Status.ReadyReplicas != 5 {
			err = fmt.Errorf("%d are ready", deployment.Status.ReadyReplicas)
		}
		return err
	})
	pods, err := to.Client().CoreV1().Pods("shop").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil || len(pods.Items) != 5 {
		t.Errorf("%d pods: %v", len(pods.Items), err)
	}
}

// A dump of pods and workloads only, as of "kubectl get all", is completed with stand-ins.
func TestStandIns(t *testing.T) {
	objects, err := dump.Decode([]byte(`
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop, uid: u1, ownerReferences: [{apiVersion: shop.example.com/v1, kind: Order, name: gone, uid: u0, controller: true}]}
spec:
  serviceAccountName: robot
  priorityClassName: high
  priority: 1000
  nodeName: lost
  containers: [{name: c, image: nginx, envFrom: [{secretRef: {name: login}}]}]
status: {phase: Running}
`), dump.MaxObjects)
	if err != nil {
		t.Fatal(err)
	}
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) { o.Storage.Objects = dump.New("test", objects) }))
	c.Eventually("the pod to run", func(ctx context.Context, client kubernetes.Interface) error {
		pod, err := client.CoreV1().Pods("shop").Get(ctx, "a", metav1.GetOptions{})
		if err == nil && (pod.Status.Phase != corev1.PodRunning || pod.Spec.NodeName != "node-0" || len(pod.OwnerReferences) > 0) {
			err = fmt.Errorf("it is %s on %q, owned by %v", pod.Status.Phase, pod.Spec.NodeName, pod.OwnerReferences)
		}
		return err
	})
	var out strings.Builder
	if err := c.Loaded().Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 namespace, 1 priorityclass, 1 secret, 1 serviceaccount", "owner references are removed", "scheduled to other nodes"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the summary has no %q:\n%s", want, out.String())
		}
	}
}

// A Service keeps its addresses and node ports if they are free, and gets others otherwise.
func TestServices(t *testing.T) {
	objects, err := dump.Decode([]byte(`
{apiVersion: v1, kind: List, items: [
  {apiVersion: v1, kind: Service, metadata: {name: kept, namespace: default}, spec: {type: NodePort, clusterIP: 10.96.7.7, clusterIPs: [10.96.7.7], ports: [{port: 80, nodePort: 31000}]}},
  {apiVersion: v1, kind: Service, metadata: {name: moved, namespace: default}, spec: {type: NodePort, clusterIP: 172.20.0.9, clusterIPs: [172.20.0.9], ports: [{name: a, port: 80, nodePort: 40000}, {name: b, port: 81, nodePort: 31001}]}},
  {apiVersion: v1, kind: Service, metadata: {name: six, namespace: default}, spec: {clusterIP: "fd00::1", clusterIPs: ["fd00::1"], ipFamilies: [IPv6], ipFamilyPolicy: SingleStack, ports: [{port: 80}]}},
  {apiVersion: v1, kind: Service, metadata: {name: headless, namespace: default}, spec: {clusterIP: None, clusterIPs: [None], ports: [{port: 80}]}}]}
`), dump.MaxObjects)
	if err != nil {
		t.Fatal(err)
	}
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) { o.Storage.Objects = dump.New("test", objects) }))
	if refused := c.Loaded().Refused; len(refused) > 0 {
		t.Fatalf("refused: %v", refused)
	}
	get := func(name string) corev1.ServiceSpec {
		service, err := c.Client().CoreV1().Services("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return service.Spec
	}
	if kept := get("kept"); kept.ClusterIP != "10.96.7.7" || kept.Ports[0].NodePort != 31000 {
		t.Errorf("kept: %+v", kept)
	}
	if moved := get("moved"); !strings.HasPrefix(moved.ClusterIP, "10.96.") || moved.Ports[0].NodePort > 32767 || moved.Ports[1].NodePort != 31001 {
		t.Errorf("moved: %+v", moved)
	}
	if six := get("six"); !strings.HasPrefix(six.ClusterIP, "10.96.") {
		t.Errorf("six: %+v", six)
	}
	if get("headless").ClusterIP != corev1.ClusterIPNone {
		t.Error("the headless Service got an address")
	}
}

// FromCluster only sends GET requests, so it cannot change the cluster.
func TestFromClusterOnlyReads(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	apply(t, c, "testdata/workloads.yaml")
	var mu sync.Mutex
	methods := map[string]int{}
	config := c.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			methods[r.Method]++
			return next.RoundTrip(r)
		})
	})
	d, err := dump.FromCluster(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() == 0 || len(d.Skipped) > 0 {
		t.Errorf("%d objects, skipped %v", d.Len(), d.Skipped)
	}
	if len(methods) != 1 || methods[http.MethodGet] == 0 {
		t.Errorf("it sent %v", methods)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// set changes an object by a merge patch.
func set(t *testing.T, c *minikcmtest.Cluster, apiVersion, plural, namespace, name, patch string) {
	t.Helper()
	client := dynamicOf(t, c.Config()).Resource(resource(apiVersion, plural)).Namespace(namespace)
	if _, err := client.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func resource(apiVersion, plural string) schema.GroupVersionResource {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		panic(err) // the patch is a literal of this test
	}
	return gv.WithResource(plural)
}

// capacity returns a resource list from alternating names and quantities.
func capacity(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = quantity.MustParse(pairs[i+1])
	}
	return list
}

func dynamicOf(t *testing.T, config *rest.Config) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
