package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// record is a revision of a key as etcd stores it in the bucket "key".
type record struct {
	revision, sub int64
	tombstone     bool
	key, value    []byte
	created       int64
	version       int64
	// id and data are the record as it is stored.
	id, data []byte
}

const (
	// A record's key is its revision and its number within the revision, and a mark if
	// the key was deleted.
	revisionSize  = 8 + 1 + 8
	tombstoneMark = 't'
)

// readRecord reads a record from the key and the value that etcd stores. It returns an error for
// anything that etcd does not write: etcd itself panics or hangs on some of it. A
// record without a key only raises the revision; a restore with a raised revision writes one.
func readRecord(id, data []byte) (record, error) {
	r, err := readRevision(id)
	r.id, r.data = id, data
	if err != nil || len(data) == 0 && !r.tombstone {
		return r, err
	}
	modified := int64(0)
	for last := protowire.Number(0); len(data) > 0; {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 || number <= last || number > 6 {
			return record{}, errors.New("its content is not that of a key")
		}
		data, last = data[n:], number
		isBytes := number == 1 || number == 5
		if isBytes != (kind == protowire.BytesType) || !isBytes && kind != protowire.VarintType {
			return record{}, errors.New("its content is not that of a key")
		}
		if isBytes {
			value, n := protowire.ConsumeBytes(data)
			if n < 0 {
				return record{}, errors.New("its content ends early")
			}
			if data = data[n:]; number == 1 {
				r.key = value
			} else {
				r.value = value
			}
			continue
		}
		value, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return record{}, errors.New("its content ends early")
		}
		data = data[n:]
		switch number {
		case 2:
			r.created = int64(value)
		case 3:
			modified = int64(value)
		case 4:
			r.version = int64(value)
		}
	}
	return r, r.check(modified)
}

func readRevision(id []byte) (record, error) {
	r := record{tombstone: len(id) == revisionSize+1 && id[revisionSize] == tombstoneMark}
	if len(id) != revisionSize && !r.tombstone || id[8] != '_' {
		return record{}, fmt.Errorf("%q is not a revision", id)
	}
	r.revision, r.sub = int64(binary.BigEndian.Uint64(id)), int64(binary.BigEndian.Uint64(id[9:]))
	if r.revision < 0 || r.sub < 0 {
		return record{}, fmt.Errorf("revision %d/%d is negative", r.revision, r.sub)
	}
	return r, nil
}

// check compares the fields that the record states twice.
func (r *record) check(modified int64) error {
	switch {
	case len(r.key) == 0:
		return fmt.Errorf("revision %d has no key", r.revision)
	case r.tombstone && (r.created != 0 || modified != 0 || r.version != 0 || len(r.value) > 0):
		return fmt.Errorf("revision %d of %q is a deletion with content", r.revision, r.key)
	case r.tombstone:
	case modified != r.revision:
		return fmt.Errorf("revision %d of %q says that it is revision %d", r.revision, r.key, modified)
	case r.created < 1 || r.created > r.revision || r.version < 1 || r.version == 1 && r.created != r.revision:
		return fmt.Errorf("revision %d of %q is version %d of a key from revision %d", r.revision, r.key, r.version, r.created)
	}
	return nil
}

// facts returns the record without the bytes, which are valid only while a page is read.
func (r record) facts() record {
	r.key, r.value, r.id, r.data = nil, nil, nil, nil
	return r
}
