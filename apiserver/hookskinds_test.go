package apiserver_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// observer is a webhook that records its requests, and responds according to its hook.
type observer struct {
	client registrationv1.WebhookClientConfig

	mu   sync.Mutex
	seen []*admissionv1.AdmissionRequest
}

func newObserver(t *testing.T, answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) *observer {
	t.Helper()
	o := &observer{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		o.mu.Lock()
		o.seen = append(o.seen, review.Request)
		o.mu.Unlock()
		review.Response = answer(review.Request)
		review.Response.UID = review.Request.UID
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	o.client = registrationv1.WebhookClientConfig{
		URL: ptr.To(server.URL), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	return o
}

// take returns the requests since the last call.
func (o *observer) take() []*admissionv1.AdmissionRequest {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.seen
	o.seen = nil
	return seen
}

// only returns the single recorded request.
func (o *observer) only(t *testing.T) *admissionv1.AdmissionRequest {
	t.Helper()
	seen := o.take()
	if len(seen) != 1 {
		t.Fatalf("the webhook was asked %d times", len(seen))
	}
	return seen[0]
}

func allow(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Allowed: true}
}

// hook registers a mutating webhook.
func (h *harness) hook(t *testing.T, o *observer, rules ...registrationv1.RuleWithOperations) {
	t.Helper()
	rules = append(rules, rulesFor("secrets", registrationv1.Create)...)
	must(h.client().AdmissionregistrationV1().MutatingWebhookConfigurations().Create(h.ctx, &registrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "m"}, Webhooks: []registrationv1.MutatingWebhook{{
			Name: "m.example.com", ClientConfig: o.client, Rules: rules,
			SideEffects: ptr.To(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}))(t)
}

func rule(group, version, resource string, operations ...registrationv1.OperationType) registrationv1.RuleWithOperations {
	return registrationv1.RuleWithOperations{
		Operations: operations, Rule: registrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource}},
	}
}

func TestWebhooksSeeConnections(t *testing.T) {
	h := start(t)
	o := newObserver(t, func(rq *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if rq.Name == "forbidden" {
			return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "keep out"}}
		}
		return allow(rq)
	})
	h.hook(t, o, rule("", "v1", "*/*", registrationv1.Connect))
	for _, c := range []struct {
		path, kind, object string
	}{
		{"/api/v1/namespaces/default/pods/none/exec?command=ls&command=-l&stdin=true&container=main", "PodExecOptions", `"stdin":true,"container":"main","command":["ls","-l"]`},
		{"/api/v1/namespaces/default/pods/none/attach?stdout=1", "PodAttachOptions", `"stdout":true`},
		{"/api/v1/namespaces/default/pods/none/attach?stdin=TRUE&stdout=&tty=no", "PodAttachOptions", `"stdin":true,"stdout":true,"tty":true`},
		{"/api/v1/namespaces/default/pods/none/attach?stdin=False&stdout=0&stderr=true", "PodAttachOptions", `"apiVersion":"v1","stderr":true`},
		{"/api/v1/namespaces/default/pods/none/portforward?ports=80&ports=90", "PodPortForwardOptions", `"ports":[80,90]`},
		{"/api/v1/namespaces/default/pods/none/proxy/a/b", "PodProxyOptions", `"path":"/a/b"`},
		{"/api/v1/namespaces/default/services/none/proxy/", "ServiceProxyOptions", `"path":"/"`},
		{"/api/v1/nodes/none/proxy/stats", "NodeProxyOptions", `"path":"/stats"`},
	} {
		want := http.StatusNotFound
		if c.kind == "ServiceProxyOptions" {
			want = http.StatusServiceUnavailable
		}
		if got := h.send("POST", c.path, ""); got.code != want {
			t.Errorf("%s: %d %s", c.path, got.code, got.body)
		}
		seen := o.only(t)
		if seen.Operation != admissionv1.Connect || seen.Kind.Kind != c.kind || seen.Kind.Version != "v1" || seen.Name != "none" || seen.Resource.Resource == "" ||
			!strings.Contains(string(seen.Object.Raw), c.object) || !strings.Contains(string(seen.Object.Raw), `"kind":"`+c.kind) || seen.Options.Raw != nil {
			t.Errorf("%s: the webhook saw %s of %v %s/%s: %s", c.path, seen.Operation, seen.Kind, seen.Resource.Resource, seen.SubResource, seen.Object.Raw)
		}
	}
	denied := h.send("POST", "/api/v1/namespaces/default/pods/forbidden/exec?command=ls", "").status(t)
	if denied.Message != `admission webhook "m.example.com" denied the request: keep out` {
		t.Errorf("got %+v", denied)
	}
	if refused := h.send("POST", "/api/v1/namespaces/default/pods/none/exec?dryRun=All", "").status(t); refused.Message != "dryRun is not supported" {
		t.Errorf("got %+v", refused)
	}
}

