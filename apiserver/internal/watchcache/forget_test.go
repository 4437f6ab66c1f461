package watchcache

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Changes that the cache receives only after they were forgotten are not kept either.
func TestForgetWhatIsToCome(t *testing.T) {
	f := newFixture(t)
	first := f.put(newPod("a", "", ""))
	f.catchUp(first)
	release := f.store.hold()
	f.put(newPod("b", "", ""))
	last := f.put(newPod("c", "", ""))
	f.cache.Forget(last)
	refused := make(chan error, 1)
	go func() {
		w, err := f.cache.Watch(f.ctx, WatchOptions{Revision: first})
		if err == nil {
			w.Stop()
		}
		refused <- err
	}()
	release()
	if err := <-refused; !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from before the forgotten changes: %v", err)
	}
	w := f.watch(WatchOptions{Revision: last})
	next := f.put(newPod("d", "", ""))
	if got, want := f.next(w), at("ADDED", "d", next); len(got) != 1 || got[0] != want {
		t.Errorf("a watch from the last forgotten change: got %v, want %v", got, want)
	}
}
