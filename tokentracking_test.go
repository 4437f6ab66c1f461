package minikcm_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/minikcmtest"
)

// TestTokenTracking checks the ConfigMap that says since when the use of tokens is recorded.
func TestTokenTracking(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime())
	tracking, err := c.Client().CoreV1().ConfigMaps("kube-system").Get(t.Context(), "kube-apiserver-legacy-service-account-token-tracking", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := c.Clock().Now().UTC().Format(time.DateOnly); tracking.Data["since"] != want {
		t.Errorf("since %q, want %q", tracking.Data["since"], want)
	}
}
