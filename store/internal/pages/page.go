package pages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	headerSize = 16
	branchSize = 16
	leafSize   = 16
	bucketSize = 16

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagMeta     = 0x04
	flagFreelist = 0x10

	// flagBucket marks an element of a leaf whose value is a bucket.
	flagBucket = 0x01
)

// header is the beginning of every page.
type header struct {
	id       uint64
	flags    uint16
	count    uint16
	overflow uint32
}

func readHeader(page []byte) header {
	return header{
		id: binary.NativeEndian.Uint64(page), flags: binary.NativeEndian.Uint16(page[8:]),
		count: binary.NativeEndian.Uint16(page[10:]), overflow: binary.NativeEndian.Uint32(page[12:]),
	}
}

// branchElement is a child page, whose keys are not less than key.
type branchElement struct {
	key  []byte
	page uint64
}

// leafElement is a key of a bucket, or a bucket.
type leafElement struct {
	flags      uint32
	key, value []byte
}

// place is where an element's key and value are: bbolt writes them in order and without
// gaps behind all elements, so every other place is damage.
type place struct{ element, next int }

// take returns the next size bytes of the page, which the element says begin at pos.
func (p *place) take(page []byte, pos, size uint32) ([]byte, error) {
	if int64(p.element)+int64(pos) != int64(p.next) || int64(size) > int64(len(page)-p.next) {
		return nil, errors.New("its place is not valid")
	}
	taken := page[p.next : p.next+int(size)]
	p.next += int(size)
	return taken, nil
}

// readBranch returns the elements of a branch page.
func readBranch(head header, page []byte) ([]branchElement, error) {
	end := headerSize + int(head.count)*branchSize
	if head.count == 0 || end > len(page) {
		return nil, fmt.Errorf("it claims %d children", head.count)
	}
	elements := make([]branchElement, head.count)
	at := place{next: end}
	for i := range elements {
		at.element = headerSize + i*branchSize
		element := page[at.element:]
		pos, keySize := binary.NativeEndian.Uint32(element), binary.NativeEndian.Uint32(element[4:])
		key, err := at.take(page, pos, keySize)
		if err != nil {
			return nil, fmt.Errorf("child %d: %w", i, err)
		}
		if i > 0 && bytes.Compare(elements[i-1].key, key) >= 0 {
			return nil, fmt.Errorf("child %d: its key is not in order", i)
		}
		elements[i] = branchElement{key: key, page: binary.NativeEndian.Uint64(element[8:])}
	}
	return elements, nil
}

// readLeaf returns the elements of a leaf page that are readable, in order, and an error for
// the first one that is not.
func readLeaf(head header, page []byte) ([]leafElement, error) {
	end := headerSize + int(head.count)*leafSize
	if end > len(page) {
		return nil, fmt.Errorf("it claims %d keys", head.count)
	}
	elements := make([]leafElement, 0, head.count)
	at := place{next: end}
	for i := range int(head.count) {
		at.element = headerSize + i*leafSize
		element := page[at.element:]
		u32 := func(i int) uint32 { return binary.NativeEndian.Uint32(element[i:]) }
		key, err := at.take(page, u32(4), u32(8))
		if err != nil {
			return elements, fmt.Errorf("key %d: %w", i, err)
		}
		value, err := at.take(page, u32(4)+u32(8), u32(12))
		if err != nil {
			return elements, fmt.Errorf("key %d: its value's place is not valid", i)
		}
		if i > 0 && bytes.Compare(elements[i-1].key, key) >= 0 {
			return elements, fmt.Errorf("key %d: it is not in order", i)
		}
		elements = append(elements, leafElement{flags: u32(0), key: key, value: value})
	}
	return elements, nil
}
