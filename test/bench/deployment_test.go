//go:build unix

package bench

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

const (
	replicas         = 2000
	nodes            = 10
	deploymentWrites = "writes a second meanwhile"
)

// BenchmarkDeployment measures the time from the creation of a Deployment with 2,000 replicas
// on 10 nodes until all are Available.
func BenchmarkDeployment(b *testing.B) {
	for b.Loop() {
		deploy(b)
	}
}

func deploy(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	cluster, err := minikcm.Start(ctx, minikcm.Options{Nodes: minikcm.NodeOptions{Count: nodes}, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			b.Fatal(err)
		}
	}()
	deployments := cluster.Client().AppsV1().Deployments(metav1.NamespaceDefault)
	before := len(cluster.Writes().Writes(nil))
	elapsed := clock.Stopwatch()
	created, err := deployments.Create(ctx, web(), metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	watcher, err := deployments.Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: created.Name, ResourceVersion: created.ResourceVersion}))
	if err != nil {
		b.Fatal(err)
	}
	defer watcher.Stop()
	waitAvailable(ctx, b, watcher)
	took := elapsed()
	writes := len(cluster.Writes().Writes(nil)) - before
	measured.add("Deployment of 2,000 to all Available on 10 nodes", "s", took.Seconds())
	measured.add("pods a second", "pods/s", replicas/took.Seconds())
	measured.add(deploymentWrites, "writes/s", float64(writes)/took.Seconds())
	measured.add("writes a pod", "writes", float64(writes)/replicas)
}

func waitAvailable(ctx context.Context, b *testing.B, watcher watch.Interface) {
	for {
		select {
		case ev, ok := <-watcher.ResultChan():
			if !ok {
				b.Fatal("the watch ended")
			}
			if d, ok := ev.Object.(*appsv1.Deployment); ok && d.Status.AvailableReplicas == replicas {
				return
			}
		case <-ctx.Done():
			b.Fatal(ctx.Err())
		}
	}
}

func web() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx"}}},
			},
		},
	}
}
