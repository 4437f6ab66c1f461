package controllerref

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

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

func TestClaim(t *testing.T) {
	selector := labels.SelectorFromSet(labels.Set{"app": "web"})
	going := pod("going", "web", "")
	going.DeletionTimestamp = &metav1.Time{}
	elsewhere := pod("elsewhere", "web", "")
	elsewhere.Namespace = "b"
	candidates := []*corev1.Pod{
		pod("mine", "web", "me"), pod("mine-relabelled", "db", "me"), pod("theirs", "web", "they"),
		pod("orphan", "web", ""), pod("orphan-of-others", "db", ""), going, elsewhere,
	}
	owner := &metav1.ObjectMeta{Namespace: "a", Name: "owner", UID: "me"}
	ended := owner.DeepCopy()
	ended.DeletionTimestamp = &metav1.Time{}
	for name, tt := range map[string]struct {
		owner                  metav1.Object
		owned, adopt, released []string
	}{
		"living owner":  {owner, []string{"mine", "orphan"}, []string{"orphan"}, []string{"mine-relabelled"}},
		"deleted owner": {ended, []string{"mine"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Claim(tt.owner, selector, candidates)
			for what, pair := range map[string][2][]string{
				"Owned": {tt.owned, names(got.Owned)}, "Adopt": {tt.adopt, names(got.Adopt)}, "Release": {tt.released, names(got.Release)},
			} {
				if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

func names(pods []*corev1.Pod) []string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return all
}
