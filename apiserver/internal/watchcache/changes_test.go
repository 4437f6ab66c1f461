package watchcache

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestChangesSince follows a cache by its changes, with and without a gap in its history.
func TestChangesSince(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.RingSize = 4 })
	var at, newest int64
	step := func(wantAll bool, want ...string) {
		t.Helper()
		changes, err := f.cache.ChangesSince(f.ctx, at, newest)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		changes.Each(func(obj runtime.Object, deleted bool) {
			name := obj.(*v1.Pod).Name
			if deleted {
				name = "-" + name
			}
			got = append(got, name)
		})
		if changes.All != wantAll || !slices.Equal(got, want) || changes.Revision < newest {
			t.Errorf("since %d: all is %v, %v at %d; want %v, %v", at, changes.All, got, changes.Revision, wantAll, want)
		}
		at = changes.Revision
	}
	newest = f.put(newPod("a", "", ""))
	step(true, "a")
	step(false)
	a := newPod("a", "", "")
	f.put(newPod("b", "", ""))
	newest = f.remove(a)
	step(false, "b", "-a")
	for i := range 5 {
		newest = f.put(newPod(fmt.Sprint("c", i), "", ""))
	}
	step(true, "b", "c0", "c1", "c2", "c3", "c4")
}
