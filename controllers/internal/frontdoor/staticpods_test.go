package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

const etcdManifest = `
apiVersion: v1
kind: Pod
metadata: {name: etcd, namespace: kube-system}
spec:
  priorityClassName: system-node-critical
  containers: [{name: etcd, image: etcd:3.7}]
`

// staticWorld is a cluster on virtual time with a node of the control plane, cp-0, and a worker.
type staticWorld struct {
	*minikcmtest.Cluster
	t *testing.T
}

func newStaticWorld(t *testing.T, change ...func(*minikcm.Options)) staticWorld {
	t.Helper()
	return staticWorld{minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(1), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Nodes.Pools = []minikcm.Pool{{Name: "cp", Count: 1, Node: minikcm.NodeSpec{Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}}}}
		for _, f := range change {
			f(o)
		}
	})), t}
}

// write creates or updates the ConfigMap with the manifests of the control plane.
func (w staticWorld) write(data map[string]string) {
	w.t.Helper()
	configMaps := w.Client().CoreV1().ConfigMaps("kube-system")
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "manifests", Labels: map[string]string{"minikcm.dev/static-pods": ""},
		Annotations: map[string]string{"minikcm.dev/node-selector": "node-role.kubernetes.io/control-plane"},
	}, Data: data}
	_, err := configMaps.Create(w.t.Context(), c, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = configMaps.Update(w.t.Context(), c, metav1.UpdateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// running waits until the mirror pod of etcd runs with another UID than one it had before.
func (w staticWorld) running(before types.UID) *corev1.Pod {
	w.t.Helper()
	var pod *corev1.Pod
	w.Eventually("the mirror pod to run", func(ctx context.Context, client kubernetes.Interface) error {
		var err error
		pod, err = client.CoreV1().Pods("kube-system").Get(ctx, "etcd-cp-0", metav1.GetOptions{})
		if err == nil && (pod.UID == before || pod.Status.Phase != corev1.PodRunning) {
			err = fmt.Errorf("it is %s with the UID %s", pod.Status.Phase, pod.UID)
		}
		return err
	})
	return pod
}

func (w staticWorld) pass(d time.Duration) {
	w.t.Helper()
	if err := w.Advance(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
}

// TestStaticPods declares a static pod, deletes its mirror pod, changes the manifest, and removes it.
func TestStaticPods(t *testing.T) {
	t.Parallel()
	ctx, w := t.Context(), newStaticWorld(t)
	pods := w.Client().CoreV1().Pods("kube-system")
	w.write(map[string]string{"etcd.yaml": etcdManifest})
	first := w.running("")
	if owner := metav1.GetControllerOf(first); owner == nil || owner.Kind != "Node" || owner.Name != "cp-0" || first.Annotations["kubernetes.io/config.mirror"] == "" || len(first.Spec.Volumes) > 0 {
		t.Errorf("the mirror pod is %v with volumes %v", first.ObjectMeta, first.Spec.Volumes)
	}

	w.pass(time.Minute)
	if err := pods.Delete(ctx, first.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	second := w.running(first.UID)
	was, is := first.Status.ContainerStatuses[0], second.Status.ContainerStatuses[0]
	if is.ContainerID != was.ContainerID || !is.State.Running.StartedAt.Equal(&was.State.Running.StartedAt) || first.Status.PodIP != second.Status.PodIP {
		t.Errorf("the container was %v at %s, and is %v at %s", was, first.Status.PodIP, is, second.Status.PodIP)
	}
	stopped, err := w.Client().CoreV1().Events("kube-system").List(ctx, metav1.ListOptions{FieldSelector: "reason=Killing"})
	if err != nil || len(stopped.Items) > 0 {
		t.Errorf("deleting the mirror pod stopped a container: %v, %v", stopped.Items, err)
	}

	w.write(map[string]string{"etcd.yaml": strings.Replace(etcdManifest, "3.7", "3.8", 1)})
	third := w.running(second.UID)
	if got := third.Spec.Containers[0].Image; got != "etcd:3.8" || third.Status.ContainerStatuses[0].ContainerID == is.ContainerID {
		t.Errorf("the image is %s, the container %s", got, third.Status.ContainerStatuses[0].ContainerID)
	}
	if err := w.Client().CoreV1().ConfigMaps("kube-system").Delete(ctx, "manifests", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the pod to go with its manifest", func(ctx context.Context, _ kubernetes.Interface) error {
		_, err := pods.Get(ctx, third.Name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		return nil
	})
}

// TestStaticPodsOfABadManifest writes a manifest that cannot be read, and one that the API server
// refuses, beside a good one.
func TestStaticPodsOfABadManifest(t *testing.T) {
	t.Parallel()
	w := newStaticWorld(t, func(o *minikcm.Options) { o.Security.Denied = func(string, error) {} })
	w.write(map[string]string{
		"a.yaml":    "kind: Pod",
		"b.yaml":    strings.NewReplacer("name: etcd,", "name: account,", "spec:\n", "spec:\n  serviceAccountName: default\n").Replace(etcdManifest),
		"etcd.yaml": etcdManifest,
	})
	w.running("")
	w.EventuallyEvent("kube-system", "ConfigMap", `Warning InvalidSimulation static pods: key a.yaml: a manifest has apiVersion "" and kind "Pod", where static pods have v1 and Pod`)
	w.EventuallyEvent("default", "Node", `Warning InvalidSimulation static pods: creating mirror pod kube-system/account-cp-0: pods "account-cp-0" is forbidden: a mirror pod may not reference service accounts`)
}

// TestStaticPodOfALostNode deletes the Node of a static pod, and creates it again.
func TestStaticPodOfALostNode(t *testing.T) {
	t.Parallel()
	ctx, w := t.Context(), newStaticWorld(t)
	w.write(map[string]string{"etcd.yaml": etcdManifest})
	first := w.running("")
	nodes := w.Client().CoreV1().Nodes()
	if err := nodes.Delete(ctx, "cp-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.pass(5 * time.Minute)
	if _, err := w.Client().CoreV1().Pods("kube-system").Get(ctx, first.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("the mirror pod of a Node that is gone: %v", err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp-0", Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}, Annotations: map[string]string{"minikcm.dev/node": "simulated"}}}
	if _, err := nodes.Create(ctx, node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.running(first.UID)
}
