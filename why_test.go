package minikcm_test

import (
	"encoding/json"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// A running cluster explains its objects to every client.
func TestWhyIsServed(t *testing.T) {
	t.Parallel()
	c, err := minikcm.Start(t.Context(), minikcm.Options{NoHTTPS: true, Seed: 1, ClockMode: clock.ModeVirtual})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Ledger().WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	get := func(resource, namespace, name string) ([]byte, error) {
		result := c.Client().Discovery().RESTClient().Get().AbsPath("/minikcm/v1/why").SetHeader("Accept", "application/json").
			Param("resource", resource).Param("namespace", namespace).Param("name", name).Do(t.Context())
		if err := result.Error(); err != nil {
			return nil, err
		}
		return result.Raw()
	}
	data, err := get("serviceaccounts", "shop", "default")
	if err != nil {
		t.Fatal(err)
	}
	var e minikcm.Explanation
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	if e.Creation == nil || e.Creation.Writer() != "serviceaccount-controller" || len(e.Creation.Because) != 1 || e.Creation.Because[0].Name != "shop" {
		t.Errorf("the account was made because the namespace was, but the cluster says:\n%s", data)
	}
	if _, err := get("pods", "shop", "nobody"); !apierrors.IsNotFound(err) {
		t.Errorf("of what was never written: %v", err)
	}
	if _, err := get("pods", "shop", ""); !apierrors.IsBadRequest(err) {
		t.Errorf("without a name: %v", err)
	}
	if result := c.Client().Discovery().RESTClient().Post().AbsPath("/minikcm/v1/why").Do(t.Context()); result.Error() == nil {
		t.Errorf("a POST is answered with %d", http.StatusOK)
	}
}
