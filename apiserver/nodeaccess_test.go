package apiserver_test

import (
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver"
)

// podReading returns a pod on a node that reads a Secret.
func podReading(name, node, secret string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: named(name), Spec: corev1.PodSpec{
		NodeName: node,
		Containers: []corev1.Container{{Name: "c", Image: "i", EnvFrom: []corev1.EnvFromSource{
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}},
		}}},
	}}
}

// TestNodeReadsWhatItsPodsReferTo compares the request after each write.
func TestNodeReadsWhatItsPodsReferTo(t *testing.T) {
	h := start(t)
	admin := h.client().CoreV1()
	must(admin.Secrets("default").Create(h.ctx, &corev1.Secret{ObjectMeta: named("s")}, metav1.CreateOptions{}))(t)
	kubelet := h.as("system:node:n1", "system:nodes").CoreV1()
	get := func(want string) {
		t.Helper()
		_, err := kubelet.Secrets("default").Get(h.ctx, "s", metav1.GetOptions{})
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	const forbidden = `secrets "s" is forbidden: User "system:node:n1" cannot get resource "secrets" in API group "" in the namespace "default": no relationship found between node 'n1' and this object`
	get(forbidden)
	now := int64(0)
	for i := range 3 {
		must(admin.Pods("default").Create(h.ctx, podReading("p", "n1", "s"), metav1.CreateOptions{}))(t)
		get("<nil>")
		must(admin.Pods("default").Create(h.ctx, podReading(fmt.Sprint("other", i), "n2", "s"), metav1.CreateOptions{}))(t)
		if err := admin.Pods("default").Delete(h.ctx, "p", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Fatal(err)
		}
		get(forbidden)
	}
	must(admin.Pods("default").Create(h.ctx, podReading("q", "", "s"), metav1.CreateOptions{}))(t)
	get(forbidden)
	if err := admin.Pods("default").Bind(h.ctx, &corev1.Binding{ObjectMeta: named("q"), Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	get("<nil>")
}

// TestNodeOverHTTPS asks with a kubelet's certificate, by impersonation and by a review.
func TestNodeOverHTTPS(t *testing.T) {
	h := start(t)
	must(h.client().CoreV1().Pods("default").Create(h.ctx, podReading("p", "n1", "s"), metav1.CreateOptions{}))(t)
	impersonating := h.server.Config("admin", "system:masters")
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: "system:node:n1", Groups: []string{"system:nodes"}}
	for name, config := range map[string]*rest.Config{"certificate": h.certified("system:node:n1", "system:nodes"), "impersonation": impersonating} {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		for selector, want := range map[string]string{
			"spec.nodeName=n1": "<nil>",
			"spec.nodeName=n2": `pods is forbidden: User "system:node:n1" cannot list resource "pods" in API group "" at the cluster scope: can only list/watch pods with spec.nodeName field selector`,
		} {
			_, err := client.CoreV1().Pods("").List(h.ctx, metav1.ListOptions{FieldSelector: selector})
			if got := fmt.Sprint(err); got != want {
				t.Errorf("%s: %s\nwant %s", name, got, want)
			}
		}
	}
	for want, selector := range map[bool]*authorizationv1.FieldSelectorAttributes{
		true: {Requirements: []metav1.FieldSelectorRequirement{{Key: "spec.nodeName", Operator: metav1.FieldSelectorOpIn, Values: []string{"n1"}}}}, false: nil,
	} {
		review := must(h.client().AuthorizationV1().SubjectAccessReviews().Create(h.ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:node:n1", Groups: []string{"system:nodes"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods", FieldSelector: selector},
		}}, metav1.CreateOptions{}))(t)
		if review.Status.Allowed != want {
			t.Errorf("review with %v: %+v", selector, review.Status)
		}
	}
}

func TestAuthorizationModes(t *testing.T) {
	for want, modes := range map[string][]string{
		"": {"Node", "RBAC", "AlwaysAllow", "AlwaysDeny"},
		`authorization-mode "ABC" is not a valid mode`:                               {"RBAC", "ABC"},
		`authorization-mode ["RBAC" "Node" "RBAC"] has mode specified more than once`: {"RBAC", "Node", "RBAC"},
	} {
		err := apiserver.CheckAuthorizationModes(modes)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", modes, err, want)
		}
	}
}

// BenchmarkNodeAuthorizer reads a Secret of one of 3,000 pods from the cache.
func BenchmarkNodeAuthorizer(b *testing.B) {
	h := start(b)
	admin, client := h.client().CoreV1(), h.as("system:node:n1", "system:nodes").CoreV1()
	for i := range 3000 {
		must(admin.Pods("default").Create(h.ctx, podReading(fmt.Sprint("p", i), fmt.Sprint("n", i%100), fmt.Sprint("s", i)), metav1.CreateOptions{}))(b)
	}
	must(admin.Secrets("default").Create(h.ctx, &corev1.Secret{ObjectMeta: named("s1")}, metav1.CreateOptions{}))(b)
	b.ReportAllocs()
	for b.Loop() {
		must(client.Secrets("default").Get(h.ctx, "s1", metav1.GetOptions{ResourceVersion: "0"}))(b)
	}
}
