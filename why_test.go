package minikcm_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/reasons"
)

// startVirtual starts a cluster on virtual time, in memory.
func startVirtual(t *testing.T) *minikcm.Cluster {
	t.Helper()
	c, err := minikcm.Start(t.Context(), minikcm.Options{API: minikcm.APIOptions{NoHTTPS: true}, Seed: 1, Nodes: minikcm.NodeOptions{Count: 1}, Clock: minikcm.ClockOptions{Mode: clock.ModeVirtual}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// why asks over the API.
func why(t *testing.T, c *minikcm.Cluster, resource, namespace, name string) (*minikcm.Explanation, error) {
	t.Helper()
	answer := c.Client().Discovery().RESTClient().Get().AbsPath("/minikcm/v1/why").SetHeader("Accept", "application/json").
		Param("resource", resource).Param("namespace", namespace).Param("name", name).Do(t.Context())
	if err := answer.Error(); err != nil { // which reads the Status
		return nil, err
	}
	data, err := answer.Raw()
	if err != nil {
		return nil, err
	}
	var e minikcm.Explanation
	return &e, json.Unmarshal(data, &e)
}

// A running cluster explains its objects to every client.
func TestWhyIsServed(t *testing.T) {
	t.Parallel()
	c := startVirtual(t)
	if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Ledger().WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	e, err := why(t, c, "serviceaccounts", "shop", "default")
	if err != nil {
		t.Fatal(err)
	}
	if e.Creation == nil || e.Creation.Writer() != "serviceaccount-controller" || len(e.Creation.Because) != 1 || e.Creation.Because[0].Name != "shop" {
		t.Errorf("the account was made because the namespace was, but the cluster says: %v", e)
	}
	if _, err := why(t, c, "pods", "shop", ""); !apierrors.IsBadRequest(err) {
		t.Errorf("without a name: %v", err)
	}
	if result := c.Client().Discovery().RESTClient().Post().AbsPath("/minikcm/v1/why").Do(t.Context()); result.Error() == nil {
		t.Errorf("a POST is answered with %d", http.StatusOK)
	}
}

// A missing object gets suggestions. An object without a write in the record, such as the
// server's own, is explained as far as possible.
func TestWhyOfUnwritten(t *testing.T) {
	t.Parallel()
	c := startVirtual(t)
	if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Ledger().WaitIdle(t.Context()); err != nil { // until it has its service account
		t.Fatal(err)
	}
	for name, namespace := range map[string]string{"web-a": "shop", "web-b": "shop", "db": "default"} {
		if _, err := c.Client().CoreV1().Pods(namespace).Create(t.Context(), podNamed(name, "1m"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ resource, namespace, name, want string }{
		{"pods", "shop", "web", "pods/web in namespace shop does not exist, and no write of it is recorded since revision N; did you mean pods/web-a or pods/web-b?"},
		{"pods", "shop", "db", "pods/db in namespace shop does not exist, and no write of it is recorded since revision N; namespace default has one: -n default"},
		{"pods", "shop", "gardener", "pods/gardener in namespace shop does not exist, and no write of it is recorded since revision N"},
		{"services", "default", "kubernete", "services/kubernete in namespace default does not exist, and no write of it is recorded since revision N; did you mean services/kubernetes?"},
	} {
		_, err := why(t, c, test.resource, test.namespace, test.name)
		if !apierrors.IsNotFound(err) || regexp.MustCompile("revision [0-9]+").ReplaceAllString(err.Error(), "revision N") != test.want {
			t.Errorf("%s/%s: %v", test.resource, test.name, err)
		}
	}
	e, err := why(t, c, "services", "default", "kubernetes")
	if err != nil || e.Object.Kind != "Service" || e.Writes != 0 {
		t.Errorf("the server's own Service: %+v, %v", e, err)
	}
}

func podNamed(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "c", Image: "nginx", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
}

// The scheduler's message about a pod comes first, and explains its Deployment, too.
func TestWhyNotReady(t *testing.T) {
	t.Parallel()
	c := startVirtual(t)
	pod := podNamed("", "1000")
	pod.Labels = map[string]string{"app": "big"}
	if _, err := c.Client().AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "big"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Ledger().WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	pods, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=big"})
	if err != nil || len(pods.Items) != 2 {
		t.Fatalf("%d pods, %v", len(pods.Items), err)
	}
	const message = "PodScheduled is False (Unschedulable): 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
	for _, test := range []struct{ resource, name, want string }{
		{"pods", pods.Items[0].Name, message},
		{"deployments", "big", "pod/" + pods.Items[0].Name + " and 1 more: " + message},
	} {
		e, err := why(t, c, test.resource, "default", test.name)
		if err != nil {
			t.Fatal(err)
		}
		if e.Now == nil || e.Now.State != reasons.NotReady || len(e.Now.Reasons) == 0 || e.Now.Reasons[0].String() != test.want {
			t.Errorf("%s/%s: %+v, want first %s", test.resource, test.name, e.Now, test.want)
		}
	}
}
