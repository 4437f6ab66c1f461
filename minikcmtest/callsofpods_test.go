package minikcmtest_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
)

const hookAnswers = `8443 tls /certs/tls.crt /certs/tls.key
8443 /deny deny not today
8443 /label patch [{"op":"add","path":"/metadata/labels","value":{"seen":"yes"}}]
8443 /convert convert
8443 /apis 404 none
8443 /apis/things.example.com/v1 200 {"kind":"APIResourceList","apiVersion":"v1","groupVersion":"things.example.com/v1","resources":[{"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":["get","list"]}]}
8443 /apis/things.example.com/v1/namespaces/default/things/one 200 {"kind":"Thing","apiVersion":"things.example.com/v1","metadata":{"name":"one","namespace":"default"}}
`

// hook returns a reference to a webhook of the Service safe.
func hook(ca []byte, path string) admissionv1.WebhookClientConfig {
	return admissionv1.WebhookClientConfig{CABundle: ca, Service: &admissionv1.ServiceReference{Namespace: "default", Name: "safe", Path: &path}}
}

var onConfigMaps = []admissionv1.RuleWithOperations{{
	Operations: []admissionv1.OperationType{admissionv1.Create}, Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
}}

// validates creates or replaces the webhook that every new ConfigMap needs.
func (c *traffic) validates(config admissionv1.WebhookClientConfig, failure admissionv1.FailurePolicyType, timeout int32) {
	c.t.Helper()
	hooks := c.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_ = hooks.Delete(c.t.Context(), "v", metav1.DeleteOptions{}) // it may not exist
	if _, err := hooks.Create(c.t.Context(), &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "v.example.com", Rules: onConfigMaps, SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		ClientConfig: config, FailurePolicy: &failure, TimeoutSeconds: &timeout,
	}}}, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *traffic) create(name string) (*corev1.ConfigMap, error) {
	return c.Client().CoreV1().ConfigMaps("default").Create(c.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
}

// Webhooks in pods are called over TLS; the certificate is verified against the CA bundle, for the Service's name and on the cluster's
// clock.
func TestWebhooksInPods(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	now := c.Clock().Now()
	ca := newAuthority(t, now)
	c.serves("safe", hookAnswers, ca.secret("safe.default.svc", now.Add(time.Hour)), nil)
	c.pass(30 * time.Second)
	const failing = `Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: Post "https://safe.default.svc:443/deny?timeout=5s": `
	refused := func(want string) {
		t.Helper()
		if _, err := c.create("a"); err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	c.validates(hook(ca.pem(), "/deny"), admissionv1.Fail, 5)
	refused(`admission webhook "v.example.com" denied the request: not today`)
	c.validates(hook(newAuthority(t, now).pem(), "/deny"), admissionv1.Fail, 5)
	refused(failing + "tls: failed to verify certificate: x509: certificate signed by unknown authority (possibly because of \"x509: ECDSA verification failure\" while trying to verify candidate authority certificate \"test-ca\")")
	c.validates(hook(nil, "/deny"), admissionv1.Fail, 5)
	refused(failing + "tls: failed to verify certificate: x509: certificate signed by unknown authority")
	c.validates(hook(newAuthority(t, now).pem(), "/deny"), admissionv1.Ignore, 5)
	if _, err := c.create("ignored"); err != nil {
		t.Errorf("with the failure policy Ignore: %v", err)
	}
	c.validates(hook(ca.pem(), "/none"), admissionv1.Fail, 5)
	refused(`Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: the server could not find the requested resource`)
	other := hook(ca.pem(), "/deny")
	other.Service.Name = "alias"
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "alias"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "safe"}, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt32(8443)}, {Name: "closed", Port: 444, TargetPort: intstr.FromInt32(9)}}}}
	service.Spec.Ports[0].Name = "https"
	service, err := c.Client().CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.pass(5 * time.Second)
	c.validates(other, admissionv1.Fail, 5)
	refused(strings.Replace(failing, "safe", "alias", 1) + "tls: failed to verify certificate: x509: certificate is valid for safe.default.svc, not alias.default.svc")
	other.Service.Port = ptr.To[int32](444)
	c.validates(other, admissionv1.Fail, 5)
	refused(strings.NewReplacer("safe", "alias", ":443", ":444").Replace(failing) + "dial tcp " + service.Spec.ClusterIP + ":444: connect: connection refused")

	c.validates(hook(ca.pem(), "/deny"), admissionv1.Fail, 5)
	c.pass(2 * time.Hour)
	if _, err := c.create("a"); err == nil || !strings.Contains(err.Error(), "x509: certificate has expired or is not yet valid: current time "+c.Clock().Now().UTC().Format(time.RFC3339)) {
		t.Errorf("after the certificate's end: %v", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "safe"}, Data: ca.secret("safe.default.svc", now.Add(100*time.Hour))}
	if _, err := c.Client().CoreV1().Secrets("default").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.pass(2 * time.Minute)
	refused(`admission webhook "v.example.com" denied the request: not today`)
	pod, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "safe", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Kubelets().StopNode(pod.Spec.NodeName); err != nil {
		t.Fatal(err)
	}
	c.takes(5*time.Second, func() { refused(failing + "context deadline exceeded") })
	if err := c.Kubelets().StartNode(pod.Spec.NodeName); err != nil {
		t.Fatal(err)
	}
	if err := c.Client().CoreV1().Pods("default").Delete(t.Context(), "safe", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
		t.Fatal(err)
	}
	c.pass(5 * time.Second)
	if _, err := c.create("a"); err == nil || !strings.Contains(err.Error(), `no endpoints available for service "safe"`) {
		t.Errorf("without a pod: %v", err)
	}
}

