package dump

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/golden"
)

func objects(t *testing.T, data string) []*unstructured.Unstructured {
	t.Helper()
	all, err := Decode([]byte(data), MaxObjects)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const owners = `
{apiVersion: v1, kind: ResourceQuota, metadata: {name: quota, namespace: a}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: a, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: rs}]}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, namespace: a, uid: rs, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: of-web, namespace: a, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: a, uid: d, ownerReferences: [{apiVersion: shop.example.com/v1, kind: Shop, name: s, uid: shop}]}}
---
{apiVersion: shop.example.com/v1, kind: Shop, metadata: {name: s, namespace: a, uid: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: a}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {claimRef: {name: c, namespace: a, uid: claim}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: a, uid: claim}, spec: {volumeName: v}}
---
{apiVersion: v1, kind: Node, metadata: {name: node}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot, namespace: a}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: gang, namespace: a}, spec: {priorityClassName: high}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: a}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: shops.shop.example.com}}
---
{apiVersion: example.com/v1, kind: Loop, metadata: {name: x, namespace: a, uid: x, ownerReferences: [{apiVersion: example.com/v1, kind: Loop, name: "y", uid: "y"}]}}
---
{apiVersion: example.com/v1, kind: Loop, metadata: {name: "y", namespace: a, uid: "y", ownerReferences: [{apiVersion: example.com/v1, kind: Loop, name: x, uid: x}]}}
`

// Owners come first, regardless of their order in the dump.
// TestLeftOut checks the reasons for which objects are left out.
func TestLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		"{apiVersion: v1, kind: ComponentStatus, metadata: {name: scheduler}}":                                    leftOwn,
		"{apiVersion: metrics.k8s.io/v1beta1, kind: NodeMetrics, metadata: {name: a}}":                            leftMetrics,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt, namespace: default}}":               leftOwn,
		"{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: node-0, namespace: kube-node-lease}}": leftLease,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: default}}":                            "",
	} {
		if got := leftOut(objects(t, text)[0]); got != want {
			t.Errorf("%s is left out because %q, want %q", text, got, want)
		}
	}
}

func TestOrder(t *testing.T) {
	want := []string{
		"customresourcedefinition/shops.shop.example.com", "namespace/a", "priorityclass/high", "serviceaccount/robot in a", "configmap/a in a", "configmap/b in a",
		"persistentvolumeclaim/c in a", "persistentvolume/v", "node/node", "podgroup/gang in a", "shop/s in a", "loop/y in a", "loop/x in a",
		"deployment/web in a", "configmap/of-web in a", "replicaset/web in a", "pod/web-1 in a", "resourcequota/quota in a",
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		all := objects(t, owners)
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		ordered(all)
		var got []string
		for _, o := range all {
			if o.GetKind() != "Loop" {
				got = append(got, nameOf(o))
			}
		}
		without := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return strings.HasPrefix(name, "loop/") })
		if !slices.Equal(got, without) {
			t.Fatalf("got %v, want %v", got, without)
		}
	}
}

// The plan and the summary of a dump that contains each special case once.
func TestPlan(t *testing.T) {
	data, err := Read([]string{"testdata/peculiar.yaml"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data.RedactSecrets()
	for name, opts := range map[string]Options{"all": {Nodes: []string{"elsewhere"}}, "roots": {Nodes: []string{"elsewhere"}, RootsOnly: true}} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			s := Summary{Sources: []string{"testdata/peculiar.yaml"}}
			for _, p := range data.plan(&opts, &s) {
				text, err := yaml.Marshal(p.object.Object)
				if err != nil {
					t.Fatal(err)
				}
				if !p.standIn {
					s.loaded(p.object.GetKind())
				}
				out.WriteString("---\n" + string(text))
				if p.status != nil {
					readjust(p.object, p.status, p.generation, 1, time.Hour)
					text, err := yaml.Marshal(map[string]any{"status": p.status})
					if err != nil {
						t.Fatal(err)
					}
					out.WriteString("# written afterwards\n" + string(text))
				}
				if p.doomed {
					out.WriteString("# deleted at last\n")
				}
			}
			s.sort()
			golden.Compare(t, "testdata/"+name+".objects.golden", out.String())
			var printed strings.Builder
			if err := s.Print(&printed); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/"+name+".summary.golden", printed.String())
		})
	}
}

func TestRewire(t *testing.T) {
	uids := map[types.UID]types.UID{"old-1": "new-1", "old-2": "new-2"}
	o := objects(t, `
{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {controller-uid: old-1, note: pvc-old-1},
  ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: old-1}, {apiVersion: v1, kind: B, name: b, uid: gone}]}, list: [old-2, [old-1]]}`)[0]
	if !dropOwners(o, uids) {
		t.Error("the owner that is gone was kept")
	}
	rewire(o.Object, uids)
	want := objects(t, `
{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {controller-uid: new-1, note: pvc-old-1},
  ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: new-1}]}, list: [new-2, [new-1]]}`)[0]
	got, _ := yaml.Marshal(o.Object)
	wanted, _ := yaml.Marshal(want.Object)
	if string(got) != string(wanted) {
		t.Errorf("got\n%s\nwant\n%s", got, wanted)
	}
	if dropOwners(o, map[types.UID]types.UID{"new-1": "x"}) {
		t.Error("an owner that is there was dropped")
	}
}

func TestTaken(t *testing.T) {
	d := New("test", objects(t, `
{apiVersion: v1, kind: Pod, metadata: {name: p, creationTimestamp: "2026-03-01T10:00:00Z"}, status: {startTime: "2026-03-01T10:00:05Z"}}
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: {renewTime: "2026-03-01T11:00:00.123456Z"}}
---
{apiVersion: example.com/v1, kind: Certificate, metadata: {name: c}, status: {notAfter: "2030-01-01T00:00:00Z"}}
`))
	if got, want := d.Taken(), time.Date(2026, 3, 1, 11, 0, 0, 123456000, time.UTC); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
