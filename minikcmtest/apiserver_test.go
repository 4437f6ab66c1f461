package minikcmtest_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// access is where a container finds what it needs for requests to the API server.
const access = `D=/var/run/secrets/kubernetes.io/serviceaccount
get() { curl -sS --cacert $D/ca.crt -H "Authorization: Bearer $(cat $D/token)" "$@"; }
`

// permit lets the service account default do something with pods.
func (c *traffic) permit(verbs ...string) {
	c.t.Helper()
	rbac := c.Client().RbacV1()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "pods"}, Rules: []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{""}, Resources: []string{"pods"}}}}
	binding := &rbacv1.RoleBinding{ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "pods"}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "default", Namespace: "default"}}}
	if _, err := rbac.Roles("default").Create(c.t.Context(), role, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	if _, err := rbac.RoleBindings("default").Create(c.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// Programs in containers get what the API server answers to their service account.
func TestContainersReachTheAPIServer(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	c.permit("get", "list", "watch", "delete", "create")
	c.runs("client", access+`
U=https://kubernetes.default.svc
get $U/api/v1/namespaces/default/pods | grep -c '"app": "web"'
get -o /dev/null -w '%{http_code}\n' $U/api/v1/namespaces/default/secrets
get $U/api/v1/namespaces/default/secrets | grep message
curl -sS --cacert $D/ca.crt -H 'Authorization: Bearer x' $U/api | grep -o '"code": [0-9]*'
curl -sSk -o /dev/null -w '%{http_code}\n' https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/healthz
curl -sSk https://kubernetes.default/api/v1/pods | grep message
curl -sS $U/healthz 2>&1 | head -1
curl -sS http://kubernetes.default.svc:443/healthz
wget -qO- --no-check-certificate $U/healthz; echo
get -X DELETE $U/api/v1/namespaces/default/pods/$(get $U/api/v1/namespaces/default/pods | grep -o 'web-[a-z0-9]*-[a-z0-9]*' | head -1) | grep -o '"kind": "Pod"'
get -d '{}' $U/api/v1/namespaces/default/pods | grep -o '"reason": "[A-Za-z]*"'
get -d '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"made"},"spec":{"containers":[{"name":"c","image":"nginx"}]}}' -H 'Content-Type: application/json' -o /dev/null -w '%{http_code}\n' $U/api/v1/namespaces/default/pods
get -d '{}' -H 'Content-Type: application/json' $U/api/v1/namespaces/default/configmaps | grep -o '"reason": "[A-Za-z]*"'
sleep infinity`)
	c.pass(20 * time.Second)
	want := []string{
		"3", "403", `"message": "secrets is forbidden: User \"system:serviceaccount:default:default\" cannot list resource \"secrets\" in API group \"\" in the namespace \"default\"",`,
		`"code": 401`, "200", `"message": "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API group \"\" at the cluster scope",`,
		"curl: (60) SSL certificate problem: unable to get local issuer certificate", "Client sent an HTTP request to an HTTPS server.", "ok", `"kind": "Pod"`, `"reason": "UnsupportedMediaType"`, "201", `"reason": "Forbidden"`,
	}
	var got []string
	for line := range strings.Lines(c.log("client")) {
		got = append(got, strings.TrimSpace(line))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("client wrote\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	writes, err := c.Client().CoreV1().RESTClient().Get().AbsPath("/minikcm/v1/writes").Param("resource", "pods").Param("name", "made").DoRaw(t.Context())
	if err != nil || !strings.Contains(string(writes), `"actor":"system:serviceaccount:default:default"`) {
		t.Errorf("the write record: %s, %v", writes, err)
	}
}

// A watch is shown as it comes, and ends with the program's limit, or the server's.
func TestContainersWatchTheAPIServer(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	c.permit("get", "list", "watch")
	c.runs("watcher", access+`
get 'https://kubernetes.default.svc/api/v1/namespaces/default/pods?watch=1&labelSelector=x=y&timeoutSeconds=5'; echo over $?
get -m 30 'https://kubernetes.default.svc/api/v1/namespaces/default/pods?watch=1&labelSelector=app=web'
sleep infinity`)
	c.pass(15 * time.Second)
	if got := c.log("watcher"); strings.Count(got, `{"type":"ADDED"`) != 3 || !strings.HasPrefix(got, "over 0\n") {
		t.Errorf("after 15 s, watcher wrote\n%s", got)
	}
	if err := c.Client().CoreV1().Pods("default").DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, metav1.ListOptions{LabelSelector: "app=web"}); err != nil {
		t.Fatal(err)
	}
	c.pass(10 * time.Second)
	if got := c.log("watcher"); strings.Count(got, `{"type":"DELETED"`) != 3 || strings.Contains(got, "curl: (28)") {
		t.Errorf("after 25 s, watcher wrote\n%s", got)
	}
	c.pass(20 * time.Second)
	if got := c.log("watcher"); !strings.Contains(got, "curl: (28) Operation timed out after 30000 milliseconds with ") {
		t.Errorf("after 45 s, watcher wrote\n%s", got)
	}
}

// Policies for egress decide about connections to the API server by the address of its endpoint.
func TestPoliciesMeetTheAPIServer(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	deny := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "deny"}}
	deny.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
	policies := c.Client().NetworkingV1().NetworkPolicies("default")
	deny, err := policies.Create(t.Context(), deny, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const script = "curl -sSk -m 5 https://$KUBERNETES_SERVICE_HOST/healthz; echo; sleep infinity"
	c.runs("denied", script)
	c.pass(10 * time.Second)
	if got, want := c.log("denied"), "curl: (28) Connection timed out after 5000 milliseconds\n\n"; got != want {
		t.Errorf("denied wrote %q, want %q", got, want)
	}
	deny.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{
		To:    []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.1/32"}}},
		Ports: []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(6443))}},
	}}
	if _, err := policies.Update(t.Context(), deny, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.runs("allowed", script)
	c.pass(10 * time.Second)
	if got := c.log("allowed"); got != "ok\n" {
		t.Errorf("allowed wrote %q", got)
	}
}
