package dump

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"documents", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n---\n# nothing\n---\napiVersion: v1\nkind: Node\nmetadata: {name: b}\n", "pod/a node/b"},
		{"list", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}}\n", "pod/a in shop"},
		{"typed list", `{"apiVersion":"apps/v1","kind":"DeploymentList","metadata":{},"items":[{"metadata":{"name":"web"}}]}`, "deployment/web"},
		{"lists in lists", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"}}]}]}`, "pod/a"},
		{"values", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}`, "pod/a pod/b"},
		{"empty list", `{"apiVersion":"v1","kind":"List","items":[]}`, ""},
		{"kind like a list", `{"apiVersion":"example.com/v1","kind":"PriceList","metadata":{"name":"p"},"spec":{}}`, "pricelist/p"},
		{"nothing", "\n", ""},
		{"no YAML", "a: b: c", "document 1: yaml: mapping values are not allowed in this context"},
		{"no JSON", `{"apiVersion":`, "value 1: unexpected EOF"},
		{"no object", "- 1\n", "document 1: not a Kubernetes object: json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{"no kind", "apiVersion: v1", "document 1: not a Kubernetes object: kind is missing"},
		{"no name", "apiVersion: v1\nkind: Pod", "document 1: a Pod has no metadata.name"},
		{"no item", "apiVersion: v1\nkind: List\nitems: [1]", "document 1: item 1 of the List: not an object"},
		{"metadata of another type", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: 3}", "document 1: the metadata of pod/a: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type map[string]string"},
		{"too deep", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nx: " + strings.Repeat("[", 120) + strings.Repeat("]", 120), "document 1: nested more than 100 levels deep"},
		{"too many", strings.Repeat("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n", 4), fmt.Sprintf("document 4: more than %d objects", MaxObjects)},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects, err := Decode([]byte(c.data), 3)
			var got []string
			for _, o := range objects {
				got = append(got, nameOf(o))
			}
			if err != nil {
				got = []string{err.Error()}
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}

func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{
		"b.json": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}`, "a/c.yml": "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n", "logs.txt": "no object",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Read([]string{dir, Stdin}, strings.NewReader("apiVersion: v1\nkind: Pod\nmetadata: {name: in}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() != 3 || !d.HasNodes() || nameOf(d.objects[0]) != "node/a" || nameOf(d.objects[2]) != "pod/in" {
		t.Errorf("got %d objects, the first is %s", d.Len(), nameOf(d.objects[0]))
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(dir, "a"), link); err == nil { // it needs rights on Windows
		if d, err := Read([]string{link}, nil); err != nil || d.Len() != 1 {
			t.Errorf("a link to a folder: %v", err)
		}
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): " does not exist", filepath.Join(dir, "logs.txt"): "document 1: ", t.TempDir(): " contains no objects",
	} {
		if _, err := Read([]string{path}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

// FuzzDecode checks that all decoded objects can be planned.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a, uid: u, ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: u}]}, spec: {nodeName: n}, status: {phase: Running}}\n"))
	f.Add([]byte(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","labels":{"controller-uid":"u"}},"spec":{"template":{"metadata":{"labels":{"controller-uid":"u"}},"spec":{}}},"status":{"conditions":[{"type":"Complete","status":"True"}]}}`))
	f.Add([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ntype: 3\ndata: [x]\n"))
	f.Add([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{nodePort: 1}, 2], clusterIP: 4}\n"))
	f.Add([]byte("apiVersion: v1\nkind: Node\nmetadata: {name: s}\nspec: {taints: [1, {key: node.kubernetes.io/not-ready}]}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, err := Decode(data, 100)
		if err != nil {
			return
		}
		d := New("fuzz", objects)
		d.RedactSecrets()
		d.Taken()
		for _, o := range objects {
			uncluster(o.DeepCopy(), nil)
		}
		for _, roots := range []bool{false, true} {
			var s Summary
			planned := d.plan(&Options{RootsOnly: roots}, &s)
			left := 0
			for _, n := range s.Left {
				left += len(n.Objects)
			}
			for _, p := range planned {
				if p.standIn {
					left--
				}
				readjust(p.object, p.status, p.generation, 1, 1)
			}
			if left+len(planned) != len(objects) {
				t.Errorf("of %d objects, %d are planned and %d left out", len(objects), len(planned), left)
			}
		}
	})
}
