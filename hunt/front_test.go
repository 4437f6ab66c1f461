package hunt

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"

	"minikcm.dev/minikcm/minikcmtest"
)

// A program runs commands in containers, for which its connection is upgraded.
func TestFrontUpgrades(t *testing.T) {
	t.Parallel()
	cluster := minikcmtest.New(t, minikcmtest.WithHTTPS())
	pods := cluster.Client().CoreV1().Pods("default")
	if _, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox", Command: []string{"sleep", "1d"}}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually("the pod runs", func(ctx context.Context, _ kubernetes.Interface) error {
		pod, err := pods.Get(ctx, "a", metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return err
	})
	certificate, err := newCertificate()
	if err != nil {
		t.Fatal(err)
	}
	course := newCourse(cluster.Cluster, DefaultUser, nil)
	f, err := newFront(cluster.Cluster, course.begins(), DefaultUser, certificate)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	config, err := clientcmd.RESTConfigFromKubeConfig(f.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	url := client.CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Name("a").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: "main", Command: []string{"echo", "hello"}, Stdout: true}, scheme.ParameterCodec).URL()
	executor, err := remotecommand.NewSPDYExecutor(config, "POST", url)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out}); err != nil || out.String() != "hello\n" {
		t.Errorf("the command printed %q: %v", out.String(), err)
	}
	if calls := course.list(); len(calls) > 0 {
		t.Errorf("the command is a write: %v", calls)
	}
}
