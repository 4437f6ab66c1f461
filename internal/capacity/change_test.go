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
		{"", "no change is given; the changes are drain NODES, remove NODES, crash NODES, upgrade POOL surge N, consolidate [NODES], add N like NODE, apply FILE, load SERVICE xN and scale KIND/NAME=N..."},
		{"drain", "drain needs nodes: their names, a label selector, or the name of a zone or pool, such as drain node-1, drain pool=data or drain zone a"},
		{"drain pool=data,zone!=a, crash zone a b,remove pool x", "drain pool=data,zone!=a; crash zone a zone b; remove pool x"},
		{"drain node/a pool=b", "drain a pool=b"},
		{"drain a=b=c", "drain a=b=c: it is not a label selector: found '=', expected: ',' or 'end of string'"},
		{"upgrade data surge 3, upgrade pool=x, upgrade zone a", "upgrade pool data surge 3; upgrade pool=x surge 1; upgrade zone a surge 1"},
		{"upgrade data surge x", "upgrade surge x: the number of nodes must be between 0 and 3072"},
		{"apply a.yaml b/c.yaml, drain a", "apply a.yaml; apply b/c.yaml; drain a"},
		{"consolidate, consolidate pool a", "consolidate; consolidate pool a"},
		{"load web x3 other/api x0.5, load deploy/db x2", "load service/web in shop x3; load service/api in other x0.5; load deploy/db in shop x2"},
		{"load web", "load is written as: load web x3, or load shop/deployment/web x1.5"},
		{"load web 3", "load web 3: write the factor as x3, between x0 and x10000"},
		{"load web xNaN", "load web xNaN: write the factor as x3, between x0 and x10000"},
		{"apply", "apply needs a file, such as apply web.yaml"},
		{"drain zone", "drain zone needs the name of a zone, such as drain zone a"},
		{"drian a", `unknown change "drian"; the changes are drain NODES, remove NODES, crash NODES, upgrade POOL surge N, consolidate [NODES], add N like NODE, apply FILE, load SERVICE xN and scale KIND/NAME=N...`},
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
