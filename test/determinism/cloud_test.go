package determinism

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/kubeletsim"
)

const cloudNamespace = "minikcm-cloud"

func setInstance(name, state string) step {
	return func(ctx context.Context, d *driver) error {
		_, err := d.client.CoreV1().ConfigMaps(cloudNamespace).Patch(ctx, name, types.MergePatchType, []byte(`{"data":{"state":"`+state+`"}}`), metav1.PatchOptions{})
		return err
	}
}

func deleteInCloud(name string) step {
	return func(ctx context.Context, d *driver) error {
		return d.client.CoreV1().ConfigMaps(cloudNamespace).Delete(ctx, name, metav1.DeleteOptions{})
	}
}

// cloudActs stops and deletes instances of nodes with pods.
func cloudActs(ctx context.Context, d *driver) error {
	return inOrder(ctx, d,
		deployment("web", 8), pass(20*time.Second), setInstance("node-0", "stopped"), deleteInCloud("node-1"), makeNode("extra"), pass(2*time.Minute),
		kill("web"), setInstance("node-0", "running"), pass(6*time.Minute), node("node-1", (*kubeletsim.Kubelets).StartNode), pass(time.Minute),
	)
}

// TestCloudReplays compares runs of one seed in the simulated cloud.
func TestCloudReplays(t *testing.T) {
	t.Parallel()
	inCloud := func(o *minikcm.Options) {
		o.Nodes.Cloud, o.Nodes.Manage = "simulated", minikcm.ManageAll
		o.Nodes.PodNetworks = minikcm.PodNetworks{Allocate: true, ClusterCIDR: "10.9.0.0/16"}
	}
	first := writesOf(t, 7, cloudActs, inCloud)
	for n := 2; n <= *runs; n++ {
		again := writesOf(t, 7, cloudActs, inCloud)
		if at := firstDifference(first, again); at >= 0 {
			t.Fatalf("run %d differs from the first one at write %d of %d:\n%s", n, at, len(first), cmp.Diff(around(first, at), around(again, at)))
		}
	}
	if slices.Equal(first, writesOf(t, 8, cloudActs, inCloud)) {
		t.Error("another seed changes nothing")
	}
}
