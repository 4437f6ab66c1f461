package graph

import "k8s.io/utils/lru"

// absentCapacity caps the cache of absent owners. Each entry saves a look-up for every
// dependent that is still to be deleted.
const absentCapacity = 500

// absentOwners caches owners that the API has confirmed to be gone. UIDs are never reused,
// so an entry may be evicted but is never wrong.
type absentOwners struct{ known *lru.Cache }

func newAbsentOwners() *absentOwners { return &absentOwners{known: lru.New(absentCapacity)} }

func (a *absentOwners) add(c Coordinates) { a.known.Add(c, nil) }

func (a *absentOwners) has(c Coordinates) bool {
	_, ok := a.known.Get(c)
	return ok
}