func TestWebhooksSeeScales(t *testing.T) {
	h := start(t)
	o := newObserver(t, func(rq *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		answer := allow(rq)
		if strings.Contains(string(rq.Object.Raw), `"replicas":9`) {
			answer.Patch, answer.PatchType = []byte(`[{"op":"replace","path":"/spec/replicas","value":5}]`), ptr.To(admissionv1.PatchTypeJSONPatch)
		}
		return answer
	})
	h.hook(t, o, rule("apps", "v1", "deployments/scale", registrationv1.Update))
	deployments := h.client().AppsV1().Deployments("default")
	labels := map[string]string{"app": "web"}
	must(deployments.Create(h.ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("p").Spec},
		},
	}, metav1.CreateOptions{}))(t)
	scaled := must(deployments.UpdateScale(h.ctx, "web", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Spec: autoscalingv1.ScaleSpec{Replicas: 9},
	}, metav1.UpdateOptions{}))(t)
	seen := o.only(t)
	var scale, old autoscalingv1.Scale
	if err := json.Unmarshal(seen.Object.Raw, &scale); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(seen.OldObject.Raw, &old); err != nil {
		t.Fatal(err)
	}
	if seen.Kind.Kind != "Scale" || seen.Kind.Group != "autoscaling" || seen.SubResource != "scale" || scale.Kind != "Scale" || scale.Spec.Replicas != 9 || old.Spec.Replicas != 1 {
		t.Errorf("the webhook saw %+v: %s, was %s", seen.Kind, seen.Object.Raw, seen.OldObject.Raw)
	}
	if d := must(deployments.Get(h.ctx, "web", metav1.GetOptions{}))(t); scaled.Spec.Replicas != 5 || *d.Spec.Replicas != 5 {
		t.Errorf("the webhook's change is lost: %+v, %d", scaled.Spec, *d.Spec.Replicas)
	}
}

// Webhooks see an eviction as the create of an Eviction, not as a deletion.
func TestWebhooksSeeEvictions(t *testing.T) {
	h := start(t)
	o := newObserver(t, allow)
	h.hook(t, o, rule("", "v1", "pods/*", registrationv1.OperationAll))
	must(h.client().CoreV1().Pods("default").Create(h.ctx, pod("p"), metav1.CreateOptions{}))(t)
	o.take() // the webhook is also called for the pod itself
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}}
	if err := h.client().PolicyV1().Evictions("default").Evict(h.ctx, eviction); err != nil {
		t.Fatal(err)
	}
	seen := o.only(t)
	if seen.Operation != admissionv1.Create || seen.Kind.Kind != "Eviction" || seen.Kind.Group != "policy" || seen.Resource.Resource != "pods" || seen.SubResource != "eviction" {
		t.Errorf("the webhook saw %+v", seen)
	}
}

