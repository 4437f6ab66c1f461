package apiserver

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// frameWriter takes the frames of a watch. settle says that the state that the watch
// begins with has been written.
type frameWriter struct {
	io.Writer
	gzip *gzipStream
	// single says that each frame is written by itself.
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

// gzipStream compresses a watch that begins with a state, as upstream's
// WatchListCompression does: what is written at once is one gzip member, so that the
// client has it at once. Only the state is worth the work: what comes after it is
// stored in its members as it is, which costs a checksum.
type gzipStream struct {
	out        io.Writer
	buf        bytes.Buffer
	compressor *gzip.Writer
	// settled says that the state has been written.
	settled bool
}

// Write sends p as a member of its own.
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
	// Clients see what is flushed before they see that the member ends: at its end
	// they wait for the next.
	if err := g.compressor.Flush(); err != nil {
		return fmt.Errorf("compressing a watch: %w", err)
	}
	if err := g.compressor.Close(); err != nil {
		return fmt.Errorf("compressing a watch: %w", err)
	}
	return nil
}

// maxStored is the most bytes of a stored block (RFC 1951, 3.2.4).
const maxStored = 1<<16 - 1

// storedMember appends a gzip member (RFC 1952) that holds p uncompressed.
func storedMember(out, p []byte) []byte {
	out = append(out, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)
	for block := range slices.Chunk(p, maxStored) {
		out = append(out, 0)
		out = binary.LittleEndian.AppendUint16(out, uint16(len(block)))
		out = binary.LittleEndian.AppendUint16(out, ^uint16(len(block)))
		out = append(out, block...)
	}
	// An empty block makes clients hand on what came before it, another is the last.
	out = append(out, 0, 0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(p))
	return binary.LittleEndian.AppendUint32(out, uint32(len(p)))
}
