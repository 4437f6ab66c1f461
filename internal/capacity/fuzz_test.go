package capacity

import (
	"strings"
	"testing"
)

// The words of a question are understood or refused, whatever they are.
func FuzzParseChanges(f *testing.F) {
	f.Add("scale deployment/web=5", "default")
	f.Add("remove node/a node/b", "")
	f.Add("drain node-1", "x")
	f.Add("drain pool=a,tier!=b, upgrade data surge 3, load web x2.5,consolidate zone a", "x")
	f.Add("apply a.yaml, crash 'a in (b, c)'", "x")
	f.Fuzz(func(t *testing.T, words, namespace string) {
		if changes, err := ParseChanges(strings.Fields(words), namespace); err == nil && len(changes) == 0 {
			t.Errorf("%q means nothing", words)
		}
		if target, err := ParseTarget(words, namespace); err == nil && target == nil {
			t.Errorf("%q is no target and no error", words)
		}
	})
}

// A file of node groups is read or refused, whatever it is.
func FuzzParseNodeGroups(f *testing.F) {
	f.Add([]byte("{apiVersion: minikcm.dev/v1alpha1, kind: NodeGroups, spec: {expander: price, groups: [{name: a, max: 3, capacity: {cpu: 4}}]}}"))
	f.Add([]byte("spec: {groups: [{like: n0}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		groups, err := ParseNodeGroups("groups.yaml", data)
		if err != nil {
			return
		}
		for i := range groups.Groups {
			if g := &groups.Groups[i]; g.Like == "" {
				if _, err := g.template(g.Max-1, nil); err != nil {
					t.Errorf("group %s: %v", g.Name, err)
				}
			}
		}
	})
}
