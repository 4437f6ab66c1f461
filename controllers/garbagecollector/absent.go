package garbagecollector

import "k8s.io/utils/lru"

// absentCapacity is how many absent owners are remembered. Each saves a look-up
// for every dependent that is still to be deleted.
const absentCapacity = 500

// absentOwners remembers owners that the API confirmed to be gone. A UID is never
// used twice, so that an entry can be forgotten but is never wrong.
type absentOwners struct{ known *lru.Cache }

func newAbsentOwners() *absentOwners { return &absentOwners{known: lru.New(absentCapacity)} }

func (a *absentOwners) add(c Coordinates) { a.known.Add(c, nil) }

func (a *absentOwners) has(c Coordinates) bool {
	_, ok := a.known.Get(c)
	return ok
}
