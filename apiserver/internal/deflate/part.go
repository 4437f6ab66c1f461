package deflate

import (
	"bytes"
	"compress/flate"
	"fmt"
	"hash/crc32"
	"sync"
)

// Part is compressed bytes. It is immutable.
type Part struct {
	data   []byte
	length int // of the plain bytes
	sum    uint32
}

// Len returns the length of the plain bytes.
func (p *Part) Len() int { return p.length }

// Size returns the bytes of memory that the part takes.
func (p *Part) Size() int { return len(p.data) }

// compressor is reused, because it takes most of a megabyte.
type compressor struct {
	out    bytes.Buffer
	writer *flate.Writer
}

var compressors = sync.Pool{New: func() any { return &compressor{} }}

// Compress returns plain as a part, compressed with the level of upstream's apiserver.
func Compress(plain []byte) (*Part, error) {
	c := compressors.Get().(*compressor)
	defer compressors.Put(c)
	if err := c.compress(plain); err != nil {
		return nil, fmt.Errorf("compressing %d bytes: %w", len(plain), err)
	}
	return &Part{data: bytes.Clone(c.out.Bytes()), length: len(plain), sum: crc32.ChecksumIEEE(plain)}, nil
}

func (c *compressor) compress(plain []byte) error {
	c.out.Reset()
	if c.writer == nil {
		var err error
		if c.writer, err = flate.NewWriter(&c.out, flate.BestSpeed); err != nil {
			return err
		}
	} else {
		c.writer.Reset(&c.out)
	}
	if _, err := c.writer.Write(plain); err != nil {
		return err
	}
	return c.writer.Flush()
}
