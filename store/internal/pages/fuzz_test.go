package pages_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"minikcm.dev/minikcm/store/internal/pages"
)

// smallDatabase returns a database with branches, overflow pages and a bucket within a page.
func smallDatabase(tb testing.TB, noFreelist bool) []byte {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: 1024, NoSync: true, NoFreelistSync: noFreelist})
	if err != nil {
		tb.Fatal(err)
	}
	for round := range 3 {
		err = errors.Join(err, db.Update(func(tx *bolt.Tx) error {
			large, err1 := tx.CreateBucketIfNotExists([]byte("key"))
			small, err2 := tx.CreateBucketIfNotExists([]byte("meta"))
			err := errors.Join(err1, err2)
			for i := range 20 {
				err = errors.Join(err, large.Put(fmt.Appendf(nil, "%d-%02d", round, i), bytes.Repeat([]byte("x"), 100+i*i*5)))
			}
			return errors.Join(err, small.Put([]byte("index"), []byte{byte(round)}))
		}))
	}
	if err := errors.Join(err, db.Close()); err != nil {
		tb.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return content
}

// walk returns the items of a database, and its first damage.
func walk(content []byte) (items int, damage error) {
	f, err := pages.Open(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return 0, err
	}
	damage = f.Walk(pages.Visitor{
		Item:   func(pages.Item) error { items++; return nil },
		Damage: func(d pages.Damage) error { return d },
	})
	return items, damage
}

// bboltCheck returns the findings of bbolt's own check of a database, except for pages that are
// neither used nor free, which only wastes their space.
func bboltCheck(t *testing.T, content []byte) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		var first error
		for err := range tx.Check() {
			if !strings.HasSuffix(err.Error(), "unreachable unfreed") {
				first = errors.Join(first, err)
			}
		}
		return first
	})
}

func TestWalk(t *testing.T) {
	for _, noFreelist := range []bool{false, true} {
		content := smallDatabase(t, noFreelist)
		if items, err := walk(content); items != 61 || err != nil {
			t.Errorf("%d items of 61, %v", items, err)
		}
		if err := bboltCheck(t, content); err != nil {
			t.Error(err)
		}
	}
}

// Of a database with changed bytes, either the walk finds damage, or bbolt's own check finds
// none: then bbolt can open it without a panic.
func FuzzWalk(f *testing.F) {
	f.Add(uint32(1024), byte(1), uint32(3000), byte(8), false)
	f.Add(uint32(4096), byte(0x80), uint32(4100), byte(2), true)
	f.Add(uint32(1024), byte(1), uint32(1024), byte(0), true) // the header of a meta page
	contents := map[bool][]byte{false: smallDatabase(f, false), true: smallDatabase(f, true)}
	f.Fuzz(func(t *testing.T, at1 uint32, flip1 byte, at2 uint32, flip2 byte, noFreelist bool) {
		content := bytes.Clone(contents[noFreelist])
		content[int(at1)%len(content)] ^= flip1
		content[int(at2)%len(content)] ^= flip2
		if _, err := walk(content); err != nil {
			return
		}
		file, err := pages.Open(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		// bbolt's check also refuses the headers of meta pages, which bbolt does not use.
		if err := bboltCheck(t, content); err != nil && len(file.Notes()) == 0 {
			t.Errorf("bbolt finds what the walk does not: %v", err)
		}
		if err := file.Scan(func(pages.Item) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

// Bytes that are no database are refused.
func FuzzOpen(f *testing.F) {
	f.Add(smallDatabase(f, true))
	f.Add([]byte{})
	f.Fuzz(func(_ *testing.T, content []byte) { _, _ = walk(content) })
}
