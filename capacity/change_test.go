package capacity

import (
	"errors"
	"strings"
	"testing"
)

func TestParseChanges(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"drain a b", "drain a b"},
		{"drain a, remove b,add 3 like c , scale deployment/web=5 kube-system/sts/db=0", "drain a; remove b; add 3 like c; scale deployment/web in shop to 5; scale sts/db in kube-system to 0"},
		{"", "no change is given; the changes are drain NODE..., remove NODE..., add N like NODE and scale KIND/NAME=N..."},
		{"drain", "drain needs the name of a node, such as drain node-1"},
		{"drian a", `unknown change "drian"; the changes are drain NODE..., remove NODE..., add N like NODE and scale KIND/NAME=N...`},
		{"add 3 a", "add is written as: add 3 like node-1"},
		{"add x like a", "add x: the number of nodes must be between 1 and 3072"},
		{"scale", "scale needs a workload, such as scale deployment/web=10"},
		{"scale web=3", `scale web=3: "web" is not KIND/NAME or NAMESPACE/KIND/NAME, such as deployment/web`},
		{"scale deployment/web", "scale deployment/web: write it as KIND/NAME=N with N between 0 and 100000, such as deployment/web=10"},
		{"scale deployment/web=-1", "scale deployment/web=-1: write it as KIND/NAME=N with N between 0 and 100000, such as deployment/web=10"},
	} {
		changes, err := ParseChanges(strings.Fields(c.text), "shop")
		var texts []string
		for i := range changes {
			texts = append(texts, changes[i].String())
		}
		got := strings.Join(texts, "; ")
		if err != nil {
			got = err.Error()
			if !errors.As(err, new(InputError)) {
				t.Errorf("%q: %v is no InputError", c.text, err)
			}
		}
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}
