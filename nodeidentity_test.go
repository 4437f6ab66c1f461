package minikcm

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver"
)

// TestKubeletsActAsTheirNodes runs a pod with a Secret and a token on a node whose labels its
// kubelet must not set, in each set of modes, and sees that no request is denied.
func TestKubeletsActAsTheirNodes(t *testing.T) {
	t.Parallel()
	for name, modes := range map[string][]string{"default": nil, "RBAC alone": {apiserver.AuthorizeRBAC}, "Node alone": {apiserver.AuthorizeNode, apiserver.AuthorizeAlways}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			role := map[string]string{"node-role.kubernetes.io/worker": ""}
			cluster, err := Start(ctx, Options{
				API:      APIOptions{NoHTTPS: true},
				Nodes:    NodeOptions{Count: -1, Pools: []Pool{{Name: "worker", Count: 2, Node: NodeSpec{Labels: role}}}},
				Security: SecurityOptions{AuthorizationModes: modes, Denied: func(user string, err error) { t.Errorf("%s was denied a request: %v", user, err) }},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			client := cluster.Client().CoreV1()
			node, err := client.Nodes().Get(ctx, "worker-1", metav1.GetOptions{})
			if err != nil || node.Labels["node-role.kubernetes.io/worker"] != "" {
				t.Fatalf("%v, %v", node, err)
			}
			if _, labelled := node.Labels["node-role.kubernetes.io/worker"]; !labelled {
				t.Errorf("labels: %v", node.Labels)
			}
			if _, err := client.Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"a": []byte("b")}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "c", Image: "nginx", EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}}},
			}}}}
			if _, err := client.Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := cluster.Until(ctx, func(ctx context.Context) (bool, error) {
				pod, err := client.Pods("default").Get(ctx, "p", metav1.GetOptions{})
				return err == nil && pod.Status.Phase == corev1.PodRunning, err
			}, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
}
