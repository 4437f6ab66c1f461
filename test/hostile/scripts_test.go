package hostile

import (
	"context"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
)

// scripts are commands that a user runs in a container to exhaust the machine.
var scripts = []string{
	`eval "echo \$(($(yes "(" | head -n 400000 | tr -d "\n")"`,
	`a=xxxx; while true; do a=$a$a; done`,
	`a=$(yes)`,
	`yes | sort`,
	`echo {1..1000000000}`,
	`printf '%1000000000d' 1`,
	`seq 1 100000000000 | tail -1`,
	`cat /dev/zero | tr x y | tail`,
	`f() { f; }; f`,
	`while :; do :; done`,
	`while :; do echo x >> /tmp/f; done`,
	`for i in $(seq 1 1000); do sleep 1000 & done; wait`,
}

// hostileScripts runs the scripts in a container, each by two clients at a time.
func hostileScripts(t *testing.T, config *rest.Config) func(context.Context) {
	client := mustClient(t, config)
	startShell(t.Context(), t, client, "default")
	return func(ctx context.Context) {
		parallel(2*len(scripts), func(i int) {
			request := client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("shell").SubResource("exec").
				VersionedParams(&corev1.PodExecOptions{Command: []string{"sh", "-c", scripts[i%len(scripts)]}, Stdout: true, Stderr: true}, scheme.ParameterCodec)
			for ctx.Err() == nil {
				executor, err := remotecommand.NewWebSocketExecutor(config, "GET", request.URL().String())
				if err != nil {
					t.Error(err)
					return
				}
				if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard, Stderr: io.Discard}); err == nil && ctx.Err() == nil && i == 0 {
					t.Errorf("the script %q succeeded", scripts[i])
				}
			}
		})
	}
}

// startShell runs the pod "shell", in which scripts can be executed.
func startShell(ctx context.Context, t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	pods := client.CoreV1().Pods(namespace)
	if _, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "shell"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "busybox", Command: []string{"sleep", "infinity"}}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	watch, err := pods.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "shell").String()})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning {
			return
		}
	}
}

// awaitServiceAccount waits until pods can be created in a new namespace.
func awaitServiceAccount(ctx context.Context, t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	watch, err := client.CoreV1().ServiceAccounts(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "default").String()})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if _, ok := <-watch.ResultChan(); !ok {
		t.Fatalf("the namespace %s has no service account: %v", namespace, ctx.Err())
	}
}
