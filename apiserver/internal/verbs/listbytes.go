package verbs

import "minikcm.dev/minikcm/store"

// decodedBytes is how many bytes of memory a decoded object takes for each byte of its stored
// value, which is in memory as well while it is decoded.
const decodedBytes = 4

// expectedBytes estimates the memory for a page of limit objects (0: all) that are read from
// the store, by the objects in the watch cache; 0 if that has not been filled.
//
// Lists from the cache share its objects with all readers. A list from the store has its own,
// until its client has read them: they count before they are read, because many lists
// may be read at once.
func (rq *Call) expectedBytes(limit int64) int64 {
	objects, bytes, ok := rq.Objects.Cache().Size()
	if !ok || objects == 0 {
		return 0
	}
	if limit > 0 && limit < objects {
		bytes = bytes / objects * limit
	}
	return bytes * decodedBytes
}

// memoryOf returns the memory for the decoded objects of a page.
func memoryOf(page *store.ListResult) int64 {
	var sum int64
	for _, kv := range page.KeyValues {
		sum += int64(len(kv.Value))
	}
	return sum * decodedBytes
}
