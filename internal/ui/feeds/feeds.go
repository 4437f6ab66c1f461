package feeds

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"

	"github.com/gorilla/websocket"
	"k8s.io/klog/v2"
)

// Open begins a watch of a path of the API server after a resourceVersion. The body has an event a
// line, and ends with ctx.
type Open func(ctx context.Context, path string, version uint64) (io.ReadCloser, error)

// ErrOver is returned when nothing follows on a subscription: its feed has ended, or no longer has
// the events that follow the subscriber's resourceVersion. A new subscription may have them.
var ErrOver = errors.New("the feed is over")

// Feeds are the feeds of one API server. Create them with New. Their methods may be called
// concurrently.
type Feeds struct {
	open    Open
	logger  klog.Logger
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	// feeds has the feeds with subscribers.
	feeds map[*feed]bool
	paths map[string]*resource
}

// resource is the state of one watched path.
type resource struct {
	// opening is held while a feed is opened: subscribers that want to join wait for it.
	opening sync.Mutex
	// newest is the feed that new subscribers join, if it reaches back for them. Subscribers of an
	// older one stay there.
	newest *feed
}

// New returns feeds that watch with open.
func New(open Open, logger klog.Logger) *Feeds {
	return &Feeds{open: open, logger: logger, feeds: map[*feed]bool{}, paths: map[string]*resource{}}
}

// Close ends the watches and all subscriptions, and returns when they have ended.
func (f *Feeds) Close() {
	f.mu.Lock()
	f.closed = true
	for feed := range f.feeds {
		feed.stop()
	}
	f.mu.Unlock()
	f.running.Wait()
}

// Subscription is one subscriber of a feed. Its methods are for one goroutine.
type Subscription struct {
	feeds   *Feeds
	feed    *feed
	version uint64
}

// Subscribe returns a subscription to the events after a resourceVersion at a path. It opens a
// watch if no feed reaches back that far, with the values of ctx, and returns the error of opening
// it. The caller has to Leave.
func (f *Feeds) Subscribe(ctx context.Context, path string, version uint64) (*Subscription, error) {
	f.mu.Lock()
	r := f.paths[path]
	if r == nil {
		r = &resource{}
		f.paths[path] = r
	}
	f.mu.Unlock()
	r.opening.Lock()
	defer r.opening.Unlock()
	if r.newest != nil && f.join(r.newest, version) {
		return &Subscription{feeds: f, feed: r.newest, version: version}, nil
	}
	opened, err := f.begin(ctx, path, version)
	if err != nil {
		return nil, err
	}
	r.newest = opened
	return &Subscription{feeds: f, feed: opened, version: version}, nil
}

// join makes the caller one more subscriber of a feed, if that goes on and reaches back.
func (f *Feeds) join(feed *feed, version uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.feeds[feed] || !feed.reaches(version) {
		return false
	}
	feed.subscribers.Add(1)
	return true
}

// begin opens a feed with one subscriber.
func (f *Feeds) begin(ctx context.Context, path string, version uint64) (*feed, error) {
	watch, stop := context.WithCancel(context.WithoutCancel(ctx)) // others may stay when this subscriber leaves
	opening := context.AfterFunc(ctx, stop)
	body, err := f.open(watch, path, version)
	if !opening() && err == nil {
		err = errors.Join(ctx.Err(), body.Close())
	}
	if err != nil {
		stop()
		return nil, err
	}
	feed := newFeed(body, version, stop)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		stop()
		return nil, errors.Join(ErrOver, body.Close())
	}
	f.feeds[feed] = true
	f.running.Go(func() { feed.publish(watch) })
	f.running.Go(func() {
		if err := feed.read(); err != nil && watch.Err() == nil {
			f.logger.Error(err, "A watch of the page has ended", "path", path, "after", strconv.FormatUint(version, 10))
		}
	})
	return feed, nil
}

// Leave ends the subscription. With its last subscriber, a feed ends its watch.
func (s *Subscription) Leave() {
	s.feeds.mu.Lock()
	defer s.feeds.mu.Unlock()
	if s.feed.subscribers.Add(-1) == 0 {
		delete(s.feeds.feeds, s.feed)
		s.feed.stop()
	}
}

// Next returns the next message, once something follows. It returns ErrOver, or the error of ctx.
func (s *Subscription) Next(ctx context.Context) (*websocket.PreparedMessage, error) {
	for {
		m, next, changed, ok := s.feed.message(s.version)
		s.version = next
		switch {
		case !ok:
			return nil, ErrOver
		case m != nil:
			return m, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
