package feeds

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"minikcm.dev/minikcm/clock"
)

const (
	// shortest is the real time between two messages to a subscriber, while few share a feed.
	shortest = 100 * time.Millisecond
	// A feed serves few subscribers this often. Each further one adds to the time between messages,
	// so that their cost grows more slowly than their number: a hundred pages get messages every
	// 280 ms.
	few, each = 10, 2 * time.Millisecond
	// longest is the time between messages, however many share a feed.
	longest = time.Second
	// maxHistory caps the history that a feed keeps for subscribers that are behind, in bytes of
	// events.
	maxHistory = 16 << 20
	// maxLine is the size of an event, in bytes. The API server's objects are smaller.
	maxLine = 8 << 20
)

// feed is one watch of the API server.
type feed struct {
	body    io.ReadCloser
	stop    context.CancelFunc
	arrived chan struct{} // has a value if there are events that are not published
	ended   chan struct{} // is closed when no more events arrive
	// subscribers counts the subscribers that have not left. It changes under the mutex of Feeds.
	subscribers atomic.Int64

	mu sync.Mutex
	// limit caps the history, in bytes of events.
	limit int
	// oldest is the resourceVersion after which the history begins; published is the
	// resourceVersion of its last event.
	oldest, published uint64
	// history has the latest event of each object. Replaced events are nil.
	history []*event
	// latest maps UIDs to indexes in history. Bookmarks are not in it.
	latest map[string]int
	// replaced counts the nils of history, size the bytes of its events.
	replaced, size int
	pending        []*event
	// messages holds the messages up to published, by the resourceVersion that they follow.
	messages map[uint64]*websocket.PreparedMessage
	// final is the event that ended the watch, if any.
	final *event
	// over means that ended is closed and the last events are published.
	over bool
	// changed is closed when published or over changes.
	changed chan struct{}
}

func newFeed(body io.ReadCloser, version uint64, stop context.CancelFunc) *feed {
	f := &feed{
		body: body, stop: stop, arrived: make(chan struct{}, 1), ended: make(chan struct{}), limit: maxHistory,
		oldest: version, published: version, latest: map[string]int{}, changed: make(chan struct{}),
	}
	f.subscribers.Store(1)
	return f
}

// interval is the real time between two messages of a feed.
func interval(subscribers int64) time.Duration {
	return min(shortest+each*time.Duration(max(subscribers-few, 0)), longest)
}

// read receives the events until the watch ends or an event cannot be read.
func (f *feed) read() error {
	defer close(f.ended)
	defer f.body.Close()
	lines := bufio.NewScanner(f.body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		e, err := parseEvent(bytes.Clone(lines.Bytes()))
		if err != nil {
			return err
		}
		f.mu.Lock()
		if e.failed {
			f.final = e
		} else {
			f.pending = append(f.pending, e)
		}
		f.mu.Unlock()
		if e.failed {
			return nil
		}
		select {
		case f.arrived <- struct{}{}:
		default:
		}
	}
	return lines.Err()
}

// publish passes the events on: at once after a pause, and then once an interval.
func (f *feed) publish(ctx context.Context) {
	real := clock.Real()
	for over := false; !over; {
		select {
		case <-f.arrived:
		case <-f.ended:
			over = true
		}
		f.mu.Lock()
		f.publishLocked(over)
		f.mu.Unlock()
		if over {
			return
		}
		select {
		case <-real.After(interval(f.subscribers.Load())):
		case <-ctx.Done():
		}
	}
}

func (f *feed) publishLocked(over bool) {
	for _, e := range f.pending {
		f.recordLocked(e)
	}
	f.pending, f.messages, f.over = nil, map[uint64]*websocket.PreparedMessage{}, over
	f.trimLocked()
	close(f.changed)
	f.changed = make(chan struct{})
}

// recordLocked puts an event in the place of the former one of its object, at the end.
func (f *feed) recordLocked(e *event) {
	if at, ok := f.latest[e.uid]; ok {
		f.size -= len(f.history[at].line)
		f.history[at] = nil
		f.replaced++
	}
	f.latest[e.uid] = len(f.history)
	f.history = append(f.history, e)
	f.size += len(e.line)
	f.published = e.version
}

// trimLocked drops the oldest events of a history that is too large, and its nils once they are
// most of it.
func (f *feed) trimLocked() {
	drop := 0
	for ; f.size > f.limit && drop < len(f.history); drop++ {
		if e := f.history[drop]; e != nil {
			f.size -= len(e.line)
			f.oldest = e.version
			f.history[drop] = nil
			delete(f.latest, e.uid)
			f.replaced++
		}
	}
	if f.replaced <= len(f.history)/2 {
		return
	}
	f.history = slices.DeleteFunc(f.history, func(e *event) bool { return e == nil })
	f.replaced = 0
	clear(f.latest)
	for at, e := range f.history {
		f.latest[e.uid] = at
	}
}

// reaches reports whether a feed that goes on has all events that follow a version.
func (f *feed) reaches(version uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.over && version >= f.oldest
}

// atEnd is the version of a subscriber that has got the event that ended the watch.
const atEnd = math.MaxUint64

// message returns a message with the events after a version, and the version of the last one. If
// there are none yet, the message is nil, and changed is closed when there may be some. ok is false
// if there will be none, or if the history does not reach back to the version.
func (f *feed) message(version uint64) (m *websocket.PreparedMessage, next uint64, changed <-chan struct{}, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case version < f.oldest:
		return nil, version, nil, false
	case version < f.published:
		next = f.published
	case f.over && f.final != nil && version != atEnd:
		next = atEnd
	default:
		return nil, version, f.changed, !f.over
	}
	if m = f.messages[version]; m == nil {
		m = prepare(f.afterLocked(version, next))
		f.messages[version] = m
	}
	return m, next, nil, m != nil
}

// afterLocked returns the events that follow a version, a line each.
func (f *feed) afterLocked(version, next uint64) []byte {
	if next == atEnd {
		return append(f.final.line, '\n')
	}
	from, size := len(f.history), 0
	for from > 0 && (f.history[from-1] == nil || f.history[from-1].version > version) {
		from--
		if e := f.history[from]; e != nil {
			size += len(e.line) + 1
		}
	}
	data := make([]byte, 0, size)
	for _, e := range f.history[from:] {
		if e != nil {
			data = append(append(data, e.line...), '\n')
		}
	}
	return data
}

// prepare returns a message whose frame, compressed or not, is made once for all connections; nil
// if it cannot be encoded.
func prepare(data []byte) *websocket.PreparedMessage {
	m, err := websocket.NewPreparedMessage(websocket.TextMessage, data)
	if err != nil {
		return nil
	}
	return m
}
