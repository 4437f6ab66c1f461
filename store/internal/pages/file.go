package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

const (
	magic   = 0xED0CDAED
	version = 2

	// noFreelist is the freelist's page of a database that does not store its free pages:
	// all pages that no bucket uses are free.
	noFreelist = ^uint64(0)

	minPageSize = 1 << 10
	maxPageSize = 16 << 20
	// maxRun limits the bytes of a page with its overflow pages: it has a few keys and values, and
	// each was written by one request.
	maxRun = 256 << 20
)

// File is the file of a bbolt database. Its methods read the file and keep no state: the
// caller makes sure that no program writes to it.
type File struct {
	r    io.ReaderAt
	size int64
	meta meta
	// notes describe damage that bbolt tolerates.
	notes []string
}

// meta is the newest valid one of the two meta pages.
type meta struct {
	pageSize int64
	root     uint64
	freelist uint64
	end      uint64 // the number of pages in use: every page is below
	txid     uint64
}

// Open reads the meta pages of the database in r, which has size bytes. It returns an error
// if neither is valid, or if the file has less pages than the valid one says.
func Open(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: r, size: size}
	first, err0 := f.metaAt(0, 0)
	second, err1 := meta{}, errors.New("its place is unknown")
	if err0 == nil {
		second, err1 = f.metaAt(first.pageSize, 1)
	} else {
		// The first page is damaged, so its size is unknown.
		for pageSize := int64(minPageSize); pageSize <= maxPageSize && err1 != nil; pageSize *= 2 {
			if second, err1 = f.metaAt(pageSize, 1); err1 == nil && second.pageSize != pageSize {
				err1 = errors.New("it is not where its page size puts it")
			}
		}
	}
	switch {
	case err0 != nil && err1 != nil:
		return nil, fmt.Errorf("neither meta page is valid: page 0: %w", err0)
	case err0 != nil:
		f.meta, f.notes = second, append(f.notes, fmt.Sprintf("meta page 0 is not valid (%v); page 1 is used", err0))
	case err1 != nil:
		f.meta, f.notes = first, append(f.notes, fmt.Sprintf("meta page 1 is not valid (%v); page 0 is used", err1))
	case first.txid > second.txid:
		f.meta = first
	default:
		f.meta = second
	}
	if f.meta.end > uint64(size/f.meta.pageSize) {
		return nil, fmt.Errorf("it has %d pages of %d", size/f.meta.pageSize, f.meta.end)
	}
	return f, nil
}

// metaAt reads the meta page id, which begins at offset.
func (f *File) metaAt(offset int64, id uint64) (meta, error) {
	const length = headerSize + 64
	buf := make([]byte, length)
	if _, err := f.r.ReadAt(buf, offset); err != nil {
		return meta{}, fmt.Errorf("reading it: %w", err)
	}
	head, body := readHeader(buf), buf[headerSize:]
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	sum := fnv.New64a()
	_, _ = sum.Write(body[:56])
	m := meta{pageSize: int64(u32(body[8:])), root: u64(body[16:]), freelist: u64(body[32:]), end: u64(body[40:]), txid: u64(body[48:])}
	switch {
	case u32(body) != magic:
		return meta{}, errors.New("it does not begin as one")
	case u32(body[4:]) != version:
		return meta{}, fmt.Errorf("its version is %d", u32(body[4:]))
	case u64(body[56:]) != sum.Sum64():
		return meta{}, errors.New("its checksum does not match")
	case m.pageSize < minPageSize || m.pageSize > maxPageSize || m.pageSize&(m.pageSize-1) != 0:
		return meta{}, fmt.Errorf("its page size is %d", m.pageSize)
	}
	if head.id != id || head.flags != flagMeta {
		// bbolt uses the page nevertheless, and replaces its header.
		f.notes = append(f.notes, fmt.Sprintf("the header of meta page %d is damaged", id))
	}
	return m, nil
}

// Notes describes damage that bbolt and this package tolerate, for example a damaged meta
// page beside a valid one.
func (f *File) Notes() []string { return f.notes }

// Pages is the number of pages, used and free.
func (f *File) Pages() uint64 { return f.meta.end }

// run reads a page with its overflow pages, into buf if that is large enough.
func (f *File) run(id uint64, buf []byte) (header, []byte, error) {
	if id < 2 || id >= f.meta.end {
		return header{}, nil, fmt.Errorf("it is beyond the last page, %d", f.meta.end-1)
	}
	buf = sized(buf, f.meta.pageSize)
	if _, err := f.r.ReadAt(buf, int64(id)*f.meta.pageSize); err != nil {
		return header{}, nil, fmt.Errorf("reading it: %w", err)
	}
	head := readHeader(buf)
	if head.id != id {
		return head, nil, fmt.Errorf("its number is %d", head.id)
	}
	more := int64(head.overflow) * f.meta.pageSize
	if uint64(head.overflow) >= f.meta.end-id || more > maxRun {
		return head, nil, fmt.Errorf("it claims %d further pages", head.overflow)
	}
	if more > 0 {
		buf = sized(buf, f.meta.pageSize+more)
		if _, err := f.r.ReadAt(buf, int64(id)*f.meta.pageSize); err != nil {
			return head, nil, fmt.Errorf("reading its overflow pages: %w", err)
		}
	}
	return head, buf, nil
}

// sized returns buf with the given length, or a new slice if it has not the capacity.
func sized(buf []byte, size int64) []byte {
	if int64(cap(buf)) >= size {
		return buf[:size]
	}
	return make([]byte, size)
}
