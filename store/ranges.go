package store

// listRange returns etcd's range [start, end) of the keys that start with prefix, from
// the key from on.
func listRange(prefix, from string) (start, end []byte) {
	start, end = []byte(max(prefix, from)), prefixEnd(prefix)
	if len(start) == 0 {
		start = []byte{0}
	}
	return start, end
}

// wireRange is listRange in the encoding of requests and of etcd's client, where an
// unbounded end is a zero byte.
func wireRange(prefix, from string) (start, end []byte) {
	start, end = listRange(prefix, from)
	if len(end) == 0 {
		end = []byte{0}
	}
	return start, end
}

// prefixEnd returns the first key after all keys that start with prefix; empty, not
// nil, if there is none.
func prefixEnd(prefix string) []byte {
	end := []byte(prefix)
	for len(end) > 0 {
		if end[len(end)-1] < 0xff {
			end[len(end)-1]++
			return end
		}
		end = end[:len(end)-1]
	}
	return []byte{}
}
