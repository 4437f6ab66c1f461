package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"minikcm.dev/minikcm/store"
)

func testWatchChanges(ctx context.Context, t *testing.T, s store.Store) {
	j := newJournal(t, s)
	w, stream := mustWatch(ctx, t, s, "/a/", 2)
	change := func() {
		j.put(ctx, "/a/1", "created")
		j.put(ctx, "/a/1", "updated")
		j.put(ctx, "/b/1", "elsewhere")
		j.remove(ctx, "/a/1")
		j.put(ctx, "/a/1", "created again")
	}
	change()
	readUntil(ctx, t, w, stream, j.newest())
	j.remove(ctx, "/a/1")
	change()
	readUntil(ctx, t, w, stream, j.newest())
	late, lateStream := mustWatch(ctx, t, s, "/a/", 2)
	readUntil(ctx, t, late, lateStream, j.newest())
	for name, stream := range map[string]*Stream{"live": stream, "from the past": lateStream} {
		if err := Validate(j.history(), *stream); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// testWatchFromNow opens watches from now on and writes directly after Watch returns.
func testWatchFromNow(ctx context.Context, t *testing.T, s store.Store) {
	j := newJournal(t, s)
	for range 20 {
		w, stream := mustWatch(ctx, t, s, "/a/", 0)
		revision := j.put(ctx, "/a/1", "v")
		stream.From = revision
		readUntil(ctx, t, w, stream, revision)
		if err := Validate(j.history(), *stream); err != nil {
			t.Error(err)
		}
	}
}

// testWatchLoad starts watches in the past, now and in the middle of writing.
func testWatchLoad(ctx context.Context, t *testing.T, s store.Store) {
	j := newJournal(t, s)
	start := j.put(ctx, "/a/start", "v")
	type watch struct {
		watch  store.Watch
		stream *Stream
	}
	var watches []watch
	for _, prefix := range []string{"/", "/a/", "/b/"} {
		w, stream := mustWatch(ctx, t, s, prefix, start)
		watches = append(watches, watch{w, stream})
	}
	halfway := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		load(ctx, j, 4, 150, halfway)
	}()
	<-halfway
	for i := range 10 {
		w, stream := mustWatch(ctx, t, s, "/a/", start+int64(i*20))
		watches = append(watches, watch{w, stream})
	}
	var wg sync.WaitGroup
	read := func(revision int64) {
		for _, w := range watches {
			wg.Add(1)
			go func() {
				defer wg.Done()
				readUntil(ctx, t, w.watch, w.stream, revision)
			}()
		}
		wg.Wait()
	}
	<-finished
	last := j.put(ctx, "/a/last", "v")
	if err := s.RequestProgress(ctx, ""); err != nil {
		t.Fatal(err)
	}
	read(last)
	for _, w := range watches {
		if err := Validate(j.history(), *w.stream); err != nil {
			t.Errorf("watch of %s from %d: %v", w.stream.Prefix, w.stream.From, err)
		}
	}
}

// load runs writers goroutines that write rounds times each, and closes halfway after
// half of the writes.
func load(ctx context.Context, j *journal, writers, rounds int, halfway chan<- struct{}) {
	var wg, half sync.WaitGroup
	half.Add(writers)
	for writer := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range rounds {
				key := fmt.Sprintf("/%c/%d-%d", 'a'+i%2, writer, i%7)
				if i%5 == 4 && j.revisionOf(key) != 0 {
					j.remove(ctx, key)
				} else {
					j.put(ctx, key, fmt.Sprint(i))
				}
				if i == rounds/2 {
					half.Done()
				}
			}
		}()
	}
	half.Wait()
	close(halfway)
	wg.Wait()
}

