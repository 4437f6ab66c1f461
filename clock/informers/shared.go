package informers

import (
	"slices"
	"sync/atomic"

	"k8s.io/client-go/tools/cache"
)

// shared passes the events of one listener of client-go to several handlers, one after the other, in the
// order in which they were added. A listener costs two goroutines and a buffer of 16 KiB, and each event two
// wake-ups of them. Only handlers that are added before the informer starts share one: later ones get the
// objects that are already there. Calls of add and remove must not be concurrent.
type shared struct {
	// all is replaced, and not changed.
	all atomic.Pointer[[]*sharing]
	// registration is the listener's.
	registration cache.ResourceEventHandlerRegistration
}

// sharing is the registration of one handler. It has synced when the listener has.
type sharing struct {
	cache.ResourceEventHandlerRegistration
	handler cache.ResourceEventHandler
}

func newShared() *shared {
	s := &shared{}
	s.all.Store(&[]*sharing{})
	return s
}

// add adds a handler, which gets all events from now on.
func (s *shared) add(h cache.ResourceEventHandler) *sharing {
	one := &sharing{ResourceEventHandlerRegistration: s.registration, handler: h}
	all := append(slices.Clone(*s.all.Load()), one)
	s.all.Store(&all)
	return one
}

// remove removes a handler, and reports whether others are left, and whether it was there.
func (s *shared) remove(one *sharing) (left, was bool) {
	before := *s.all.Load()
	all := slices.DeleteFunc(slices.Clone(before), func(other *sharing) bool { return other == one })
	s.all.Store(&all)
	return len(all) > 0, len(all) < len(before)
}

func (s *shared) OnAdd(obj any, isInInitialList bool) {
	for _, one := range *s.all.Load() {
		one.handler.OnAdd(obj, isInInitialList)
	}
}

func (s *shared) OnUpdate(oldObj, newObj any) {
	for _, one := range *s.all.Load() {
		one.handler.OnUpdate(oldObj, newObj)
	}
}

func (s *shared) OnDelete(obj any) {
	for _, one := range *s.all.Load() {
		one.handler.OnDelete(obj)
	}
}
