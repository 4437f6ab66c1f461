package apiserver_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// CachedObjects yields the namespace's objects that have been read, of built-in and custom
// kinds, and the cluster-scoped ones.
func TestHeld(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.mustSend("POST", "/api/v1/namespaces", `{"metadata":{"name":"shop"}}`)
	h.mustSend("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", asJSON(t, parseDefinition(t, widgetDefinition)))
	for _, namespace := range []string{"default", "shop"} {
		h.mustSend("POST", "/api/v1/namespaces/"+namespace+"/configmaps", `{"metadata":{"name":"a"}}`)
		h.mustSend("POST", "/apis/example.com/v1/namespaces/"+namespace+"/widgets", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":1}}`)
	}
	held := func(namespace string) map[string]int {
		found := map[string]int{}
		for o := range h.server.CachedObjects(namespace) {
			m, err := meta.Accessor(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			if m.GetNamespace() != "" && namespace != "" && m.GetNamespace() != namespace {
				t.Errorf("of %s there is %s %s/%s", namespace, o.Kind.Kind, m.GetNamespace(), m.GetName())
			}
			found[o.Resource]++
		}
		return found
	}
	if got := held(""); got["configmaps"] != 0 || got["widgets"] != 0 {
		t.Errorf("nothing has been read, but held are %v", got)
	}
	for _, path := range []string{"/api/v1/configmaps", "/apis/example.com/v1/widgets", "/api/v1/namespaces"} {
		h.mustSend("GET", path+"?resourceVersion=0", "")
	}
	if got := held("shop"); got["configmaps"] != 1 || got["widgets"] != 1 || got["namespaces"] < 2 {
		t.Errorf("of the namespace are held %v", got)
	}
	if got := held(""); got["configmaps"] < 2 || got["widgets"] != 2 {
		t.Errorf("of all are held %v", got)
	}
}

// An object is found by its plural name or its kind, whether it has been read before or
// not.
func TestFind(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.mustSend("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", asJSON(t, parseDefinition(t, widgetDefinition)))
	h.mustSend("POST", "/apis/example.com/v1/namespaces/default/widgets", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":1}}`)
	for _, test := range []struct {
		group, resource, kind, namespace, name string
		found                                  bool
	}{
		{"", "widgets", "", "default", "a", true},
		{"example.com", "", "Widget", "default", "a", true},
		{"other.com", "widgets", "", "default", "a", false},
		{"", "widgets", "", "default", "b", false},
		{"", "widgets", "", "", "a", false},
		{"", "namespaces", "", "", "default", true},
		{"", "gardeners", "", "default", "a", false},
		{"apps", "", "Namespace", "", "default", false},
	} {
		kind, obj, err := h.server.Find(t.Context(), test.group, test.resource, test.kind, test.namespace, test.name)
		if test.found != (err == nil) || err != nil && !apierrors.IsNotFound(err) || err == nil && (obj == nil || kind.Kind == "") {
			t.Errorf("%v: %v %v, %v", test, kind, obj, err)
		}
	}
	if events, err := h.server.EventsIn(t.Context(), ""); err != nil || len(events) != 0 {
		t.Errorf("events: %v, %v", events, err)
	}
	h.mustSend("POST", "/api/v1/namespaces/default/events", `{"metadata":{"name":"e"},"type":"Warning","reason":"Late","involvedObject":{"kind":"Widget","namespace":"default","name":"a"}}`)
	if events, err := h.server.EventsIn(t.Context(), "default"); err != nil || len(events) != 1 || events[0].Reason != "Late" || events[0].Revision == 0 {
		t.Errorf("events: %v, %v", events, err)
	}
}
