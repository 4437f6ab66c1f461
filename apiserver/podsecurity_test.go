package apiserver_test

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// secured creates a namespace with labels of the Pod Security Standards, and its service
// account.
func (h *harness) secured(t testing.TB, name string, labels map[string]string) {
	t.Helper()
	core := h.client().CoreV1()
	must(core.Namespaces().Create(h.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{}))(t)
	must(core.ServiceAccounts(name).Create(h.ctx, &corev1.ServiceAccount{ObjectMeta: named("default")}, metav1.CreateOptions{}))(t)
}

func privilegedPod(namespace, name string) *corev1.Pod {
	p := pod(name)
	p.Namespace = namespace
	p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
	return p
}

const privilegedViolation = `violates PodSecurity "baseline:latest": privileged (container "main" must not set securityContext.privileged=true)`

func TestPodSecurityEnforces(t *testing.T) {
	h := start(t)
	h.secured(t, "strict", map[string]string{"pod-security.kubernetes.io/enforce": "baseline"})
	pods := h.client().CoreV1().Pods("strict")
	_, err := pods.Create(h.ctx, privilegedPod("strict", "p"), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || err.Error() != `pods "p" is forbidden: `+privilegedViolation {
		t.Errorf("%v", err)
	}
	plain := pod("plain")
	plain.Namespace = "strict"
	must(pods.Create(h.ctx, plain, metav1.CreateOptions{}))(t)
	debug := []byte(`{"spec":{"ephemeralContainers":[{"name":"debug","image":"busybox","securityContext":{"privileged":true}}]}}`)
	_, err = pods.Patch(h.ctx, "plain", types.StrategicMergePatchType, debug, metav1.PatchOptions{}, "ephemeralcontainers")
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `container "debug" must not set securityContext.privileged=true`) {
		t.Errorf("%v", err)
	}
	must(h.client().CoreV1().Pods("default").Create(h.ctx, privilegedPod("default", "p"), metav1.CreateOptions{}))(t)
}

func TestPodSecurityWarns(t *testing.T) {
	h := start(t)
	h.secured(t, "warned", map[string]string{"pod-security.kubernetes.io/warn": "baseline", "pod-security.kubernetes.io/warn-version": "v1.30"})
	const spec = `{"containers":[{"name":"main","image":"a","securityContext":{"privileged":true}}]}`
	warned := func(answer *reply, want string) {
		t.Helper()
		if got := strings.Join(answer.header.Values("Warning"), "\n"); answer.code >= 300 || !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%d %s\nwant %s", answer.code, got, want)
		}
	}
	const violation = `299 - "would violate PodSecurity \"baseline:v1.30\": privileged (container \"main\" must not set securityContext.privileged=true)"`
	asJSON := []string{"Content-Type", "application/json"}
	warned(h.send(http.MethodPost, "/api/v1/namespaces/warned/pods", `{"metadata":{"name":"p"},"spec":`+spec+`}`, asJSON...), violation)
	warned(h.send(http.MethodPost, "/apis/apps/v1/namespaces/warned/deployments",
		`{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":`+spec+`}}}`, asJSON...), violation)
	patch := []string{"Content-Type", "application/merge-patch+json"}
	warned(h.send(http.MethodPatch, "/api/v1/namespaces/warned", `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline"}}}`, patch...),
		`299 - "existing pods in namespace \"warned\" violate the new PodSecurity enforce level \"baseline:latest\""`)
	warned(h.send(http.MethodPatch, "/api/v1/namespaces/warned", `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`, patch...), "")
	bad := h.send(http.MethodPatch, "/api/v1/namespaces/warned", `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"none"}}}`, patch...)
	if message := bad.status(t).Message; bad.code != http.StatusUnprocessableEntity || !strings.Contains(message, `must be one of privileged, baseline, restricted`) {
		t.Errorf("%d %s", bad.code, message)
	}
}

const podSecurityConfig = configHead + `- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: baseline, enforce-version: latest}
    exemptions: {namespaces: [exempt], usernames: [root], runtimeClasses: []}
`

func TestPodSecurityDefaultsAndExemptions(t *testing.T) {
	h := start(t, withConfig(t, podSecurityConfig), allowAll)
	h.secured(t, "exempt", nil)
	h.secured(t, "other", nil)
	admin := h.client().CoreV1()
	if _, err := admin.Pods("other").Create(h.ctx, privilegedPod("other", "p"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), privilegedViolation) {
		t.Errorf("%v", err)
	}
	must(admin.Pods("exempt").Create(h.ctx, privilegedPod("exempt", "p"), metav1.CreateOptions{}))(t)
	must(h.as("root").CoreV1().Pods("other").Create(h.ctx, privilegedPod("other", "q"), metav1.CreateOptions{}))(t)
}

func TestPodSecurityDisabled(t *testing.T) {
	h := start(t, withPlugins("-PodSecurity"))
	h.secured(t, "strict", map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
	must(h.client().CoreV1().Pods("strict").Create(h.ctx, privilegedPod("strict", "p"), metav1.CreateOptions{}))(t)
}
