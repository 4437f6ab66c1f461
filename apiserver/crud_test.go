package apiserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// An object is created, read, changed and deleted over every wire, in client-go's
// default format.
func TestLifeOfAnObject(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			c := *cfg
			c.ContentType, c.AcceptContentTypes = contentType, contentType
			live(t, h, &c)
		}
	})
}

func live(t *testing.T, h *harness, cfg *rest.Config) {
	t.Helper()
	maps := h.client(cfg).CoreV1().ConfigMaps("default")
	made, err := maps.Create(h.ctx, configMap("a", "k", "1"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if made.UID == "" || made.ResourceVersion == "" || made.CreationTimestamp.IsZero() || made.Data["k"] != "1" {
		t.Fatalf("created: %+v", made)
	}
	got := must(maps.Get(h.ctx, "a", metav1.GetOptions{}))(t)
	if diff := cmp.Diff(made, got); diff != "" {
		t.Fatalf("what is got is not what was created:\n%s", diff)
	}
	got.Data["k"] = "2"
	changed := must(maps.Update(h.ctx, got, metav1.UpdateOptions{}))(t)
	if changed.UID != made.UID || changed.ResourceVersion == made.ResourceVersion || changed.Data["k"] != "2" {
		t.Fatalf("updated: %+v", changed)
	}
	list := must(maps.List(h.ctx, metav1.ListOptions{}))(t)
	if len(list.Items) != 1 || list.ResourceVersion == "" {
		t.Fatalf("listed: %+v", list)
	}
	if diff := cmp.Diff(*changed, list.Items[0]); diff != "" {
		t.Fatalf("what is listed is not what was updated:\n%s", diff)
	}
	if err := maps.Delete(h.ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = maps.Get(h.ctx, "a", metav1.GetOptions{})
	wantStatus(t, err, 404, metav1.StatusReasonNotFound, `configmaps "a" not found`)
	wantStatus(t, maps.Delete(h.ctx, "a", metav1.DeleteOptions{}), 404, metav1.StatusReasonNotFound, `configmaps "a" not found`)
	_, err = maps.Update(h.ctx, changed, metav1.UpdateOptions{})
	if !apierrors.IsNotFound(err) {
		t.Fatalf("update of what is gone: %v", err)
	}
	h.idle()
}

// The same object is read and written in every format, raw.
func TestFormats(t *testing.T) {
	h := start(t)
	cm := configMap("a", "k", "v")
	cm.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	protobuf := must(runtime.Encode(encoder(t, runtime.ContentTypeProtobuf), cm))(t)
	yamlBody := must(yaml.Marshal(cm))(t)
	bodies := map[string]string{
		runtime.ContentTypeJSON: asJSON(t, cm), runtime.ContentTypeYAML: string(yamlBody), runtime.ContentTypeProtobuf: string(protobuf),
		"application/json; charset=utf-8": asJSON(t, cm), "": asJSON(t, cm),
	}
	for sent, body := range bodies {
		for _, accept := range []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf, "", "*/*", "application/*, */*;q=0.1", "text/html, */*;q=0.1"} {
			r := h.mustSend("POST", "/api/v1/namespaces/default/configmaps", body, "Content-Type", sent, "Accept", accept)
			want := accept
			if !strings.HasPrefix(accept, "application/") || accept == "application/*, */*;q=0.1" {
				want = runtime.ContentTypeJSON
			}
			if r.code != http.StatusCreated || r.header.Get("Content-Type") != want {
				t.Fatalf("sent as %q, accepted %q: %d %q", sent, accept, r.code, r.header.Get("Content-Type"))
			}
			back := &corev1.ConfigMap{}
			if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(r.body, nil, back); err != nil {
				t.Fatalf("sent as %q, accepted %q: %v", sent, accept, err)
			}
			if back.Name != "a" || back.Data["k"] != "v" || back.UID == "" {
				t.Fatalf("sent as %q, accepted %q: %+v", sent, accept, back)
			}
			h.mustSend("DELETE", "/api/v1/namespaces/default/configmaps/a", "")
		}
	}
}

func encoder(t testing.TB, mediaType string) runtime.Encoder {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatalf("no serializer for %s", mediaType)
	}
	return scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
}

func TestGenerateName(t *testing.T) {
	h := start(t)
	maps := h.client().CoreV1().ConfigMaps("default")
	seen := map[string]bool{}
	for range 50 {
		cm := configMap("")
		cm.GenerateName = "some-"
		made := must(maps.Create(h.ctx, cm, metav1.CreateOptions{}))(t)
		if !strings.HasPrefix(made.Name, "some-") || len(made.Name) != len("some-")+5 || seen[made.Name] || made.GenerateName != "some-" {
			t.Fatalf("generated %q", made.Name)
		}
		seen[made.Name] = true
	}
	cm := configMap("")
	cm.GenerateName = strings.Repeat("x", 100)
	if made := must(maps.Create(h.ctx, cm, metav1.CreateOptions{}))(t); len(made.Name) != 63 {
		t.Fatalf("generated %q of %d characters", made.Name, len(made.Name))
	}
	_, err := maps.Create(h.ctx, configMap(""), metav1.CreateOptions{})
	s := wantStatus(t, err, 422, metav1.StatusReasonInvalid, "name or generateName is required")
	if len(s.Details.Causes) != 1 || s.Details.Causes[0].Field != "metadata.name" {
		t.Fatalf("causes: %+v", s.Details.Causes)
	}
	must(maps.Create(h.ctx, configMap("taken"), metav1.CreateOptions{}))(t)
	_, err = maps.Create(h.ctx, configMap("taken"), metav1.CreateOptions{})
	wantStatus(t, err, 409, metav1.StatusReasonAlreadyExists, `configmaps "taken" already exists`)
}

// The dynamic and the metadata client work like the typed one.
func TestOtherClients(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		gvr := corev1.SchemeGroupVersion.WithResource("configmaps")
		maps := must(dynamic.NewForConfigAndClient(cfg, h.httpClient(cfg)))(t).Resource(gvr).Namespace("default")
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "labels": map[string]any{"l": "1"}}, "data": map[string]any{"k": "v"},
		}}
		made := must(maps.Create(h.ctx, obj, metav1.CreateOptions{}))(t)
		if made.GetKind() != "ConfigMap" || made.GetUID() == "" {
			t.Fatalf("created: %v", made)
		}
		list := must(maps.List(h.ctx, metav1.ListOptions{LabelSelector: "l=1"}))(t)
		if len(list.Items) != 1 || list.GetKind() != "ConfigMapList" {
			t.Fatalf("listed: %v", list)
		}
		partial := must(metadata.NewForConfigAndClient(metadata.ConfigFor(cfg), h.httpClient(cfg)))(t).Resource(gvr).Namespace("default")
		meta := must(partial.Get(h.ctx, "a", metav1.GetOptions{}))(t)
		if meta.Name != "a" || meta.Labels["l"] != "1" || meta.UID != made.GetUID() {
			t.Fatalf("metadata: %+v", meta)
		}
		metas := must(partial.List(h.ctx, metav1.ListOptions{}))(t)
		if len(metas.Items) != 1 || metas.Items[0].Name != "a" || metas.ResourceVersion == "" {
			t.Fatalf("metadata list: %+v", metas)
		}
	})
}

