package minikcm_test

import (
	"net/http"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/fence"
	"minikcm.dev/minikcm/internal/members"
)

// fencedClient returns a client whose requests carry the header.
func fencedClient(t *testing.T, c *minikcm.Cluster, headers ...string) kubernetes.Interface {
	t.Helper()
	config := c.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return headerSetter{next, headers} })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

type headerSetter struct {
	next   http.RoundTripper
	values []string
}

func (h headerSetter) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header[fence.Header] = h.values
	return h.next.RoundTrip(r)
}

// TestFence writes as the owner of a Lease, before and after another takes the Lease over.
func TestFence(t *testing.T) {
	c := start(t, minikcm.Options{API: minikcm.APIOptions{NoHTTPS: true}, Nodes: minikcm.NodeOptions{Count: -1}, Controllers: minikcm.ControllerOptions{NoScheduler: true, Selected: []string{"-*"}}})
	ctx := t.Context()
	leases := c.Client().CoordinationV1().Leases("default")
	lease, err := leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owner := fencedClient(t, c, fence.Token{Namespace: "default", Name: "owner", Revision: members.Revision(lease)}.String()).CoreV1().ConfigMaps("default")
	config, err := owner.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lease.Annotations = map[string]string{"taken": "over"}
	if _, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	config.Data = map[string]string{"late": "write"}
	for name, write := range map[string]func() error{
		"create": func() error {
			_, err := owner.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "d"}}, metav1.CreateOptions{})
			return err
		},
		"update": func() error {
			_, err := owner.Update(ctx, config, metav1.UpdateOptions{})
			return err
		},
		"patch": func() error {
			_, err := owner.Patch(ctx, "c", types.MergePatchType, []byte(`{"data":{"late":"write"}}`), metav1.PatchOptions{})
			return err
		},
		"delete": func() error { return owner.Delete(ctx, "c", metav1.DeleteOptions{}) },
		"deletecollection": func() error {
			return owner.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=c"})
		},
	} {
		if err := write(); !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "another process has taken over") {
			t.Errorf("%s of a former owner: %v", name, err)
		}
	}
	left, err := c.Client().CoreV1().ConfigMaps("default").Get(ctx, "c", metav1.GetOptions{})
	if err != nil || left.ResourceVersion != config.ResourceVersion {
		t.Errorf("the former owner changed %+v, %v", left, err)
	}
	for _, bad := range [][]string{{"owner"}, {"default/owner@x"}, {"default/owner@1", "default/owner@2"}} {
		_, err := fencedClient(t, c, bad...).CoreV1().ConfigMaps("default").Update(ctx, config, metav1.UpdateOptions{})
		if !apierrors.IsBadRequest(err) {
			t.Errorf("the header %q: %v", bad, err)
		}
	}
}
