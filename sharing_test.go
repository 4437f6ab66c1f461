package minikcm_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/faulty"
	"minikcm.dev/minikcm/internal/members"
	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// sharers starts processes on one etcd, each with 4 nodes of its own name.
func sharers(t *testing.T, n int, change ...func(o *minikcm.Options)) []*minikcm.Cluster {
	t.Helper()
	etcd := store.EtcdOptions{Endpoints: []string{storetest.StartEtcd(t, storetest.EtcdOptions{})}}
	var all []*minikcm.Cluster
	for i := range n {
		opts := minikcm.Options{
			Sharing: minikcm.SharingOptions{Etcd: etcd},
			API:     minikcm.APIOptions{NoHTTPS: true},
			Faults:  minikcm.FaultOptions{Store: true},
			Nodes:   minikcm.NodeOptions{Manage: minikcm.ManageAll, Count: -1, Pools: []minikcm.Pool{{Name: fmt.Sprintf("pool-%d", i), Count: 4}}},
		}
		for _, f := range change {
			f(&opts)
		}
		all = append(all, start(t, opts))
	}
	return all
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
			},
		},
	}
}

// untilAvailable waits until a Deployment has its replicas available.
func untilAvailable(ctx context.Context, t *testing.T, client kubernetes.Interface, name string, replicas int32) {
	t.Helper()
	watching(ctx, t, client, name, func(d *appsv1.Deployment) bool {
		return d.Status.ObservedGeneration >= d.Generation && d.Status.AvailableReplicas == replicas && d.Status.Replicas == replicas
	})
}

func watching(ctx context.Context, t *testing.T, client kubernetes.Interface, name string, done func(*appsv1.Deployment) bool) {
	t.Helper()
	w, err := client.AppsV1().Deployments("default").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var last *appsv1.Deployment
	for event := range w.ResultChan() {
		if d, ok := event.Object.(*appsv1.Deployment); ok {
			if last = d; done(d) {
				return
			}
		}
	}
	t.Fatalf("the watch of deployment %s ended: %v; last status %+v", name, ctx.Err(), last)
}

// starts are the facts of pods that a hand-over must not change: address, and when and how often
// each container started.
func starts(ctx context.Context, t *testing.T, client kubernetes.Interface) map[string]string {
	t.Helper()
	pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	facts, owner := map[string]string{}, map[string]string{}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Status.PodIP != "" {
			if other := owner[p.Status.PodIP]; other != "" {
				t.Errorf("pods %s and %s have the address %s", other, p.Name, p.Status.PodIP)
			}
			owner[p.Status.PodIP] = p.Name
		}
		for _, c := range p.Status.ContainerStatuses {
			if c.State.Running != nil {
				facts[p.Name] = fmt.Sprintf("%s %s %s restarts %d", p.Status.PodIP, c.ContainerID, c.State.Running.StartedAt, c.RestartCount)
			}
		}
	}
	return facts
}

func unchanged(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name, fact := range before {
		if now, ok := after[name]; !ok || now != fact {
			t.Errorf("pod %s was %s and is %s", name, fact, now)
		}
	}
}

// untilRoles waits until the clusters together run every role once, and each of them simulates
// nodes: one that has just started does not have its share yet.
func untilRoles(ctx context.Context, t *testing.T, clusters ...*minikcm.Cluster) {
	t.Helper()
	for {
		var all []string
		divided := true
		for _, c := range clusters {
			roles := c.Roles()
			all = append(all, roles...)
			divided = divided && slices.ContainsFunc(roles, func(role string) bool { return strings.HasPrefix(role, "nodes-") })
		}
		slices.Sort(all)
		want := members.AllRoles()
		slices.Sort(want)
		if divided && slices.Equal(all, want) {
			return
		}
		// Each look waits for another renewal of a Lease. A test that cuts a process off takes the
		// first: its watch cache may go on to answer with the error for a moment.
		w, err := clusters[len(clusters)-1].Client().CoordinationV1().Leases(members.Namespace).Watch(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, ok := <-w.ResultChan(); !ok {
				t.Fatalf("waiting for all roles to run once: %v; they run: %v", ctx.Err(), all)
			}
		}
		w.Stop()
	}
}

