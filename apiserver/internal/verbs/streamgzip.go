package verbs

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// frameWriter receives the frames of a watch. gzip is nil unless the watch is
// compressed.
type frameWriter struct {
	io.Writer
	gzip *gzipStream
	// single requires a write for each frame.
	single bool
}

func newGzipFrames(out io.Writer) frameWriter {
	g := &gzipStream{out: out}
	return frameWriter{Writer: g, gzip: g}
}

func (f frameWriter) settle() {
	if f.gzip != nil {
		f.gzip.settled = true
	}
}

// gzipStream compresses a watch that starts with a state, as upstream's
// WatchListCompression. Each write is one gzip member, so that the client gets it
// immediately. Only the state is compressed; later events are stored uncompressed,
// which costs a checksum only.
type gzipStream struct {
	out        io.Writer
	buf        bytes.Buffer
	compressor *gzip.Writer
	// settled reports that the state has been written.
	settled bool
}

// Write sends p as one gzip member.
func (g *gzipStream) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	g.buf.Reset()
	if g.settled {
		g.compressor = nil
		g.buf.Write(storedMember(nil, p))
	} else if err := g.compress(p); err != nil {
		return 0, err
	}
	if _, err := g.out.Write(g.buf.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (g *gzipStream) compress(p []byte) error {
	if g.compressor == nil {
		var err error
		if g.compressor, err = gzip.NewWriterLevel(&g.buf, gzip.BestSpeed); err != nil {
			return fmt.Errorf("compressing a watch: %w", err)
		}
	}
	g.compressor.Reset(&g.buf)
	if _, err := g.compressor.Write(p); err != nil {
		return fmt.Errorf("compressing a watch: %w", err)
	}
	// Flush before Close: clients decode flushed data immediately, but at the end of a
	// member they wait for the next one.
	if err := g.compressor.Flush(); err != nil {
		return fmt.Errorf("compressing a watch: %w", err)
	}
	if err := g.compressor.Close(); err != nil {
		return fmt.Errorf("compressing a watch: %w", err)
	}
	return nil
}

// maxStored is the maximum length of a stored block (RFC 1951, 3.2.4).
const maxStored = 1<<16 - 1

// storedMember appends a gzip member (RFC 1952) with p uncompressed.
func storedMember(out, p []byte) []byte {
	out = append(out, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)
	for block := range slices.Chunk(p, maxStored) {
		out = append(out, 0)
		out = binary.LittleEndian.AppendUint16(out, uint16(len(block)))
		out = binary.LittleEndian.AppendUint16(out, ^uint16(len(block)))
		out = append(out, block...)
	}
	// The first empty block makes clients pass on the data before it; the second is the
	// last block.
	out = append(out, 0, 0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(p))
	return binary.LittleEndian.AppendUint32(out, uint32(len(p)))
}