// testWatchSlow has a consumer that reads nothing while more is written than any
// implementation queues for it.
func testWatchSlow(ctx context.Context, t *testing.T, s store.Store) {
	j := newJournal(t, s)
	start := j.put(ctx, "/a/start", "v")
	slow, slowStream := mustWatch(ctx, t, s, "/", start)
	quick, quickStream := mustWatch(ctx, t, s, "/", start)
	load(ctx, j, 16, 700, make(chan struct{}))
	readUntil(ctx, t, quick, quickStream, j.newest())
	newest := j.put(ctx, "/a/last", "v")
	readUntil(ctx, t, slow, slowStream, newest)
	readUntil(ctx, t, quick, quickStream, newest)
	for name, stream := range map[string]*Stream{"slow": slowStream, "quick": quickStream} {
		if err := Validate(j.history(), *stream); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func testWatchResumes(ctx context.Context, t *testing.T, s store.Store) {
	j := newJournal(t, s)
	from := j.put(ctx, "/a/start", "v")
	load(ctx, j, 4, 100, make(chan struct{}))
	var streams []Stream
	for reached := int64(0); reached < j.newest(); {
		watchCtx, cancel := context.WithCancel(ctx)
		w, stream := mustWatch(watchCtx, t, s, "/", from)
		readUntil(ctx, t, w, stream, min(from+50, j.newest()))
		cancel()
		reached = stream.Reached()
		from = reached + 1
		streams = append(streams, *stream)
		if len(streams) < 5 {
			j.put(ctx, "/a/more", "v")
		}
		if t.Failed() {
			return
		}
	}
	if err := Resumable(j.history(), streams...); err != nil {
		t.Error(err)
	}
}

// testWatchProgress requests progress while nothing, other keys, and the watched keys
// are written.
func testWatchProgress(ctx context.Context, t *testing.T, s store.Store) {
	j := newJournal(t, s)
	newest := j.put(ctx, "/b/1", "v")
	w, stream := mustWatch(ctx, t, s, "/a/", newest+1)
	progress := func() {
		t.Helper()
		want := j.newest()
		if err := s.RequestProgress(ctx, "/a/"); err != nil {
			t.Fatal(err)
		}
		if err := readProgress(ctx, w, stream, want); err != nil {
			t.Fatal(err)
		}
	}
	progress()
	for range 5 {
		j.put(ctx, "/b/1", "v")
		progress()
		j.put(ctx, "/a/1", "v")
		progress()
		progress()
	}
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		load(ctx, j, 4, 100, make(chan struct{}))
	}()
	for range 10 {
		progress()
	}
	wg.Wait()
	progress()
	if err := Validate(j.history(), *stream); err != nil {
		t.Error(err)
	}
}

func testWatchCompaction(ctx context.Context, t *testing.T, s store.Store) {
	j := newJournal(t, s)
	start := j.put(ctx, "/a/1", "v")
	for range 9 {
		j.put(ctx, "/a/1", "v")
	}
	open, openStream := mustWatch(ctx, t, s, "/a/", start)
	readUntil(ctx, t, open, openStream, j.newest())
	compacted := start + 5
	if err := s.Compact(ctx, compacted); err != nil {
		t.Fatal(err)
	}
	history := j.history()
	history.Compacted = compacted
	for from := start; from <= j.newest(); from++ {
		stream := &Stream{Prefix: "/a/", From: from}
		w, err := s.Watch(ctx, "/a/", from)
		switch {
		case err != nil:
			stream.End(err)
		case from <= compacted:
			readToEnd(ctx, t, w, stream)
		default:
			readUntil(ctx, t, w, stream, j.newest())
		}
		if err := Validate(history, *stream); err != nil {
			t.Errorf("watch from %d: %v", from, err)
		}
	}
	newest := j.put(ctx, "/a/1", "v")
	readUntil(ctx, t, open, openStream, newest)
	if err := Validate(j.history(), *openStream); err != nil {
		t.Errorf("a watch that was there before the compaction: %v", err)
	}
}

func testWatchEnds(ctx context.Context, t *testing.T, s store.Store) {
	j := newJournal(t, s)
	start := j.put(ctx, "/a/1", "v")
	cancelled, cancel := context.WithCancel(ctx)
	w, stream := mustWatch(cancelled, t, s, "/a/", start)
	cancel()
	readToEnd(ctx, t, w, stream)
	if !errors.Is(w.Err(), context.Canceled) {
		t.Errorf("a cancelled watch ends with %v", w.Err())
	}
	idle, idleStream := mustWatch(ctx, t, s, "/a/", 0)
	stuck, stuckStream := mustWatch(ctx, t, s, "/a/", start) // its consumer reads nothing
	for range 10 {
		j.put(ctx, "/b/1", "v")
		j.put(ctx, "/a/1", "v")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	readToEnd(ctx, t, idle, idleStream)
	readToEnd(ctx, t, stuck, stuckStream)
	if idle.Err() != nil || stuck.Err() != nil {
		t.Errorf("watches of a closed store end with %v and %v", idle.Err(), stuck.Err())
	}
}