func TestProcessesShareAnEtcd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	all := sharers(t, 2)
	untilRoles(ctx, t, all...)
	for i, c := range all {
		if roles := strings.Join(c.Roles(), " "); !strings.Contains(roles, "nodes-") {
			t.Errorf("process %d runs only %s", i, roles)
		}
	}
	for i, c := range all {
		name := fmt.Sprintf("web-%d", i)
		if _, err := c.Client().AppsV1().Deployments("default").Create(ctx, deployment(name, 100), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range all {
		untilAvailable(ctx, t, all[0].Client(), fmt.Sprintf("web-%d", i), 100)
	}
	before := starts(ctx, t, all[0].Client())
	if len(before) != 200 {
		t.Errorf("%d pods run, want 200", len(before))
	}
	ranges := map[string]string{}
	nodes, err := all[0].Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.Items {
		if other := ranges[n.Spec.PodCIDR]; other != "" || n.Spec.PodCIDR == "" {
			t.Errorf("nodes %s and %s have the pod range %q", n.Name, other, n.Spec.PodCIDR)
		}
		ranges[n.Spec.PodCIDR] = n.Name
	}

	// The first process has all single roles, because it was alone at first.
	if err := all[0].Close(); err != nil {
		t.Fatal(err)
	}
	client := all[1].Client()
	if _, err := client.AppsV1().Deployments("default").Create(ctx, deployment("late", 20), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	untilAvailable(ctx, t, client, "late", 20)
	untilRoles(ctx, t, all[1])
	unchanged(t, before, starts(ctx, t, client))
}

// TestProcessesServeMetrics starts processes that all write the same Metric of kwok's, and whose kubelets
// serve it.
func TestProcessesServeMetrics(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	manifests, err := minikcm.ParseStages([]byte(`
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Metric
metadata: {name: one}
spec: {path: "/metrics/nodes/{nodeName}/one", metrics: [{name: one, kind: gauge, value: "1"}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	all := sharers(t, 2, func(o *minikcm.Options) { o.Nodes.Stages.Manifests, o.API.NoHTTPS = manifests, false })
	untilRoles(ctx, t, all...)
	for i, c := range all {
		for j := range all {
			// A kubelet serves it as soon as its process has read it.
			path := fmt.Sprintf("/api/v1/nodes/pool-%d-0/proxy/metrics/nodes/pool-%d-0/one", j, j)
			for {
				got, err := c.Client().CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json, */*").DoRaw(ctx)
				if err == nil && strings.Contains(string(got), "\none 1\n") {
					break
				}
				if ctx.Err() != nil {
					t.Fatalf("process %d, %s: %s, %v", i, path, got, err)
				}
			}
		}
	}
}

// TestPartitionedProcess cuts the process with the controllers off from etcd. The other takes
// over; when the first one comes back, it has lost its roles and disturbs nothing.
func TestPartitionedProcess(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	all := sharers(t, 2)
	untilRoles(ctx, t, all...)
	client := all[1].Client()
	if _, err := client.AppsV1().Deployments("default").Create(ctx, deployment("web", 100), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	untilAvailable(ctx, t, client, "web", 100)
	before := starts(ctx, t, client)

	heal := all[0].StoreFaults().Inject(faulty.Unavailable())
	if _, err := client.AppsV1().Deployments("default").Create(ctx, deployment("late", 50), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	untilAvailable(ctx, t, client, "late", 50)
	untilRoles(ctx, t, all[1])
	heal()
	untilRoles(ctx, t, all...)
	if _, err := client.AppsV1().Deployments("default").Create(ctx, deployment("later", 50), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	untilAvailable(ctx, t, client, "later", 50)
	unchanged(t, before, starts(ctx, t, client))
}
