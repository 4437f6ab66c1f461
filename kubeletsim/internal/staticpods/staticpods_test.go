package staticpods

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

const etcd = `
# the comment of a file
apiVersion: v1
kind: Pod
metadata: {name: etcd, namespace: kube-system, labels: {tier: control-plane}}
spec:
  containers: [{name: etcd, image: etcd:3.7}]
`

func folder(annotations map[string]string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "manifests", Labels: map[string]string{LabelStaticPods: ""}, Annotations: annotations},
		Data:       data,
	}
}

func node(name string, labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid", Labels: labels}}
}

func mirrors(t *testing.T, c *corev1.ConfigMap, n *corev1.Node) []*corev1.Pod {
	t.Helper()
	f, err := Parse(c)
	if err != nil {
		t.Fatal(err)
	}
	return f.On(n)
}

func TestMirror(t *testing.T) {
	pods := mirrors(t, folder(nil, map[string]string{"etcd.yaml": etcd}), node("Node-0", nil))
	if len(pods) != 1 {
		t.Fatalf("%d mirror pods, want 1", len(pods))
	}
	pod := pods[0]
	owner := metav1.GetControllerOf(pod)
	got := fmt.Sprintf("%s/%s on %s of %s %s, %s, from %s, tolerates %s %s", pod.Namespace, pod.Name, pod.Spec.NodeName, owner.Kind, owner.Name, pod.Annotations[AnnotationSource],
		pod.Annotations[podspec.AnnotationManifest], pod.Spec.Tolerations[0].Operator, pod.Spec.Tolerations[0].Effect)
	want := "kube-system/etcd-node-0 on Node-0 of Node Node-0, file, from kube-system/manifests/etcd.yaml, tolerates Exists NoExecute"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if hash := podspec.MirrorHash(pod); len(hash) != 32 || hash != pod.Annotations[AnnotationHash] {
		t.Errorf("the hash is %q, the static pod's %q", hash, pod.Annotations[AnnotationHash])
	}
	if !podspec.IsMirror(pod) {
		t.Error("it is no mirror pod")
	}
}

func TestHash(t *testing.T) {
	hash := func(c *corev1.ConfigMap, n *corev1.Node) string { return podspec.MirrorHash(mirrors(t, c, n)[0]) }
	first := hash(folder(nil, map[string]string{"etcd.yaml": etcd}), node("a", nil))
	if again := hash(folder(nil, map[string]string{"etcd.yaml": "---\n" + etcd + "---\n# nothing\n"}), node("a", map[string]string{"x": "y"})); again != first {
		t.Error("the same manifest has two hashes")
	}
	for name, other := range map[string]string{
		"node":     hash(folder(nil, map[string]string{"etcd.yaml": etcd}), node("b", nil)),
		"file":     hash(folder(nil, map[string]string{"other.yaml": etcd}), node("a", nil)),
		"manifest": hash(folder(nil, map[string]string{"etcd.yaml": strings.Replace(etcd, "3.7", "3.8", 1)}), node("a", nil)),
	} {
		if other == first {
			t.Errorf("another %s has the same hash", name)
		}
	}
}

func TestNodeSelector(t *testing.T) {
	c := folder(map[string]string{AnnotationNodeSelector: "node-role.kubernetes.io/control-plane"}, map[string]string{"etcd.yaml": etcd})
	for name, n := range map[string]*corev1.Node{
		"control-plane": node("a", map[string]string{"node-role.kubernetes.io/control-plane": ""}),
		"worker":        node("b", nil),
	} {
		if got := len(mirrors(t, c, n)); got != 0 != (name == "control-plane") {
			t.Errorf("a %s has %d static pods", name, got)
		}
	}
}

func TestParseErrors(t *testing.T) {
	many := strings.Repeat("---\n"+etcd, maxPods+1)
	for name, test := range map[string]struct {
		annotation, data string
		want             string
		pods             int
	}{
		"a Service":     {"", etcd + "---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n", `key f: a manifest has apiVersion "v1" and kind "Service", where static pods have v1 and Pod`, 1},
		"without name":  {"", "apiVersion: v1\nkind: Pod\n", "key f: a manifest has no metadata.name", 0},
		"unknown field": {"", strings.Replace(etcd, "image:", "imagen:", 1), `key f: reading a manifest: unknown field "spec.containers[0].imagen"`, 0},
		"no YAML":       {"", "{", "key f: reading a manifest: yaml: line 1: did not find expected node content", 0},
		"selector":      {"a b", etcd, "annotation minikcm.dev/node-selector: ", 0},
		"too many":      {"", many, "key f: the ConfigMap has more than 110 static pods", maxPods},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := map[string]string{}
			if test.annotation != "" {
				annotations[AnnotationNodeSelector] = test.annotation
			}
			f, err := Parse(folder(annotations, map[string]string{"f": test.data}))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if pods := f.On(node("a", nil)); len(pods) != test.pods {
				t.Errorf("%d pods; want %d", len(pods), test.pods)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	pod := func(name, hash string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, Annotations: map[string]string{corev1.MirrorPodAnnotationKey: hash}}}
	}
	terminating := func(p *corev1.Pod) *corev1.Pod {
		p.DeletionTimestamp = &metav1.Time{}
		return p
	}
	for name, test := range map[string]struct {
		wanted, existing []*corev1.Pod
		want             []string
	}{
		"new":                     {[]*corev1.Pod{pod("a", "1")}, nil, []string{"create a 1"}},
		"there":                   {[]*corev1.Pod{pod("a", "1")}, []*corev1.Pod{pod("a", "1")}, nil},
		"deleted by a client":     {[]*corev1.Pod{pod("a", "1")}, []*corev1.Pod{terminating(pod("a", "1"))}, []string{"delete a 1 now"}},
		"not wanted":              {nil, []*corev1.Pod{pod("a", "1")}, []string{"delete a 1"}},
		"not wanted, terminating": {nil, []*corev1.Pod{terminating(pod("a", "1"))}, nil},
		"changed":                 {[]*corev1.Pod{pod("a", "2")}, []*corev1.Pod{pod("a", "1")}, []string{"delete a 1"}},
		"changed, terminating":    {[]*corev1.Pod{pod("a", "2")}, []*corev1.Pod{terminating(pod("a", "1"))}, nil},
		"one name twice":          {[]*corev1.Pod{pod("a", "1"), pod("a", "2")}, nil, []string{"create a 1"}},
		"the second of a name":    {[]*corev1.Pod{pod("a", "1"), pod("a", "2")}, []*corev1.Pod{pod("a", "2")}, []string{"delete a 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range Decide(test.wanted, test.existing) {
				switch {
				case a.Create != nil:
					got = append(got, "create "+a.Create.Name+" "+podspec.MirrorHash(a.Create))
				case a.Now:
					got = append(got, "delete "+a.Delete.Name+" "+podspec.MirrorHash(a.Delete)+" now")
				default:
					got = append(got, "delete "+a.Delete.Name+" "+podspec.MirrorHash(a.Delete))
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(etcd, "a=b")
	f.Add("---\n{}\n---\n[]", "!x")
	f.Fuzz(func(t *testing.T, data, selector string) {
		parsed, _ := Parse(folder(map[string]string{AnnotationNodeSelector: selector}, map[string]string{"f": data}))
		on := node("a", map[string]string{"a": "b"})
		hashes := parsed.Hashes(on)
		for i, pod := range parsed.On(on) {
			if !podspec.IsMirror(pod) || pod.Spec.NodeName != "a" || podspec.MirrorHash(pod) != hashes[i] {
				t.Errorf("%v", pod.ObjectMeta)
			}
		}
	})
}