// Objects of different namespaces are separate; resource versions are of the whole
// store.
func TestNamespacesAreApart(t *testing.T) {
	h := start(t)
	client := h.client()
	for _, ns := range []string{"one", "two"} {
		must(client.CoreV1().Namespaces().Create(h.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}))(t)
		cm := configMap("same", "in", ns)
		cm.Namespace = ns
		must(client.CoreV1().ConfigMaps(ns).Create(h.ctx, cm, metav1.CreateOptions{}))(t)
	}
	for _, ns := range []string{"one", "two"} {
		list := must(client.CoreV1().ConfigMaps(ns).List(h.ctx, metav1.ListOptions{}))(t)
		if len(list.Items) != 1 || list.Items[0].Data["in"] != ns {
			t.Fatalf("in %s: %+v", ns, list.Items)
		}
	}
	if all := must(client.CoreV1().ConfigMaps("").List(h.ctx, metav1.ListOptions{}))(t); len(all.Items) != 2 {
		t.Fatalf("in all namespaces: %+v", all.Items)
	}
	if list := must(client.CoreV1().ConfigMaps("on").List(h.ctx, metav1.ListOptions{}))(t); len(list.Items) != 0 {
		t.Fatalf("in a namespace whose name begins another's: %+v", list.Items)
	}
	cm := configMap("a")
	cm.Namespace = "nowhere"
	_, err := client.CoreV1().ConfigMaps("nowhere").Create(h.ctx, cm, metav1.CreateOptions{})
	wantStatus(t, err, 404, metav1.StatusReasonNotFound, `namespaces "nowhere" not found`)
}
