package determinism

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
)

// identityLost lets the API server's Lease be deleted while its entries in StorageVersions exist.
func identityLost(ctx context.Context, d *driver) error {
	loses := func(ctx context.Context, d *driver) error {
		return d.client.CoordinationV1().Leases("kube-system").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "apiserver.kubernetes.io/identity"})
	}
	return inOrder(ctx, d, pass(time.Minute), loses, pass(2*time.Hour))
}

// TestStorageVersionsReplay compares runs of one seed in which the API server renews its Lease, and reports its storage
// versions again after these were collected.
func TestStorageVersionsReplay(t *testing.T) {
	t.Parallel()
	on := func(o *minikcm.Options) { o.EnableFeature("StorageVersionAPI") }
	first := writesOf(t, 7, identityLost, on)
	if text := strings.Join(first, "\n"); !strings.Contains(text, "delete storageversions") {
		t.Error("no StorageVersion was deleted")
	}
	for n := 2; n <= *runs; n++ {
		again := writesOf(t, 7, identityLost, on)
		if at := firstDifference(first, again); at >= 0 {
			t.Fatalf("run %d differs from the first one at write %d of %d:\n%s", n, at, len(first), cmp.Diff(around(first, at), around(again, at)))
		}
	}
}
