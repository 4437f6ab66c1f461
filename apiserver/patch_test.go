package apiserver_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

func TestPatches(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		pods := h.client(cfg).CoreV1().Pods("default")
		p := pod("p")
		p.Labels = map[string]string{"a": "1", "b": "2"}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "side", Image: "example.com/side:1"})
		made := must(pods.Create(h.ctx, p, metav1.CreateOptions{}))(t)
		for _, c := range []struct {
			kind  types.PatchType
			patch string
			check func(*corev1.Pod) bool
		}{
			{
				types.JSONPatchType, `[{"op":"test","path":"/metadata/labels/a","value":"1"},{"op":"replace","path":"/metadata/labels/a","value":"x"},{"op":"remove","path":"/metadata/labels/b"}]`,
				func(p *corev1.Pod) bool { return p.Labels["a"] == "x" && len(p.Labels) == 1 },
			},
			{
				types.MergePatchType, `{"metadata":{"labels":{"a":null,"c":"3"}}}`,
				func(p *corev1.Pod) bool { return p.Labels["c"] == "3" && len(p.Labels) == 1 },
			},
			{
				types.StrategicMergePatchType, `{"spec":{"containers":[{"name":"side","image":"example.com/side:2"}]}}`,
				func(p *corev1.Pod) bool {
					return len(p.Spec.Containers) == 2 && p.Spec.Containers[0].Image == "example.com/app:1" && p.Spec.Containers[1].Image == "example.com/side:2"
				},
			},
			{
				types.StrategicMergePatchType, `{"metadata":{"labels":{"$patch":"replace","only":"this"}}}`,
				func(p *corev1.Pod) bool { return p.Labels["only"] == "this" && len(p.Labels) == 1 },
			},
		} {
			changed := must(pods.Patch(h.ctx, "p", c.kind, []byte(c.patch), metav1.PatchOptions{}))(t)
			if !c.check(changed) || changed.UID != made.UID {
				t.Errorf("%s %s: %+v", c.kind, c.patch, changed)
			}
		}
	})
}

