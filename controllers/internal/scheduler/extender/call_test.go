package extender

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func serve(t *testing.T, spec configv1.Extender, handle http.HandlerFunc) *Extender {
	t.Helper()
	start := httptest.NewServer
	if spec.EnableHTTPS {
		start = httptest.NewTLSServer
	}
	server := start(handle)
	spec.URLPrefix = server.URL + "/v1/"
	e, err := New(&spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Close()
		server.Close()
	})
	return e
}

func TestBadAnswers(t *testing.T) {
	endless := func(w http.ResponseWriter) {
		chunk := []byte(strings.Repeat(" ", 1<<20))
		for range maxAnswerBytes>>20 + 1 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	tests := []struct {
		name   string
		answer func(w http.ResponseWriter)
		want   string
	}{
		{"status", func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, "failed filter with extender at URL URL/v1/filter, code 500"},
		{"redirect", func(w http.ResponseWriter) { w.Header().Set("Location", "/"); w.WriteHeader(http.StatusFound) }, "code 302"},
		{"not JSON", func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) }, "reading the answer to filter of extender at URL URL/v1/filter: invalid character '<'"},
		{"empty", func(http.ResponseWriter) {}, "unexpected end of JSON input"},
		{"cut off", func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"NodeNames": ["n`)) }, "unexpected end of JSON input"},
		{"too large", endless, "it has more than 67108864 bytes"},
		{"nested", func(w http.ResponseWriter) { _, _ = w.Write([]byte(strings.Repeat("[", 1000))) }, "nested more than 100 levels"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := serve(t, configv1.Extender{FilterVerb: "filter"}, func(w http.ResponseWriter, _ *http.Request) { tt.answer(w) })
			_, err := e.Filter(t.Context(), st.Pod("p"), three())
			if want := strings.ReplaceAll(tt.want, "URL/", strings.TrimSuffix(e.Name(), "v1/")); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

// The arguments have whole nodes, or only names for an extender that caches nodes, over HTTPS too.
func TestArguments(t *testing.T) {
	for _, cached := range []bool{false, true} {
		e := serve(t, configv1.Extender{FilterVerb: "filter", NodeCacheCapable: cached, EnableHTTPS: cached}, func(w http.ResponseWriter, r *http.Request) {
			var args extenderv1.ExtenderArgs
			if err := json.NewDecoder(r.Body).Decode(&args); err != nil || args.Pod.Name != "p" || r.Method != http.MethodPost {
				t.Errorf("%s: pod %v, error %v", r.Method, args.Pod, err)
			}
			if (args.Nodes == nil) != cached || (args.NodeNames == nil) == cached {
				t.Errorf("cached %t: nodes %v, names %v", cached, args.Nodes, args.NodeNames)
			}
			_ = json.NewEncoder(w).Encode(extenderv1.ExtenderFilterResult{Nodes: args.Nodes, NodeNames: args.NodeNames})
		})
		if out, err := e.Filter(t.Context(), st.Pod("p"), three()); err != nil || len(out) > 0 {
			t.Errorf("excluded %v, error %v", out, err)
		}
	}
}

func TestInterested(t *testing.T) {
	e, err := New(&configv1.Extender{ManagedResources: []configv1.ExtenderManagedResource{{Name: "example.com/gpu"}}})
	if err != nil {
		t.Fatal(err)
	}
	inInit := st.Pod("init")
	inInit.Spec.InitContainers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: st.Quantities("example.com/gpu", "1")}}}
	for pod, want := range map[*corev1.Pod]bool{st.Pod("none", st.Requests("cpu", "1")): false, st.Pod("one", st.Requests("example.com/gpu", "1")): true, inInit: true} {
		if got := e.Interested(pod); got != want {
			t.Errorf("%s: %t, want %t", pod.Name, got, want)
		}
	}
}
