package deflate

import (
	"encoding/binary"
	"io"
)

const (
	// header is the header of a gzip member without a name and a time (RFC 1952, 2.3).
	header = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
	// lastBlock is an empty block that ends the stream.
	lastBlock = "\x01\x00\x00\xff\xff"
)

// Stream writes one gzip member.
type Stream struct {
	out    io.Writer
	begun  bool
	length int
	sum    uint32
}

// NewStream returns a stream that writes to out.
func NewStream(out io.Writer) *Stream { return &Stream{out: out} }

// Write compresses p as a part of its own.
func (s *Stream) Write(p []byte) (int, error) {
	part, err := Compress(p)
	if err != nil {
		return 0, err
	}
	if err := s.Append(part); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Append writes a part.
func (s *Stream) Append(p *Part) error {
	if err := s.begin(); err != nil {
		return err
	}
	s.sum = joined(s.sum, p.sum, p.length)
	s.length += p.length
	_, err := s.out.Write(p.data)
	return err
}

func (s *Stream) begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	_, err := io.WriteString(s.out, header)
	return err
}

// Close writes the end of the stream.
func (s *Stream) Close() error {
	if err := s.begin(); err != nil {
		return err
	}
	end := binary.LittleEndian.AppendUint32([]byte(lastBlock), s.sum)
	_, err := s.out.Write(binary.LittleEndian.AppendUint32(end, uint32(s.length)))
	return err
}
