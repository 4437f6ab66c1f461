package apiserver_test

import (
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/auth"
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
		`authorization-mode "ABC" is not a valid mode`:                                {"RBAC", "ABC"},
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

// TestNodeRestriction writes as the kubelet of node n1.
func TestNodeRestriction(t *testing.T) {
	h := start(t)
	admin, kubelet := h.client().CoreV1(), h.as("system:node:n1", "system:nodes")
	core := kubelet.CoreV1()
	must(admin.Pods("default").Create(h.ctx, podReading("mine", "n1", "s"), metav1.CreateOptions{}))(t)
	must(admin.Pods("default").Create(h.ctx, podReading("other", "n2", "s"), metav1.CreateOptions{}))(t)
	mine, other := must(core.Pods("default").Get(h.ctx, "mine", metav1.GetOptions{}))(t), must(admin.Pods("default").Get(h.ctx, "other", metav1.GetOptions{}))(t)
	node := must(core.Nodes().Create(h.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"node.kubernetes.io/a": "b", "example.com/a": "b"}}}, metav1.CreateOptions{}))(t)
	change := func(do func(*corev1.Node)) error {
		changed := node.DeepCopy()
		do(changed)
		_, err := core.Nodes().Update(h.ctx, changed, metav1.UpdateOptions{})
		return err
	}
	mirror := func(change func(*corev1.Pod)) error {
		pod := podReading("mirror", "n1", "s")
		pod.Spec.Containers[0].EnvFrom = nil
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		isController := true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: node.UID, Controller: &isController}}
		change(pod)
		_, err := core.Pods("default").Create(h.ctx, pod, metav1.CreateOptions{})
		return err
	}
	token := func(ref *authenticationv1.BoundObjectReference, audiences ...string) error {
		_, err := core.ServiceAccounts("default").CreateToken(h.ctx, "default", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: ref, Audiences: audiences}}, metav1.CreateOptions{})
		return err
	}
	bound := func(pod *corev1.Pod) *authenticationv1.BoundObjectReference {
		return &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
	}
	status := func(pod *corev1.Pod, change func(*corev1.Pod)) error {
		pod = pod.DeepCopy()
		change(pod)
		_, err := core.Pods("default").UpdateStatus(h.ctx, pod, metav1.UpdateOptions{})
		return err
	}
	evict := func(name string) error {
		return core.Pods("default").EvictV1(h.ctx, &policyv1.Eviction{ObjectMeta: named(name)})
	}
	lease := func(name string) error {
		_, err := kubelet.CoordinationV1().Leases("kube-node-lease").Create(h.ctx, &coordinationv1.Lease{ObjectMeta: named(name)}, metav1.CreateOptions{})
		return err
	}
	slice := func(node *string) error {
		_, err := kubelet.ResourceV1().ResourceSlices().Create(h.ctx, &resourcev1.ResourceSlice{ObjectMeta: named("s"), Spec: resourcev1.ResourceSliceSpec{
			Driver: "d.example.com", NodeName: node, Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1},
		}}, metav1.CreateOptions{})
		return err
	}
	_, onOther := core.Nodes().Patch(h.ctx, "n2", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	_, second := core.Nodes().Create(h.ctx, &corev1.Node{ObjectMeta: named("n2")}, metav1.CreateOptions{})
	n1, n2 := "n1", "n2"
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"a Node that is not there": {onOther, `nodes "n2" not found`},
		"another Node":             {second, `nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"`},
		"taints":                   {change(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a", Effect: "NoSchedule"}} }), `nodes "n1" is forbidden: node "n1" is not allowed to modify taints`},
		"labels":                   {change(func(n *corev1.Node) { n.Labels["node-role.kubernetes.io/a"], n.Labels["x.k8s.io/b"] = "", "" }), `nodes "n1" is forbidden: is not allowed to modify labels: node-role.kubernetes.io/a, x.k8s.io/b`},
		"restricted labels":        {change(func(n *corev1.Node) { n.Labels["node-restriction.kubernetes.io/a"] = "" }), `nodes "n1" is forbidden: is not allowed to modify labels: node-restriction.kubernetes.io/a`},
		"owners": {change(func(n *corev1.Node) {
			n.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "a", UID: "b"}}
		}), `nodes "n1" is forbidden: node "n1" is not allowed to modify ownerReferences`},
		"other labels":               {change(func(n *corev1.Node) { n.Labels["kubelet.kubernetes.io/a"], n.Labels["a"] = "", "" }), "<nil>"},
		"a pod":                      {mirror(func(p *corev1.Pod) { p.Annotations = nil }), `pods "mirror" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods`},
		"a mirror pod elsewhere":     {mirror(func(p *corev1.Pod) { p.Spec.NodeName = "n2" }), `pods "mirror" is forbidden: node "n1" can only create pods with spec.nodeName set to itself`},
		"a mirror pod of no node":    {mirror(func(p *corev1.Pod) { p.OwnerReferences = nil }), `pods "mirror" is forbidden: node "n1" can only create pods with an owner reference set to itself`},
		"of a former node":           {mirror(func(p *corev1.Pod) { p.OwnerReferences[0].UID = "z" }), `pods "mirror" is forbidden: node n1 UID mismatch: expected z got ` + string(node.UID)},
		"a mirror pod with a Secret": {mirror(func(p *corev1.Pod) { p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}} }), `pods "mirror" is forbidden: node "n1" can not create pods that reference secrets`},
		"a mirror pod":               {mirror(func(*corev1.Pod) {}), "<nil>"},
		"an unbound token":           {token(nil), `serviceaccounts "default" is forbidden: node requested token not bound to a pod`},
		"a token elsewhere":          {token(bound(other)), `serviceaccounts "default" is forbidden: node requested token bound to a pod scheduled on a different node`},
		"a token":                    {token(bound(mine)), "<nil>"},
		"a token of others":          {token(bound(mine), "vault"), `serviceaccounts "default" is forbidden: audience "vault" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience`},
		"a status elsewhere":         {status(other, func(p *corev1.Pod) { p.Status.Message = "a" }), `pods "other" is forbidden: node "n1" can only update pod status for pods with spec.nodeName set to itself`},
		"labels by the status":       {status(mine, func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }), `pods "mine" is forbidden: node "n1" cannot update labels through pod status`},
		"a status":                   {status(mine, func(p *corev1.Pod) { p.Status.Message = "a" }), "<nil>"},
		"an eviction elsewhere":      {evict("other"), `pods "other" is forbidden: node n1 can only evict pods with spec.nodeName set to itself`},
		"an eviction":                {evict("mine"), "<nil>"},
		"a delete elsewhere":         {core.Pods("default").Delete(h.ctx, "other", metav1.DeleteOptions{}), `pods "other" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself`},
		"another lease":              {lease("n2"), `leases.coordination.k8s.io "n2" is forbidden: can only access node lease with the same name as the requesting node`},
		"a lease":                    {lease("n1"), "<nil>"},
		"another slice":              {slice(&n2), `resourceslices.resource.k8s.io "s" is forbidden: can only create ResourceSlice with the same NodeName as the requesting node`},
		"a slice":                    {slice(&n1), "<nil>"},
	} {
		if got := fmt.Sprint(tt.err); got != tt.want {
			t.Errorf("%s: %s\nwant %s", name, got, tt.want)
		}
	}
}

