package feeds

import (
	"bytes"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// page is a subscriber's state: the versions of the objects.
type page struct {
	version uint64
	objects map[string]uint64
}

// apply applies a message. It fails if the versions do not rise.
func (p *page) apply(t *rapid.T, message []byte) {
	last := p.version
	for line := range bytes.Lines(message) {
		e, err := parseEvent(bytes.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		if e.version <= last {
			t.Fatalf("version %d follows %d", e.version, last)
		}
		last = e.version
		switch {
		case e.uid == "":
		case bytes.Contains(line, []byte("DELETED")):
			delete(p.objects, e.uid)
		default:
			p.objects[e.uid] = e.version
		}
	}
}

// TestPagesSeeTheLatest compares what pages know with the objects after each message: a page that
// gets messages knows all, however late it takes them, and one that falls behind learns that it has.
func TestPagesSeeTheLatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		version := uint64(100)
		f := newFeed(nil, version, nil)
		f.limit = rapid.IntRange(100, 1500).Draw(t, "limit")
		objects, published := map[string]uint64{}, map[string]uint64{}
		pages := []*page{{version, map[string]uint64{}}, {version, map[string]uint64{}}}
		t.Repeat(map[string]func(*rapid.T){
			"event": func(t *rapid.T) {
				version += uint64(rapid.IntRange(1, 3).Draw(t, "gap"))
				uid := fmt.Sprint("u", rapid.IntRange(0, 5).Draw(t, "object"))
				kind := rapid.SampledFrom([]string{"MODIFIED", "MODIFIED", "DELETED", "BOOKMARK"}).Draw(t, "type")
				switch kind {
				case "BOOKMARK":
					uid = ""
				case "DELETED":
					delete(objects, uid)
				default:
					objects[uid] = version
				}
				line := fmt.Sprintf(`{"type":%q,"object":{"metadata":{"uid":%q,"resourceVersion":"%d"}}}`, kind, uid, version)
				f.pending = append(f.pending, &event{version: version, uid: uid, line: []byte(line)})
			},
			"publish": func(*rapid.T) {
				f.publishLocked(false)
				published = maps.Clone(objects)
			},
			"read": func(t *rapid.T) {
				p := rapid.SampledFrom(pages).Draw(t, "page")
				_, next, changed, ok := f.message(p.version)
				switch {
				case !ok: // the page lists
					if p.version >= f.oldest {
						t.Fatalf("a page at %d is behind a history from %d", p.version, f.oldest)
					}
					p.version, p.objects = f.published, maps.Clone(published)
				case changed == nil:
					p.apply(t, f.afterLocked(p.version, next))
					p.version = next
				}
				if !maps.Equal(p.objects, published) {
					t.Fatalf("a page at %d knows %v, and there are %v", p.version, p.objects, published)
				}
			},
			"": func(t *rapid.T) {
				size := 0
				for _, e := range f.history {
					if e != nil {
						size += len(e.line)
					}
				}
				if size != f.size || len(f.pending) == 0 && size > f.limit {
					t.Fatalf("the history has %d bytes, counted as %d, with a limit of %d", size, f.size, f.limit)
				}
			},
		})
	})
}
