package damage

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// A flipped bit in a page of the database is found before etcd opens it, or it is in bytes
// that only the reader of a value can judge: then the store starts and works.
func TestEmbeddedFlippedBits(t *testing.T) {
	ctx, original := storetest.Context(t), filepath.Join(t.TempDir(), "data")
	fillDataDir(t, original)
	whole, err := os.ReadFile(filepath.Join(original, databasePath))
	if err != nil {
		t.Fatal(err)
	}
	used := usedPages(whole)
	random := rand.New(rand.NewPCG(1, 1))
	found, started := 0, 0
	for i := range 60 {
		page := used[random.IntN(len(used))]
		// The headers of pages and of their elements are where bbolt can be led astray.
		at, bit := page+random.IntN([]int{16, 64, 512, 4096}[i%4]), random.IntN(8)
		t.Run(fmt.Sprintf("byte %d bit %d", at, bit), func(t *testing.T) {
			dir := withFlippedBit(t, original, whole, at, bit)
			before := fileSums(t, dir)
			s, err := store.StartEmbedded(ctx, store.EmbeddedOptions{DataDir: dir})
			if err != nil {
				found++
				if damage := (*store.DamagedError)(nil); !errors.As(err, &damage) {
					t.Errorf("got %v, want a DamagedError", err)
				}
				if diff := cmp.Diff(before, fileSums(t, dir)); diff != "" {
					t.Errorf("the directory has been changed: %s", diff)
				}
				return
			}
			started++
			if _, err := s.Put(ctx, "/new", []byte("1"), 0); err != nil {
				t.Error(err)
			}
			if list, err := s.List(ctx, "/", store.ListOptions{}); err != nil || list.Count != 51 {
				t.Errorf("%d keys of 51: %v", list.Count, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Logf("%d flipped bits were found, with %d the store has started", found, started)
	if found < 15 {
		t.Errorf("only %d flipped bits were found", found)
	}
}

// databasePath is the path of the database in a data directory.
var databasePath = filepath.Join("member", "snap", "db")

// withFlippedBit returns a copy of a data directory, whose database is whole but for one bit.
func withFlippedBit(t *testing.T, original string, whole []byte, at, bit int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(original)); err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[at] ^= 1 << bit
	if err := os.WriteFile(filepath.Join(dir, databasePath), flipped, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// usedPages returns the offsets of the pages that contain something.
func usedPages(database []byte) []int {
	var offsets []int
	for at := 0; at+os.Getpagesize() <= len(database); at += os.Getpagesize() {
		if page := database[at : at+os.Getpagesize()]; len(bytes.Trim(page, "\x00")) > 0 {
			offsets = append(offsets, at)
		}
	}
	return offsets
}
