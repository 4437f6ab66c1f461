//go:build unix

package bench

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock"
)

var large = flag.Bool("large", false, "measure 100,000 pods on 1,000 nodes, too; it takes minutes and gigabytes")

// rollout is a number of Deployments of equal size.
type rollout struct {
	deployments, replicas, nodes int
}

// BenchmarkScale measures what a user of the binary gets: the time from the creation of the
// Deployments over HTTPS until all their pods are available, the processor time of the process
// from its start to its end, and its largest resident memory.
func BenchmarkScale(b *testing.B) {
	for _, r := range []rollout{{1, 2000, 10}, {1, 10_000, 200}, {10, 10_000, 1000}} {
		pods := r.deployments * r.replicas
		b.Run(fmt.Sprintf("pods=%d/nodes=%d", pods, r.nodes), func(b *testing.B) {
			if pods > 10_000 && !*large {
				b.Skip("not measured without -args -large")
			}
			for b.Loop() {
				r.measure(b)
			}
		})
	}
}

func (r rollout) measure(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	u := startUp(b, "--nodes", fmt.Sprint(r.nodes))
	config, err := clientcmd.BuildConfigFromFlags("", u.kubeconfig)
	if err != nil {
		b.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	elapsed := clock.Stopwatch()
	r.roll(ctx, b, client)
	took := elapsed()
	ready := readyNodes(ctx, b, client)
	u.stop(b)
	name := fmt.Sprintf("%d pods on %d nodes", r.deployments*r.replicas, r.nodes)
	measured.add(name+", until available", "s", took.Seconds())
	measured.add(name+", processor time", "s", (u.cmd.ProcessState.UserTime() + u.cmd.ProcessState.SystemTime()).Seconds())
	if usage, ok := u.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		measured.add(name+", resident memory", "MB", float64(usage.Maxrss)/1000)
	}
	measured.add(name+", nodes Ready at the end", "nodes", float64(ready))
}

// roll creates the Deployments and waits until their pods are available.
func (r rollout) roll(ctx context.Context, b *testing.B, client kubernetes.Interface) {
	b.Helper()
	deployments := client.AppsV1().Deployments(metav1.NamespaceDefault)
	watcher, err := deployments.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer watcher.Stop()
	for i := range r.deployments {
		d := web()
		d.Name, d.Spec.Replicas = fmt.Sprintf("web-%d", i), ptr.To(int32(r.replicas))
		if _, err := deployments.Create(ctx, d, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	available := map[string]bool{}
	for len(available) < r.deployments {
		ev, ok := <-watcher.ResultChan()
		if !ok {
			b.Fatalf("waiting for the Deployments: the watch ended (%v)", ctx.Err())
		}
		if d, ok := ev.Object.(*appsv1.Deployment); ok && d.Status.AvailableReplicas == *d.Spec.Replicas {
			available[d.Name] = true
		}
	}
}

func readyNodes(ctx context.Context, b *testing.B, client kubernetes.Interface) (ready int) {
	b.Helper()
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		b.Fatal(err)
	}
	for i := range nodes.Items {
		if isReady(&nodes.Items[i]) {
			ready++
		}
	}
	return ready
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
