package crd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"minikcm.dev/minikcm/clock"
)

func kinds(t testing.TB, text string) Kinds {
	t.Helper()
	d := parse(t, text)
	Settle(d, nil, metav1.Time{})
	return New(d, nil)
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestCoerce(t *testing.T) {
	row := kinds(t, base).Stored
	const head = `"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}`
	for _, test := range []struct {
		name, in, want string
		unknown        []string
		err            string
		stored         bool
	}{
		{name: "as it is", in: `{` + head + `,"spec":{"size":3}}`, want: `{` + head + `,"spec":{"size":3}}`},
		{name: "unknown", in: `{` + head + `,"spec":{"x":1},"y":2,"status":{"z":3}}`, want: `{` + head + `,"spec":{},"status":{"z":3}}`, unknown: []string{"spec.x", "y"}},
		{name: "null", in: `{` + head + `,"spec":{"name":null,"when":null}}`, want: `{` + head + `,"spec":{"name":null}}`},
		{name: "defaults of what is stored", in: `{` + head + `,"spec":{}}`, want: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","generation":1},"spec":{"size":1}}`, stored: true},
		{
			name: "another version", in: `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":"a","generation":4},"spec":{"x":1,"size":2}}`,
			want: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","generation":4},"spec":{"size":2}}`, stored: true,
		},
		{name: "a version that is no more", in: `{"apiVersion":"example.com/v0","kind":"Widget"}`, err: `invalid group/version: example.com/v0`, stored: true},
		{name: "metadata", in: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"labels":{"a":1}}}`, err: "labels"},
		{name: "stored metadata", in: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","generation":1,"labels":{"a":1,"b":"c"}}}`, want: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","generation":1}}`, stored: true},
		{name: "embedded", in: `{` + head + `,"spec":{"embedded":{"apiVersion":"v1","kind":"X","metadata":{"name":"b","x":1},"spec":{"a":"b","c":1}}}}`, want: `{` + head + `,"spec":{"embedded":{"apiVersion":"v1","kind":"X","metadata":{"name":"b"},"spec":{"a":"b"}}}}`, unknown: []string{"spec.embedded.spec.c", "spec.embedded.metadata.x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := object(t, test.in)
			unknown, err := row.Coerce(u, test.stored)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("want %s, got %v", test.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.unknown, unknown); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(object(t, test.want).Object, u.Object); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConvert(t *testing.T) {
	k := kinds(t, base)
	other := k.Served[1]
	stored := object(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":2}}`)
	before := stored.DeepCopy()
	got := other.Storage.From(stored).(*unstructured.Unstructured)
	if got.GetAPIVersion() != "example.com/v1beta1" {
		t.Errorf("%v", got)
	}
	got.Object["spec"].(map[string]any)["x"] = "y"
	back := other.Storage.To(got).(*unstructured.Unstructured)
	if diff := cmp.Diff(before.Object, back.Object); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before.Object, stored.Object); diff != "" {
		t.Errorf("what is stored was changed: %s", diff)
	}
}

func TestWebhook(t *testing.T) {
	d := parse(t, base)
	url := "https://example.com"
	d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url}, ConversionReviewVersions: []string{"v1"},
	}}
	Settle(d, nil, metav1.Time{})
	k := New(d, nil)
	if k.Stored.Stored != nil || k.Served[1].Stored == nil {
		t.Fatalf("%v %v", k.Stored.Stored, k.Served[1].Stored)
	}
	if _, err := k.Served[1].Coerce(object(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}`), true); err == nil {
		t.Error("converted without webhooks")
	}
}

func TestCells(t *testing.T) {
	now := clock.Real().Now()
	_, cells := printer([]apiextensionsv1.CustomResourceColumnDefinition{
		{Name: "S", Type: "string", JSONPath: ".spec.s"},
		{Name: "I", Type: "integer", JSONPath: ".spec.i"},
		{Name: "N", Type: "number", JSONPath: ".spec.i"},
		{Name: "B", Type: "boolean", JSONPath: ".spec.b"},
		{Name: "D", Type: "date", JSONPath: ".spec.d"},
		{Name: "Bad date", Type: "date", JSONPath: ".spec.s"},
		{Name: "Wrong", Type: "integer", JSONPath: ".spec.s"},
		{Name: "Missing", Type: "string", JSONPath: ".spec.x.y"},
		{Name: "List", Type: "string", JSONPath: ".spec.l"},
		{Name: "Filter", Type: "string", JSONPath: `.spec.c[?(@.type=="Ready")].status`},
	})
	u := object(t, `{"metadata":{"name":"a"},"spec":{"s":"x","i":3,"b":true,"l":["a","b"],"c":[{"type":"Ready","status":"True"}]}}`)
	u.Object["spec"].(map[string]any)["d"] = now.Add(-5e9 * 60).UTC().Format("2006-01-02T15:04:05Z")
	want := []any{"a", "x", int64(3), float64(3), true, "5m", "<invalid>", nil, nil, `["a","b"]`, "True"}
	if diff := cmp.Diff(want, cells(u, now)); diff != "" {
		t.Error(diff)
	}
}

func TestRepeatedFinalizerWarnings(t *testing.T) {
	u := object(t, `{"metadata":{"name":"a","finalizers":["foregroundDeletion","plain","a.b","example.com/x"]}}`)
	got := finalizerWarnings(u, nil)
	if len(got) != 2 || !strings.HasPrefix(got[0], `metadata.finalizers: "a.b": prefer a domain-qualified finalizer name including a path (/)`) {
		t.Errorf("%q", got)
	}
	if got := finalizerWarnings(u, u); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// FuzzSchema validates arbitrary schemas and, with the valid ones, arbitrary objects:
// nothing may panic, and defaults must satisfy the schema.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","default":"b"}}}}}`), []byte(`{"spec":{"a":1}}`))
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}`), []byte(`{"a":[{"b":null}]}`))
	f.Add([]byte(`{"type":"object","x-kubernetes-validations":[{"rule":"has(self.a) || true"}],"properties":{"a":{"x-kubernetes-int-or-string":true}}}`), []byte(`{"a":"x"}`))
	f.Add([]byte(`{"type":"object","additionalProperties":{"type":"integer","nullable":true,"default":3}}`), []byte(`{"a":null}`))
	f.Fuzz(func(t *testing.T, schema, body []byte) {
		d := parse(t, base)
		props := &apiextensionsv1.JSONSchemaProps{}
		if json.Unmarshal(schema, props) != nil {
			return
		}
		d.Spec.Versions[0].Schema.OpenAPIV3Schema = props
		strategy := row().Strategy
		strategy.PrepareCreate(d)
		if len(strategy.ValidateCreate(d)) > 0 {
			return
		}
		Settle(d, nil, metav1.Time{})
		kind := New(d, nil).Stored
		u := &unstructured.Unstructured{}
		if kjson.UnmarshalCaseSensitivePreserveInts(body, &u.Object) != nil || u.Object == nil {
			return
		}
		u.SetGroupVersionKind(kind.GroupVersionKind)
		if _, err := kind.Coerce(u, false); err != nil {
			return
		}
		kind.Strategy.Default(u)
		kind.Strategy.PrepareCreate(u)
		if len(kind.Strategy.ValidateCreate(u)) > 0 {
			return
		}
		// A valid object stays valid in an update without changes.
		if errs := kind.Strategy.ValidateUpdate(u.DeepCopy(), u); len(errs) > 0 && len(d.Spec.Versions[0].Schema.OpenAPIV3Schema.XValidations) == 0 {
			t.Errorf("an object that is valid is not when it is updated: %v", errs)
		}
		if _, err := kind.Schema(false); err != nil {
			t.Error(err)
		}
		if _, err := kind.Schema(true); err != nil {
			t.Error(err)
		}
	})
}
