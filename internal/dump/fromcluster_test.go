package dump_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/minikcmtest"
)

// An earlier revision is read whole, also if a list of it has several pages.
func TestFromRevision(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithControllers("-*"))
	const many = 502 // a page has 500
	revision := ""
	for i := range many {
		made, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c-", i)}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if i == many-2 {
			revision = made.ResourceVersion
		}
	}
	for name, read := range map[string]func() (*dump.Dump, error){
		"then": func() (*dump.Dump, error) { return dump.FromRevision(t.Context(), c.Config(), revision) },
		"now":  func() (*dump.Dump, error) { return dump.FromCluster(t.Context(), c.Config()) },
	} {
		d, err := read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found := 0
		for o := range d.Objects() {
			if o.GetKind() == "ConfigMap" && o.GetNamespace() == "default" {
				found++
			}
		}
		if want := map[string]int{"then": many - 1, "now": many}[name]; found != want {
			t.Errorf("%s: there are %d ConfigMaps, want %d", name, found, want)
		}
	}
}
