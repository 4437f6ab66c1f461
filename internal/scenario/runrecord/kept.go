package runrecord

// kept is the oldest and the newest of many things.
type kept[T any] struct {
	head, ring []T
	// half caps the length of head and of ring.
	half  int
	total int64
}

func (k *kept[T]) add(thing T) {
	k.total++
	switch {
	case len(k.head) < k.half:
		k.head = append(k.head, thing)
	case len(k.ring) < k.half:
		k.ring = append(k.ring, thing)
	default:
		k.ring[(k.total-1-int64(len(k.head)))%int64(k.half)] = thing
	}
}

// all returns the things that are kept, oldest first.
func (k *kept[T]) all() []T {
	out := append([]T(nil), k.head...)
	if len(k.ring) < k.half {
		return append(out, k.ring...)
	}
	start := int((k.total - int64(len(k.head))) % int64(k.half))
	return append(append(out, k.ring[start:]...), k.ring[:start]...)
}

func (k *kept[T]) forgotten() int64 { return k.total - int64(len(k.head)+len(k.ring)) }
