package nodepools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// TestParse reads the example of the documentation.
func TestParse(t *testing.T) {
	pools, err := Load("testdata/pools.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, p := range pools {
		fmt.Fprintf(&text, "%s: %d nodes in zones %v\n", p.Name, p.Count, p.Zones)
		fmt.Fprintf(&text, "  labels %v annotations %q taints %v unschedulable %v\n", p.Node.Labels, p.Node.Annotations, p.Node.Taints, p.Node.Unschedulable)
		fmt.Fprintf(&text, "  capacity %s allocatable %s\n", amountsText(p), allocatableText(p))
		fmt.Fprintf(&text, "  images %v kubelet %q\n", p.Node.Images, p.Node.KubeletVersion)
	}
	golden.Compare(t, "testdata/pools.golden", text.String())
}

func amountsText(p minikcm.Pool) string {
	cpu, gpu := p.Node.Capacity["cpu"], p.Node.Capacity["nvidia.com/gpu"]
	return fmt.Sprintf("cpu=%s gpu=%s of %d", cpu.String(), gpu.String(), len(p.Node.Capacity))
}

func allocatableText(p minikcm.Pool) string {
	memory := p.Node.Allocatable["memory"]
	return fmt.Sprintf("memory=%s of %d", memory.String(), len(p.Node.Allocatable))
}

// TestBadFiles: the error of a bad file names the line and the field of everything that is wrong.
func TestBadFiles(t *testing.T) {
	const head = "apiVersion: minikcm.dev/v1alpha1\nkind: NodePools\nspec:\n  pools:\n"
	var text strings.Builder
	for _, file := range []string{
		"", "kind: [", "apiVersion: v1\nkind: Nodes\n", head + "    []\n",
		head + "  - name: a\n    count: 3\n",
		head + "  - name: a\n  - name: a\n---\n" + head + "  - name: a\n",
		head + "  - name: A b\n    nodes: -1\n    capacity: {cpu: many}\n    allocatable: {memory: much}\n",
		head + "  - name: a\n    nodes: x\n    labels: {\"a b\": c d}\n    zones: [\"x y\"]\n",
		head + "  - name: a\n    labels: {topology.kubernetes.io/zone: x}\n    zones: [y]\n",
		head + "  - name: a\n    taints: [{key: \"\", effect: NoRun}]\n",
		head + "  - name: a\n    taints: [{key: \"a b\", effect: NoExecute}]\n",
		head + "  - name: a\n    capacity: {cpu: -1}\n",
		head + "  - name: a\n    capacity: {gpu: 1}\n",
		head + "  - name: a\n    annotations: {\"a b\": c}\n",
		head + "  - name: a\n    images: [{size: 1Gi}, {name: \"a b\"}, {name: c, size: -1}, {name: c}]\n",
		head + "  - name: a\n    devices: [{count: 8}, {driver: g, attributes: {\"a.b\": x, m: \"a b\"}, capacity: {memory: big}}]\n",
		head + "  - name: a\n    devices: [{driver: gpu.example.com, count: 5000}]\n",
		head + "  - name: a\n    annotations: {minikcm.dev/devices: g 1, minikcm.dev/ready-delay: 1s}\n    devices: [{driver: g}]\n    readyDelay: 3s\n",
		head + "  - name: a\n    kubeletVersion: newest\n    readyDelay: -3s\n",
		head + "  - name: a\n    annotations: {minikcm.dev/ready-delay: soon}\n",
		head + "  - name: a\n    nodes: 10000\n  - name: b\n    nodes: 10000\n",
		head + "  - name: ${NAME}\n",
		strings.Repeat("#", spec.MaxNodePoolsBytes+1),
	} {
		_, err := Parse("nodes.yaml", []byte(file))
		if err == nil {
			t.Errorf("no error for %s", file)
			continue
		}
		fmt.Fprintf(&text, "%s\n%v\n\n", file[:min(len(file), 500)], err)
	}
	golden.Compare(t, "testdata/bad.golden", text.String())
}

// TestTooLarge: of a file that is too large, no more than the budget is read.
func TestTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nodes.yaml")
	if err := os.WriteFile(path, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "has more than") {
		t.Error(err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// FuzzParse: what is accepted can be simulated, and nothing panics.
func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("testdata/pools.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("apiVersion: minikcm.dev/v1alpha1\nkind: NodePools\nspec: {pools: [{name: a, devices: [{driver: g}]}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pools, err := Parse("nodes.yaml", data)
		if err != nil {
			return
		}
		if err := minikcm.CheckNodes(0, minikcm.NodeSpec{}, pools); err != nil {
			t.Error(err)
		}
	})
}
