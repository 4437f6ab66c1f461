package apiserver_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

const slowPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"slow"},"spec":{"containers":[{"name":"a","image":"a","resources":{"requests":{"cpu":%s}}}]}}`

// TestQuantitiesThatTakeLong sends quantities that upstream's parser would compute with for hours.
func TestQuantitiesThatTakeLong(t *testing.T) {
	h := start(t)
	const pods = "/api/v1/namespaces/default/pods"
	const says = "a quantity has more than"
	must(h.client().CoreV1().Pods("default").Create(h.ctx, pod("web"), metav1.CreateOptions{}))(t)
	for name, text := range map[string]string{
		"an exponent": `"1e-99999999"`, "a large one": `"1E+99999999"`, "a number": `1e-99999999`, "an escaped exponent": `"1\u0065-9\u0039999999"`, "a key that occurs twice": `"1e-99999999","cpu":"1"`,
		"digits": `"0.` + strings.Repeat("1", 1_000_000) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			wantReply(t, h.send("POST", pods, fmt.Sprintf(slowPod, text)), 400, metav1.StatusReasonBadRequest, says)
		})
	}
	wantReply(t, h.send("POST", pods, "kind: Pod\napiVersion: v1\nmetadata: {name: slow}\nspec: {containers: [{name: a, image: a, resources: {limits: {cpu: \"1\\x65-99999999\"}}}]}\n", "Content-Type", "application/yaml"),
		400, metav1.StatusReasonBadRequest, says)
	wantReply(t, h.send("POST", mapsPath, fmt.Sprintf(slowPod, `"1e-99999999"`)), 400, metav1.StatusReasonBadRequest, says)
	wantReply(t, h.send("POST", pods, string(slowMessage(t)), "Content-Type", "application/vnd.kubernetes.protobuf"), 400, metav1.StatusReasonBadRequest, says)

	const path = pods + "/web"
	slow := `{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"1e-99999999"}}}]}}`
	wantReply(t, h.send("PATCH", path, slow, "Content-Type", "application/strategic-merge-patch+json"), 400, metav1.StatusReasonBadRequest, says)
	wantReply(t, h.send("PATCH", path, slow, "Content-Type", "application/merge-patch+json"), 422, metav1.StatusReasonInvalid, says)
	wantReply(t, h.send("PATCH", path, `[{"op":"add","path":"/spec/containers/0/resources","value":{"requests":{"cpu":"1e-99999999"}}}]`, "Content-Type", "application/json-patch+json"), 422, metav1.StatusReasonInvalid, says)
	wantReply(t, h.send("PATCH", path+"?fieldManager=me", fmt.Sprintf(strings.Replace(slowPod, "slow", "web", 1), `"1e-99999999"`), "Content-Type", "application/apply-patch+yaml"), 400, metav1.StatusReasonBadRequest, says)

	// Text that is no quantity may look like one.
	h.mustSend("POST", mapsPath, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"1e99999999","labels":{"commit":"1e99999999"}},"data":{"1e99999999":"1e-99999999"}}`)
	must(h.client().CoreV1().Pods("default").Create(h.ctx, pod("1e99999999"), metav1.CreateOptions{}))(t)
}

// slowMessage is a pod as protobuf, with a quantity that no encoder would write.
func slowMessage(t *testing.T) []byte {
	t.Helper()
	object := pod("slow")
	object.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	object.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("123456789013")}
	data, err := runtime.Encode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), object)
	if err != nil || !bytes.Contains(data, []byte("123456789013")) {
		t.Fatalf("%q, %v", data, err)
	}
	return bytes.Replace(data, []byte("123456789013"), []byte("1e-999999999"), 1)
}
