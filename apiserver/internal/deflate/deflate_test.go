package deflate_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"minikcm.dev/minikcm/apiserver/internal/deflate"
)

// read decompresses one gzip member; the reader verifies length and checksum.
func read(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// A stream of parts, in any order and repeated, is one gzip member of their plain bytes.
func TestStream(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	plains := [][]byte{nil, []byte("x"), []byte(strings.Repeat("kind: ConfigMap\n", 20_000)), noise, []byte(strings.Repeat("y", 70_000))}
	parts := make([]*deflate.Part, len(plains))
	for i, plain := range plains {
		var err error
		if parts[i], err = deflate.Compress(plain); err != nil || parts[i].Len() != len(plain) {
			t.Fatalf("a part of %d bytes has length %d: %v", len(plain), parts[i].Len(), err)
		}
	}
	for range 50 {
		var out, want bytes.Buffer
		s := deflate.NewStream(&out)
		for range random.IntN(8) {
			i := random.IntN(len(plains))
			want.Write(plains[i])
			var err error
			if random.IntN(2) == 0 {
				_, err = s.Write(plains[i])
			} else {
				err = s.Append(parts[i])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := read(t, out.Bytes()); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%d bytes of %d", len(got), want.Len())
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("broken")

func TestBrokenStream(t *testing.T) {
	s := deflate.NewStream(broken{})
	if _, err := s.Write([]byte("x")); !errors.Is(err, errBroken) {
		t.Errorf("a write: %v", err)
	}
	if err := s.Close(); !errors.Is(err, errBroken) {
		t.Errorf("the end: %v", err)
	}
}
