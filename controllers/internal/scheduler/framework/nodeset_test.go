package framework

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func TestNodesFor(t *testing.T) {
	s := SnapshotOf([]*corev1.Node{
		st.Node("a", st.NodeLabel("zone", "one")), st.Node("b", st.NodeLabel("zone", "two")), st.Node("c", st.NodeLabel("zone", "three")), st.Node("d"),
	}, nil)
	in := func(key string, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	labelled := func(all ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: all}
	}
	named := func(values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{in(metav1.ObjectNameField, values...)}}
	}
	exists := corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpExists}
	for name, tt := range map[string]struct {
		terms []corev1.NodeSelectorTerm
		want  []string // nil: all nodes
	}{
		"no terms":           {nil, nil},
		"a value":            {[]corev1.NodeSelectorTerm{labelled(in("zone", "two"))}, []string{"b"}},
		"values":             {[]corev1.NodeSelectorTerm{labelled(in("zone", "three", "nowhere", "one"))}, []string{"a", "c"}},
		"no node":            {[]corev1.NodeSelectorTerm{labelled(in("zone", "nowhere"))}, []string{}},
		"a label of none":    {[]corev1.NodeSelectorTerm{labelled(in("kind", "one"))}, []string{}},
		"other operators":    {[]corev1.NodeSelectorTerm{labelled(exists)}, nil},
		"the first that can": {[]corev1.NodeSelectorTerm{labelled(exists, in("zone", "one"))}, []string{"a"}},
		"terms":              {[]corev1.NodeSelectorTerm{labelled(in("zone", "one")), labelled(in("zone", "two"))}, []string{"a", "b"}},
		"one of all":         {[]corev1.NodeSelectorTerm{labelled(in("zone", "one")), labelled(exists)}, nil},
		"names":              {[]corev1.NodeSelectorTerm{named("d", "nobody")}, []string{"d"}},
	} {
		t.Run(name, func(t *testing.T) {
			set := s.NodesFor(&corev1.NodeSelector{NodeSelectorTerms: tt.terms})
			if set == nil || tt.want == nil {
				if set != nil || tt.want != nil {
					t.Errorf("%v, want %v", set, tt.want)
				}
				return
			}
			got := []string{}
			for i, n := range s.Nodes() {
				if set.Has(i) {
					got = append(got, n.Name())
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
	for name, tt := range map[string]struct {
		terms []corev1.NodeSelectorTerm
		all   bool
		exact bool
	}{
		"names":        {[]corev1.NodeSelectorTerm{named("d")}, true, false},
		"no terms":     {[]corev1.NodeSelectorTerm{}, true, false},
		"values":       {[]corev1.NodeSelectorTerm{labelled(in("zone", "one")), labelled(in("zone", "two"))}, false, true},
		"more than In": {[]corev1.NodeSelectorTerm{labelled(in("zone", "one"), exists)}, false, false},
	} {
		if set, exact := s.NodesLabelled(&corev1.NodeSelector{NodeSelectorTerms: tt.terms}); (set == nil) != tt.all || exact != tt.exact {
			t.Errorf("%s: %v, exact %t", name, set, exact)
		}
	}
	if set, exact := s.NodesLabelled(nil); set != nil || !exact {
		t.Errorf("no selector: %v, exact %t", set, exact)
	}
}

func TestNodeSetAnd(t *testing.T) {
	a, b := NewNodeSet(130), NewNodeSet(130)
	for _, i := range []int{0, 63, 64, 129} {
		a.Add(i)
	}
	b.Add(64)
	b.Add(65)
	both := a.And(b)
	for i := range 130 {
		if both.Has(i) != (i == 64) {
			t.Errorf("index %d: %t", i, both.Has(i))
		}
	}
	if !slices.Equal(a.And(nil), a) || !slices.Equal(NodeSet(nil).And(b), b) || NodeSet(nil).And(nil) != nil || !a.Has(129) {
		t.Error("nil stands for all nodes, and a set stays as it is")
	}
}