// takes checks how much of the cluster's time a call takes at least: more may pass until the client has read the answer.
func (c *traffic) takes(want time.Duration, call func()) {
	c.t.Helper()
	began := c.Clock().Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	if err := c.Wait(c.t.Context(), done); err != nil {
		c.t.Error(err)
	}
	if took := c.Clock().Since(began); took < want {
		c.t.Errorf("the call took %v of the cluster's time, want at least %v", took, want)
	}
}

// A webhook may take its time on the cluster's clock.
func TestSlowWebhookInPod(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	now := c.Clock().Now()
	ca := newAuthority(t, now)
	c.serves("safe", "9 / 200", ca.secret("safe.default.svc", now.Add(time.Hour)), func(pod *corev1.Pod) {
		pod.Annotations["minikcm.dev/server"] = `listen:
- port: 8443
  tls: {certificate: /certs/tls.crt, key: /certs/tls.key}
  routes:
  - path: /slow
    delay: 3s
    json: {apiVersion: admission.k8s.io/v1, kind: AdmissionReview, response: {uid: "${parseJSON(request.body).request.uid}", allowed: true}}
`
	})
	c.pass(30 * time.Second)
	c.validates(hook(ca.pem(), "/slow"), admissionv1.Fail, 5)
	c.takes(3*time.Second, func() {
		if _, err := c.create("a"); err != nil {
			t.Error(err)
		}
	})
	c.validates(hook(ca.pem(), "/slow"), admissionv1.Fail, 2)
	c.takes(2*time.Second, func() {
		if _, err := c.create("b"); err == nil || !strings.Contains(err.Error(), "context deadline exceeded") {
			t.Errorf("with a shorter time-out: %v", err)
		}
	})
}

// A webhook in a pod changes objects, another converts them, and a pod serves an API.
func TestAPIsInPods(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	now := c.Clock().Now()
	ca := newAuthority(t, now)
	c.serves("safe", hookAnswers, ca.secret("safe.default.svc", now.Add(time.Hour)), nil)
	c.pass(30 * time.Second)
	if _, err := c.Client().AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Webhooks: []admissionv1.MutatingWebhook{{
		Name: "m.example.com", Rules: onConfigMaps, SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}, ClientConfig: hook(ca.pem(), "/label"),
	}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if made, err := c.create("a"); err != nil || made.Labels["seen"] != "yes" {
		t.Errorf("the mutating webhook: %+v, %v", made, err)
	}
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	create := func(resource schema.GroupVersionResource, namespace string, object map[string]any) {
		t.Helper()
		if _, err := client.Resource(resource).Namespace(namespace).Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	type object = map[string]any
	version := func(name string, stored bool) object {
		return object{"name": name, "served": true, "storage": stored, "schema": object{"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
	}
	service := object{"namespace": "default", "name": "safe", "path": "/convert"}
	create(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, "", object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "doors.example.com"},
		"spec": object{
			"group": "example.com", "scope": "Namespaced", "names": object{"plural": "doors", "kind": "Door"}, "versions": []any{version("v1", true), version("v2", false)},
			"conversion": object{"strategy": "Webhook", "webhook": object{"conversionReviewVersions": []any{"v1"}, "clientConfig": object{"service": service, "caBundle": base64.StdEncoding.EncodeToString(ca.pem())}}},
		},
	})
	doors := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "doors"}
	create(doors, "default", object{"apiVersion": "example.com/v1", "kind": "Door", "metadata": object{"name": "front"}, "spec": object{"wide": true}})
	doors.Version = "v2"
	if got, err := client.Resource(doors).Namespace("default").Get(t.Context(), "front", metav1.GetOptions{}); err != nil || got.GetAPIVersion() != "example.com/v2" || fmt.Sprint(got.Object["spec"]) != "map[wide:true]" {
		t.Errorf("the conversion webhook: %v, %v", got, err)
	}
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	create(services, "", object{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": object{"name": "v1.things.example.com"},
		"spec": object{"group": "things.example.com", "version": "v1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(10), "caBundle": base64.StdEncoding.EncodeToString(ca.pem()), "service": object{"namespace": "default", "name": "safe"}},
	})
	c.pass(10 * time.Second)
	if got, err := client.Resource(services).Get(t.Context(), "v1.things.example.com", metav1.GetOptions{}); err != nil || !strings.Contains(fmt.Sprint(got.Object["status"]), "all checks passed") {
		t.Errorf("the APIService: %v, %v", got, err)
	}
	list, err := c.Client().Discovery().ServerResourcesForGroupVersion("things.example.com/v1")
	if err != nil || len(list.APIResources) != 1 {
		t.Errorf("discovery has %+v, %v", list, err)
	}
	things := schema.GroupVersionResource{Group: "things.example.com", Version: "v1", Resource: "things"}
	if got, err := client.Resource(things).Namespace("default").Get(t.Context(), "one", metav1.GetOptions{}); err != nil || got.GetKind() != "Thing" {
		t.Errorf("the aggregated API: %v, %v", got, err)
	}
}
