package dependents

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

func TestIndex(t *testing.T) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	elsewhere := pod("elsewhere", "web", "")
	elsewhere.Namespace = "b"
	for _, p := range []*corev1.Pod{pod("mine", "web", me), pod("theirs", "web", "they"), pod("orphan", "web", ""), elsewhere} {
		if err := indexer.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := NewIndex[*corev1.Pod](indexer); err != nil {
		t.Fatal(err)
	}
	index, err := NewIndex[*corev1.Pod](indexer)
	if err != nil {
		t.Fatalf("a second controller cannot share the index: %v", err)
	}
	owner := pod(me, "web", "")
	for what, pair := range map[string][2][]string{
		"Of":            {names(index.Of(me)), {"mine"}},
		"Orphans":       {names(index.Orphans("a")), {"orphan"}},
		"Candidates":    {names(index.Candidates(owner)), {"mine", "orphan"}},
		"Of a stranger": {names(index.Of("stranger")), nil},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s = %v, want %v", what, pair[0], pair[1])
		}
	}
	// After a change of controller, only the new one finds the object.
	if err := indexer.Update(pod("mine", "web", "they")); err != nil {
		t.Fatal(err)
	}
	if got := names(index.Of(me)); got != nil {
		t.Errorf("after the change of owner: %v", got)
	}
}

func pod(name string, app string, controller types.UID) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: name, UID: types.UID(name), ResourceVersion: "1", Labels: map[string]string{"app": app},
	}}
	if controller != "" {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{UID: controller, Controller: &yes}}
	}
	return p
}

func names(pods []*corev1.Pod) []string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return all
}