// TestRefusedBecauseUnrelated compares which refusals have the cause that no pod on the node is,
// or refers to, the object.
func TestRefusedBecauseUnrelated(t *testing.T) {
	h := start(t)
	admin := h.client().CoreV1()
	must(admin.Nodes().Create(h.ctx, &corev1.Node{ObjectMeta: named("n1")}, metav1.CreateOptions{}))(t)
	other := must(admin.Pods("default").Create(h.ctx, podReading("other", "n2", "s"), metav1.CreateOptions{}))(t)
	kubelet := h.as("system:node:n1", "system:nodes").CoreV1()
	_, secret := kubelet.Secrets("default").Get(h.ctx, "s", metav1.GetOptions{})
	_, foreign := kubelet.Pods("default").Get(h.ctx, "other", metav1.GetOptions{})
	_, status := kubelet.Pods("default").UpdateStatus(h.ctx, other, metav1.UpdateOptions{})
	_, all := kubelet.Pods("default").List(h.ctx, metav1.ListOptions{})
	_, service := kubelet.Services("default").Create(h.ctx, &corev1.Service{ObjectMeta: named("s")}, metav1.CreateOptions{})
	_, user := h.as("jane").CoreV1().Secrets("default").Get(h.ctx, "s", metav1.GetOptions{})
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"a secret": {secret, true}, "a pod of another node": {foreign, true}, "its status": {status, true},
		"all pods": {all, false}, "a service": {service, false}, "another user": {user, false},
	} {
		if !apierrors.IsForbidden(test.err) || auth.IsUnrelated(test.err) != test.want {
			t.Errorf("%s: %v; want the cause: %v", name, test.err, test.want)
		}
	}
}
