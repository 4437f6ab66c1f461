package apiserver_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

const doorDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: doors.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: doors, singular: door, kind: Door}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://example.com"}}
  versions:
  - name: v1
    served: true
    storage: true
    selectableFields: [{jsonPath: .spec.hostPort}]
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {hostPort: {type: string}}}}
  - name: v2
    served: true
    storage: false
    selectableFields: [{jsonPath: .spec.host}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {host: {type: string}, port: {type: string}, color: {type: string, default: red}}
            x-kubernetes-validations: [{rule: "self.host != self.port", message: no host is a port}]
`

// converter is a webhook that converts doors: v1 has host and port in one field.
type converter struct {
	*httptest.Server
	calls   atomic.Int64
	objects atomic.Int64
	// spoil, if set, modifies the response.
	spoil atomic.Pointer[func(*apiextensionsv1.ConversionResponse)]
}

func startConverter(t *testing.T) *converter {
	t.Helper()
	c := &converter{}
	c.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.calls.Add(1)
		review := &apiextensionsv1.ConversionReview{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil {
			t.Error(err)
		}
		c.objects.Add(int64(len(review.Request.Objects)))
		review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
		for _, raw := range review.Request.Objects {
			review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Raw: convertDoor(t, raw.Raw, review.Request.DesiredAPIVersion)})
		}
		if spoil := c.spoil.Load(); spoil != nil {
			(*spoil)(review.Response)
		}
		review.Request = nil
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func convertDoor(t *testing.T, data []byte, to string) []byte {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Error(err)
	}
	u.SetAPIVersion(to)
	spec, _, _ := unstructured.NestedMap(u.Object, "spec")
	if to == "example.com/v2" {
		hostPort, _ := spec["hostPort"].(string)
		host, port, _ := strings.Cut(hostPort, ":")
		u.Object["spec"] = map[string]any{"host": host, "port": port}
	} else {
		host, _ := spec["host"].(string)
		port, _ := spec["port"].(string)
		u.Object["spec"] = map[string]any{"hostPort": host + ":" + port}
	}
	out, err := u.MarshalJSON()
	if err != nil {
		t.Error(err)
	}
	return out
}

func (c *converter) bundle() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
}

// doors has the clients of both versions.
type doors struct {
	*customs
	v1, v2 dynamic.ResourceInterface
	hook   *converter
}

func newDoors(t *testing.T, h *harness) *doors {
	t.Helper()
	d := &doors{customs: newCustoms(t, h, inMemory().config(h)), hook: startConverter(t)}
	resource := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "doors"}
	d.v1 = d.dynamic.Resource(resource).Namespace("default")
	resource.Version = "v2"
	d.v2 = d.dynamic.Resource(resource).Namespace("default")
	definition := parseDefinition(t, doorDefinition)
	definition.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &d.hook.URL, CABundle: d.hook.bundle()}
	must(d.definitions.ApiextensionsV1().CustomResourceDefinitions().Create(d.ctx, definition, metav1.CreateOptions{}))(t)
	return d
}

func door(version, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/" + version, "kind": "Door", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

func specField(t *testing.T, obj *unstructured.Unstructured, name, want string) {
	t.Helper()
	if got, _, _ := unstructured.NestedString(obj.Object, "spec", name); got != want {
		t.Errorf("spec.%s of %s is %q, not %q", name, obj.GetAPIVersion(), got, want)
	}
}

// TestConversionWebhook reads and writes, in every way, objects that are stored in
// another version.
func TestConversionWebhook(t *testing.T) {
	h := start(t)
	d := newDoors(t, h)
	old := must(d.v1.Create(h.ctx, door("v1", "a", map[string]any{"hostPort": "home:80"}), metav1.CreateOptions{}))(t)
	if d.hook.calls.Load() != 0 {
		t.Error("the stored version was converted")
	}
	got := must(d.v2.Get(h.ctx, "a", metav1.GetOptions{}))(t)
	specField(t, got, "host", "home")
	specField(t, got, "color", "") // reads have the defaults of the stored version
	if got.GetUID() != old.GetUID() || got.GetResourceVersion() != old.GetResourceVersion() {
		t.Errorf("%v", got)
	}
	events := must(d.v2.Watch(h.ctx, metav1.ListOptions{ResourceVersion: "0", FieldSelector: "spec.host=home"}))(t)
	defer events.Stop()
	want := func(kind watch.EventType, port string) {
		t.Helper()
		event := <-events.ResultChan()
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type != kind {
			t.Fatalf("%+v", event)
		}
		specField(t, obj, "port", port)
	}
	want(watch.Added, "80")
	got.Object["spec"].(map[string]any)["port"] = "81"
	got.Object["spec"].(map[string]any)["color"] = "blue"
	updated := must(d.v2.Update(h.ctx, got, metav1.UpdateOptions{}))(t)
	specField(t, updated, "color", "") // v1 does not know it
	want(watch.Modified, "81")
	specField(t, must(d.v1.Get(h.ctx, "a", metav1.GetOptions{}))(t), "hostPort", "home:81")
	must(d.v2.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"spec":{"port":"82"}}`), metav1.PatchOptions{}))(t)
	want(watch.Modified, "82")
	must(d.v1.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"spec":{"hostPort":"home:83"}}`), metav1.PatchOptions{}))(t)
	want(watch.Modified, "83")
	must(d.v2.Apply(h.ctx, "a", door("v2", "a", map[string]any{"port": "84"}), metav1.ApplyOptions{FieldManager: "me", Force: true}))(t)
	want(watch.Modified, "84")
	list := must(d.v2.List(h.ctx, metav1.ListOptions{FieldSelector: "spec.host=home"}))(t)
	if len(list.Items) != 1 || list.Items[0].GetAPIVersion() != "example.com/v2" {
		t.Fatalf("%v", list)
	}
	_, err := d.v2.Create(h.ctx, door("v2", "b", map[string]any{"host": "a", "port": "a"}), metav1.CreateOptions{})
	wantStatus(t, err, 422, metav1.StatusReasonInvalid, "no host is a port")
	must(d.v2.Create(h.ctx, door("v2", "b", map[string]any{"host": "b", "port": "1"}), metav1.CreateOptions{}))(t)
	specField(t, must(d.v1.Get(h.ctx, "b", metav1.GetOptions{}))(t), "hostPort", "b:1")
	if err := d.v2.DeleteCollection(h.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	want(watch.Deleted, "84")
	if list := must(d.v1.List(h.ctx, metav1.ListOptions{}))(t); len(list.Items) > 0 {
		t.Errorf("%v", list)
	}
}

// TestConversionWebhookStorage changes the stored version: objects stored before are
// converted when they are read.
func TestConversionWebhookStorage(t *testing.T) {
	h := start(t)
	d := newDoors(t, h)
	must(d.v1.Create(h.ctx, door("v1", "a", map[string]any{"hostPort": "home:80"}), metav1.CreateOptions{}))(t)
	api := d.definitions.ApiextensionsV1().CustomResourceDefinitions()
	definition := must(api.Get(h.ctx, "doors.example.com", metav1.GetOptions{}))(t)
	definition.Spec.Versions[0].Storage, definition.Spec.Versions[1].Storage = false, true
	definition = must(api.Update(h.ctx, definition, metav1.UpdateOptions{}))(t)
	if got := strings.Join(definition.Status.StoredVersions, ","); got != "v1,v2" {
		t.Errorf("stored versions %s", got)
	}
	must(d.v2.Create(h.ctx, door("v2", "b", map[string]any{"host": "b", "port": "1"}), metav1.CreateOptions{}))(t)
	for _, client := range []dynamic.ResourceInterface{d.v1, d.v2} {
		list := must(client.List(h.ctx, metav1.ListOptions{}))(t)
		if len(list.Items) != 2 {
			t.Fatalf("%v", list)
		}
	}
	specField(t, must(d.v2.Get(h.ctx, "a", metav1.GetOptions{}))(t), "host", "home")
	specField(t, must(d.v1.Get(h.ctx, "b", metav1.GetOptions{}))(t), "hostPort", "b:1")
	definition.Status.StoredVersions = []string{"v2"}
	definition = must(api.UpdateStatus(h.ctx, definition, metav1.UpdateOptions{}))(t)
	if got := strings.Join(definition.Status.StoredVersions, ","); got != "v2" {
		t.Errorf("stored versions %s", got)
	}
	definition.Spec.Versions = definition.Spec.Versions[1:]
	definition.Spec.Conversion = nil
	must(api.Update(h.ctx, definition, metav1.UpdateOptions{}))(t)
	_, err := d.v2.Get(h.ctx, "a", metav1.GetOptions{})
	wantStatus(t, err, 500, "", "request to convert CR from an invalid group/version: example.com/v1")
}

// TestConversionWebhookFails checks that errors of the webhook are reported, and that
// requests succeed again when it does.
func TestConversionWebhookFails(t *testing.T) {
	h := start(t)
	d := newDoors(t, h)
	must(d.v1.Create(h.ctx, door("v1", "a", map[string]any{"hostPort": "home:80"}), metav1.CreateOptions{}))(t)
	const failed = "conversion webhook for example.com/v1, Kind=Door "
	for want, spoil := range map[string]func(*apiextensionsv1.ConversionResponse){
		failed + "failed: not today": func(r *apiextensionsv1.ConversionResponse) {
			r.Result = metav1.Status{Status: metav1.StatusFailure, Message: "not today"}
		},
		failed + "failed: response.result.status was '', not 'Success'": func(r *apiextensionsv1.ConversionResponse) { r.Result = metav1.Status{} },
		failed + "returned 0 objects, expected 1":                       func(r *apiextensionsv1.ConversionResponse) { r.ConvertedObjects = nil },
		failed + "failed: expected response.uid=":                       func(r *apiextensionsv1.ConversionResponse) { r.UID = "x" },
		failed + "returned invalid object: must have the same name: a != b": func(r *apiextensionsv1.ConversionResponse) {
			r.ConvertedObjects[0].Raw = []byte(strings.Replace(string(r.ConvertedObjects[0].Raw), `"name":"a"`, `"name":"b"`, 1))
		},
	} {
		d.hook.spoil.Store(&spoil)
		_, err := d.v2.Get(h.ctx, "a", metav1.GetOptions{})
		wantStatus(t, err, 500, "", want)
		_, err = d.v2.List(h.ctx, metav1.ListOptions{})
		wantStatus(t, err, 500, "", failed)
		_, err = d.v2.Patch(h.ctx, "a", types.MergePatchType, []byte(`{"spec":{"port":"82"}}`), metav1.PatchOptions{})
		wantStatus(t, err, 500, "", want)
	}
	broken := func(r *apiextensionsv1.ConversionResponse) { r.ConvertedObjects = nil }
	d.hook.spoil.Store(&broken)
	_, err := d.v2.Create(h.ctx, door("v2", "c", map[string]any{"host": "a", "port": "b"}), metav1.CreateOptions{})
	wantStatus(t, err, 500, "", "conversion webhook for example.com/v2, Kind=Door ")
	d.hook.spoil.Store(nil)
	specField(t, must(d.v2.Get(h.ctx, "a", metav1.GetOptions{}))(t), "port", "80")
	d.hook.Close()
	_, err = d.v2.Get(h.ctx, "a", metav1.GetOptions{})
	wantStatus(t, err, 500, "", failed+"failed: Post \"https://127.0.0.1:")
	d.undefineDoors(t)
}

func (d *doors) undefineDoors(t *testing.T) {
	t.Helper()
	if err := d.definitions.ApiextensionsV1().CustomResourceDefinitions().Delete(d.ctx, "doors.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestConversionWebhookService resolves the webhook by a Service.
func TestConversionWebhookService(t *testing.T) {
	h := start(t)
	d := newDoors(t, h)
	must(d.v1.Create(h.ctx, door("v1", "a", map[string]any{"hostPort": "home:80"}), metav1.CreateOptions{}))(t)
	address, err := url.Parse(d.hook.URL)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseInt(address.Port(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	point := func(service string, port int32) {
		t.Helper()
		api := d.definitions.ApiextensionsV1().CustomResourceDefinitions()
		definition := must(api.Get(h.ctx, "doors.example.com", metav1.GetOptions{}))(t)
		definition.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{
			CABundle: d.hook.bundle(), Service: &apiextensionsv1.ServiceReference{Namespace: "default", Name: service, Port: &port},
		}
		must(api.Update(h.ctx, definition, metav1.UpdateOptions{}))(t)
	}
	point("hook", 443)
	_, err = d.v2.Get(h.ctx, "a", metav1.GetOptions{})
	wantStatus(t, err, 500, "", `service "hook" not found`)
	core := h.client().CoreV1()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "hook"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}}
	must(core.Services("default").Create(h.ctx, service, metav1.CreateOptions{}))(t)
	_, err = d.v2.Get(h.ctx, "a", metav1.GetOptions{})
	wantStatus(t, err, 500, "", `no endpoints available for service "hook"`)
	port, empty := int32(number), ""
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "hook", Labels: map[string]string{discoveryv1.LabelServiceName: "hook"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &empty, Port: &port}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.244.0.5"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "hook"}}},
	}
	slices := h.client().DiscoveryV1().EndpointSlices("default")
	slice = must(slices.Create(h.ctx, slice, metav1.CreateOptions{}))(t)
	_, err = d.v2.Get(h.ctx, "a", metav1.GetOptions{})
	wantStatus(t, err, 500, "", `service default/hook cannot be called: it selects simulated pods`)
	// No server listens at this address, which is reported immediately. Loopback
	// addresses are not allowed.
	slice.Endpoints[0] = discoveryv1.Endpoint{Addresses: []string{"255.255.255.255"}}
	must(slices.Update(h.ctx, slice, metav1.UpdateOptions{}))(t)
	_, err = d.v2.Get(h.ctx, "a", metav1.GetOptions{})
	wantStatus(t, err, 500, "", "dial tcp 255.255.255.255:"+address.Port())
	// The server's certificate has no Service name: the error shows that the name was
	// requested.
	outside := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "outside"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}}
	must(core.Services("default").Create(h.ctx, outside, metav1.CreateOptions{}))(t)
	point("outside", port)
	_, err = d.v2.Get(h.ctx, "a", metav1.GetOptions{})
	wantStatus(t, err, 500, "", `not outside.default.svc`)
}