func TestPatchesThatFail(t *testing.T) {
	h := start(t)
	const path = "/api/v1/namespaces/default/configmaps/"
	made := must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a", "k", "v"), metav1.CreateOptions{}))(t)
	const jsonPatch, merge, strategic = "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"
	for _, c := range []struct {
		kind, name, patch string
		code              int32
		reason            metav1.StatusReason
		text              string
	}{
		{jsonPatch, "a", `[{"op":"test","path":"/data/k","value":"w"}]`, 422, metav1.StatusReasonInvalid, "the server rejected our request due to an error in our request"},
		{jsonPatch, "a", `[{"op":"remove","path":"/data/none"}]`, 422, metav1.StatusReasonInvalid, "the server rejected our request due to an error in our request"},
		{jsonPatch, "a", `{"op":"remove"}`, 400, metav1.StatusReasonBadRequest, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"},
		{jsonPatch, "a", `[{"op":`, 400, metav1.StatusReasonBadRequest, "error decoding patch: "},
		{jsonPatch, "a", `[{"op":"replace","path":"/data","value":"text"}]`, 422, metav1.StatusReasonInvalid, `patch: Invalid value: "{`},
		{jsonPatch, "a", "[" + strings.Repeat(`{"op":"test","path":"/data/k","value":"v"},`, 10000) + `{"op":"test","path":"/data/k","value":"v"}]`, 413, metav1.StatusReasonRequestEntityTooLarge, "The allowed maximum operations in a JSON patch is 10000, got 10001"},
		{merge, "a", `[]`, 400, metav1.StatusReasonBadRequest, "error decoding patch: "},
		{merge, "a", `{"data":`, 400, metav1.StatusReasonBadRequest, "error decoding patch: "},
		{merge, "a", `{"data":[1]}`, 422, metav1.StatusReasonInvalid, "patch: Invalid value"},
		{merge, "a", `{"metadata":{"name":"b"}}`, 400, metav1.StatusReasonBadRequest, "the name of the object (b) does not match the name on the URL (a)"},
		{merge, "a", `{"metadata":{"namespace":"b"}}`, 400, metav1.StatusReasonBadRequest, "the namespace of the provided object does not match the namespace sent on the request"},
		{merge, "a", `{"kind":"Pod"}`, 422, metav1.StatusReasonInvalid, "unable to decode /v1, Kind=Pod into *v1.ConfigMap"},
		{merge, "a", `{"metadata":{"resourceVersion":"1"}}`, 409, metav1.StatusReasonConflict, staleMessage},
		{merge, "a", `{"metadata":{"uid":"other"}}`, 422, metav1.StatusReasonInvalid, `metadata.uid: Invalid value: "other": field is immutable`},
		{merge, "none", `{}`, 404, metav1.StatusReasonNotFound, `configmaps "none" not found`},
		{strategic, "none", `{}`, 404, metav1.StatusReasonNotFound, `configmaps "none" not found`},
		{strategic, "a", `{"data":`, 400, metav1.StatusReasonBadRequest, ""},
		{strategic, "a", `[]`, 400, metav1.StatusReasonBadRequest, ""},
		{strategic, "a", `{"data":{"$patch":"burn"}}`, 500, metav1.StatusReasonUnknown, "unknown patch type: burn in map: map[$patch:burn]"},
		{strategic, "a", `{"data":5}`, 422, metav1.StatusReasonInvalid, "patch: Invalid value"},
		{"application/json", "a", `{}`, 415, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type"},
		{"", "a", `{}`, 415, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type"},
	} {
		r := h.send("PATCH", path+c.name, c.patch, "Content-Type", c.kind)
		s := r.status(t)
		if r.code != int(c.code) || s.Reason != c.reason || !strings.Contains(s.Message, c.text) {
			t.Errorf("%s %.60s: %d %s %.300q\nwant %d %s %q", c.kind, c.patch, r.code, s.Reason, s.Message, c.code, c.reason, c.text)
		}
	}
	if now := must(h.client().CoreV1().ConfigMaps("default").Get(h.ctx, "a", metav1.GetOptions{}))(t); now.ResourceVersion != made.ResourceVersion {
		t.Fatalf("something was stored: %+v", now)
	}
}

// Numbers that no float64 represents survive a patch.
func TestPatchKeepsLargeNumbers(t *testing.T) {
	h := start(t)
	must(h.client().CoreV1().Pods("default").Create(h.ctx, pod("p"), metav1.CreateOptions{}))(t)
	const big = 9007199254740993
	for i, kind := range []types.PatchType{types.StrategicMergePatchType, types.MergePatchType} {
		patch := `{"metadata":{"annotations":{"try":"` + string(kind) + `"}},"status":{"observedGeneration":9007199254740993}}`
		changed := must(h.client().CoreV1().Pods("default").Patch(h.ctx, "p", kind, []byte(patch), metav1.PatchOptions{}, "status"))(t)
		if changed.Status.ObservedGeneration != big {
			t.Errorf("patch %d: %d", i, changed.Status.ObservedGeneration)
		}
	}
}

func TestFieldValidationOfPatches(t *testing.T) {
	h := start(t)
	const path = "/api/v1/namespaces/default/configmaps/a?fieldValidation="
	must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
	for kind, patch := range map[string]string{
		"application/merge-patch+json":           `{"data":{"k":"1"},"bogus":1,"data":{"k":"2"}}`,
		"application/strategic-merge-patch+json": `{"data":{"k":"1"},"bogus":1,"data":{"k":"2"}}`,
		"application/json-patch+json":            `[{"op":"add","path":"/bogus","value":1,"bogus":2,"op":"add"}]`,
	} {
		s := wantReply(t, h.send("PATCH", path+"Strict", patch, "Content-Type", kind), 422, metav1.StatusReasonInvalid, "strict decoding error: ")
		for _, text := range []string{`unknown field "bogus"`, `duplicate field "`} {
			if !strings.Contains(s.Message, text) {
				t.Errorf("%s: no %q in %q", kind, text, s.Message)
			}
		}
		for _, warn := range []string{"Warn", ""} {
			if r := h.mustSend("PATCH", path+warn, patch, "Content-Type", kind); len(r.header["Warning"]) < 2 {
				t.Errorf("%s: warnings: %q", kind, r.header["Warning"])
			}
		}
		if r := h.mustSend("PATCH", path+"Ignore", patch, "Content-Type", kind); len(r.header["Warning"]) != 0 {
			t.Errorf("%s: warnings though they are not wanted: %q", kind, r.header["Warning"])
		}
	}
	wantReply(t, h.send("PATCH", path+"Maybe", "{}", "Content-Type", "application/merge-patch+json"), 422, metav1.StatusReasonInvalid, `fieldValidation: Unsupported value: "Maybe"`)
}
