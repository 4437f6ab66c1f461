package apiserver_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// copyBomb returns a JSON patch that copies data into itself: each copy doubles it.
func copyBomb(copies int) string {
	operations := make([]string, copies)
	for i := range operations {
		operations[i] = fmt.Sprintf(`{"op":"copy","from":"/data","path":"/data/c%d"}`, i)
	}
	return "[" + strings.Join(operations, ",") + "]"
}

func TestJSONPatchCopies(t *testing.T) {
	h := start(t)
	const path = mapsPath + "/a"
	value := strings.Repeat("v", 100_000)
	made := must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a", "k", value), metav1.CreateOptions{}))(t)

	// Without the limit, this object would have 100 kB * 2^10.
	wantReply(t, h.send("PATCH", path, copyBomb(10), "Content-Type", "application/json-patch+json"),
		422, metav1.StatusReasonInvalid, "the server rejected our request due to an error in our request")
	if now := must(h.client().CoreV1().ConfigMaps("default").Get(h.ctx, "a", metav1.GetOptions{}))(t); now.ResourceVersion != made.ResourceVersion {
		t.Errorf("something was stored: %d keys", len(now.Data))
	}
	few := `[{"op":"copy","from":"/data/k","path":"/data/l"},{"op":"copy","from":"/data/k","path":"/data/m"}]`
	h.mustSend("PATCH", path, few, "Content-Type", "application/json-patch+json")
	if now := must(h.client().CoreV1().ConfigMaps("default").Get(h.ctx, "a", metav1.GetOptions{}))(t); now.Data["m"] != value {
		t.Errorf("copies within the limit: %d keys", len(now.Data))
	}
}
