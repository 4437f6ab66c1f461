package linearizability

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/clock"
)

// retryAfter is the delay before a watch that failed is started again.
const retryAfter = 20 * time.Millisecond

// watcher records streams of one client. It resumes a watch that ends, and begins a new
// stream with a list if its revision is compacted.
type watcher struct {
	name   string
	client func() kubernetes.Interface // for the next request
	// prefix is the prefix of the keys to record. The event of the key end ends the recording.
	prefix, end string
	streams     []Stream
	// restarted counts the watches that ended before.
	restarted int
}

// run records until the end key exists, or until ctx ends. begun is called when the
// first stream has begun.
func (w *watcher) run(ctx context.Context, begun func(from int64)) error {
	for ctx.Err() == nil {
		found, err := listAll(ctx, w.client())
		if err != nil {
			pause(ctx, retryAfter)
			continue
		}
		from, err := revisionOf(found)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(found.Items, func(m corev1.ConfigMap) bool { return m.Name == w.end }) {
			return nil // the end is in a gap between two streams
		}
		w.streams = append(w.streams, Stream{Name: w.name, From: from})
		if begun != nil {
			begun(from)
			begun = nil
		}
		if ended, err := w.follow(ctx, &w.streams[len(w.streams)-1]); ended || err != nil {
			return err
		}
	}
	return fmt.Errorf("watch %s did not see the end of the history, but only revision %d after %d restarts: %w", w.name, w.last(), w.restarted, context.Cause(ctx))
}

// pause waits before something is tried again.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-clock.Real().After(d):
	}
}

// follow records one stream. ended reports that it has the end of the history; otherwise
// its last revision is compacted, or ctx has ended.
func (w *watcher) follow(ctx context.Context, s *Stream) (ended bool, err error) {
	for ; ctx.Err() == nil; w.restarted++ {
		stream, err := w.client().CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{
			ResourceVersion: strconv.FormatInt(s.last(), 10), AllowWatchBookmarks: true,
		})
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return false, nil
		}
		if err != nil {
			pause(ctx, retryAfter)
			continue
		}
		ended, gone, err := w.receive(stream, s)
		stream.Stop()
		if ended || gone || err != nil {
			return ended, err
		}
	}
	return false, nil
}

// receive records the events of one watch.
func (w *watcher) receive(from watch.Interface, s *Stream) (ended, gone bool, err error) {
	for received := range from.ResultChan() {
		if received.Type == watch.Error {
			err := apierrors.FromObject(received.Object)
			return false, apierrors.IsResourceExpired(err) || apierrors.IsGone(err), nil
		}
		object, ok := received.Object.(*corev1.ConfigMap)
		if !ok {
			return false, false, fmt.Errorf("watch %s received a %T", w.name, received.Object)
		}
		if received.Type != watch.Bookmark && !strings.HasPrefix(object.Name, w.prefix) {
			continue
		}
		e := Event{Type: EventType(received.Type), Key: object.Name, Value: object.Data[valueKey]}
		if e.Revision, err = revisionOf(object); err != nil {
			return false, false, fmt.Errorf("watch %s: the revision of %s: %w", w.name, e.Key, err)
		}
		s.Events = append(s.Events, e)
		if e.Key == w.end {
			return true, false, nil
		}
	}
	return false, false, nil
}

// last returns the newest revision that the watcher received.
func (w *watcher) last() int64 {
	if len(w.streams) == 0 {
		return 0
	}
	return w.streams[len(w.streams)-1].last()
}
