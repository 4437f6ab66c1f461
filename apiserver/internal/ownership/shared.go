package ownership

import (
	"hash/maphash"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxShared caps the number of cached sets, of about a kilobyte each.
const maxShared = 512

// shared deduplicates equal sets in memory: all pods of a ReplicaSet have the same
// fields. It is emptied when it is full.
type shared struct {
	mu   sync.Mutex
	seed maphash.Seed
	sets map[uint64]*metav1.FieldsV1
	buf  []byte
}

// fields returns the set as FieldsV1, which must not be modified.
func (s *shared) fields(of set) *metav1.FieldsV1 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets == nil || len(s.sets) == maxShared {
		s.sets, s.seed = make(map[uint64]*metav1.FieldsV1, maxShared), maphash.MakeSeed()
	}
	s.buf = of.appendJSON(s.buf[:0], false)
	key := maphash.Bytes(s.seed, s.buf)
	if known := s.sets[key]; known != nil && string(known.GetRawBytes()) == string(s.buf) {
		return known
	}
	fields := &metav1.FieldsV1{}
	fields.SetRawBytes(s.buf) // which copies them
	s.sets[key] = fields
	return fields
}
