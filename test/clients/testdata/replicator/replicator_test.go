package replicator

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"minikcm.dev/minikcm/client"
)

// fixture is a cluster whose operator runs.
type fixture struct {
	*testing.T
	ctx  context.Context
	kube kubernetes.Interface
}

func TestReplicator(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ctrl.SetLogger(zap.New(zap.UseDevMode(true)))
	mk := client.Start(t, client.Nodes(2), client.Seed(1))
	config, err := clientcmd.BuildConfigFromFlags("", mk.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, LeaderElection: true, LeaderElectionID: "replicator", LeaderElectionNamespace: "default",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&reconciler{mgr.GetClient()}).setup(mgr); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	f := &fixture{t, ctx, kubernetes.NewForConfigOrDie(config)}
	configs := f.kube.CoreV1().ConfigMaps("default")
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{label: ""}}, Data: map[string]string{"replicas": "2"}}
	if _, err := configs.Create(ctx, made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.until("web", func(c *corev1.ConfigMap) bool { return c.Data["available"] == "2" })
	if _, err := configs.Patch(ctx, "web", "application/merge-patch+json", []byte(`{"data":{"replicas":"3"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	f.until("web", func(c *corev1.ConfigMap) bool { return c.Data["available"] == "3" })
	if err := configs.Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.until("goodbye-web", func(*corev1.ConfigMap) bool { return true })
	mk.Settle() // the garbage collector deletes the Deployment and its pods
	deployments, err := f.kube.AppsV1().Deployments("default").List(ctx, metav1.ListOptions{})
	if err != nil || len(deployments.Items) > 0 {
		t.Errorf("%d Deployments are left: %v", len(deployments.Items), err)
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// until waits for a state of a ConfigMap.
func (f *fixture) until(name string, reached func(*corev1.ConfigMap) bool) {
	f.Helper()
	for f.ctx.Err() == nil {
		w, err := f.kube.CoreV1().ConfigMaps("default").Watch(f.ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
		if err != nil {
			f.Fatal(err)
		}
		for event := range w.ResultChan() {
			if c, ok := event.Object.(*corev1.ConfigMap); ok && event.Type != watch.Deleted && reached(c) {
				w.Stop()
				return
			}
		}
	}
	f.Fatalf("waiting for configmap/%s: %v", name, f.ctx.Err())
}