func TestWebhooksSeeEquivalents(t *testing.T) {
	h := start(t)
	o := newObserver(t, func(rq *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		answer := allow(rq)
		if rq.Kind.Kind == "HorizontalPodAutoscaler" {
			answer.Patch, answer.PatchType = []byte(`[{"op":"replace","path":"/spec/maxReplicas","value":7}]`), ptr.To(admissionv1.PatchTypeJSONPatch)
		}
		return answer
	})
	newCustoms(t, h, inMemory().config(h)).define(widgetDefinition)
	h.hook(t, o,
		rule("autoscaling", "v2", "horizontalpodautoscalers", registrationv1.Create),
		rule("", "v1", "events", registrationv1.Create),
		rule("example.com", "v1", "widgets", registrationv1.Create))

	made := must(h.client().AutoscalingV1().HorizontalPodAutoscalers("default").Create(h.ctx, &autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{Kind: "Deployment", Name: "web", APIVersion: "apps/v1"}, MaxReplicas: 3, TargetCPUUtilizationPercentage: ptr.To[int32](40),
		},
	}, metav1.CreateOptions{}))(t)
	seen := o.only(t)
	var v2 autoscalingv2.HorizontalPodAutoscaler
	if err := json.Unmarshal(seen.Object.Raw, &v2); err != nil {
		t.Fatal(err)
	}
	if seen.Kind.Version != "v2" || seen.RequestKind.Version != "v1" || seen.Resource.Version != "v2" || v2.APIVersion != "autoscaling/v2" || len(v2.Spec.Metrics) != 1 {
		t.Errorf("the webhook saw %+v: %s", seen.Kind, seen.Object.Raw)
	}
	if made.Spec.MaxReplicas != 7 || *made.Spec.TargetCPUUtilizationPercentage != 40 {
		t.Errorf("the webhook made %+v", made.Spec)
	}

	h.mustSend("POST", "/apis/events.k8s.io/v1/namespaces/default/events", `{"metadata":{"name":"e"},"eventTime":"2024-01-01T00:00:00.000000Z","reportingController":"c","reportingInstance":"i","action":"A","reason":"R","type":"Normal","note":"n","regarding":{"kind":"Pod","name":"p","namespace":"default"}}`)
	if seen := o.only(t); seen.Kind.Group != "" || seen.Kind.Kind != "Event" || seen.RequestKind.Group != "events.k8s.io" || !strings.Contains(string(seen.Object.Raw), `"message":"n"`) {
		t.Errorf("the webhook saw %+v: %s", seen.Kind, seen.Object.Raw)
	}

	h.mustSend("POST", "/apis/example.com/v1alpha1/namespaces/default/widgets", `{"apiVersion":"example.com/v1alpha1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":3}}`)
	// The request has only the defaults of its own version, until a webhook changes the object.
	if seen := o.only(t); seen.Kind.Version != "v1" || seen.RequestKind.Version != "v1alpha1" || !strings.Contains(string(seen.Object.Raw), `"apiVersion":"example.com/v1"`) || strings.Contains(string(seen.Object.Raw), `"color"`) || strings.Contains(string(seen.Object.Raw), `"generation"`) {
		t.Errorf("the webhook saw %+v: %s", seen.Kind, seen.Object.Raw)
	}
}

// Fields that a webhook adds to a custom object are pruned, as are the fields that a client sends.
func TestWebhooksOfPrunedKinds(t *testing.T) {
	h := start(t)
	o := newObserver(t, func(rq *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		answer := allow(rq)
		answer.Patch, answer.PatchType = []byte(`[{"op":"add","path":"/spec/extra","value":"x"},{"op":"add","path":"/spec/size","value":7}]`), ptr.To(admissionv1.PatchTypeJSONPatch)
		return answer
	})
	newCustoms(t, h, inMemory().config(h)).define(widgetDefinition)
	h.hook(t, o, rule("example.com", "v1", "widgets", registrationv1.Create, registrationv1.Update))
	for _, version := range []string{"v1", "v1alpha1"} {
		path := "/apis/example.com/" + version + "/namespaces/default/widgets"
		created := h.mustSend("POST", path, `{"apiVersion":"example.com/`+version+`","kind":"Widget","metadata":{"name":"`+version+`"},"spec":{"size":3}}`).body
		updated := h.mustSend("PATCH", path+"/"+version, `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", "application/merge-patch+json").body
		stored := h.mustSend("GET", path+"/"+version, "").body
		for request, got := range map[string][]byte{"create": created, "patch": updated, "get": stored} {
			if !strings.Contains(string(got), `"size":7`) || strings.Contains(string(got), `"extra"`) {
				t.Errorf("%s, %s: %s", version, request, got)
			}
		}
	}
}
