package verbs

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/flow"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/slowclient"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/transport"
	"minikcm.dev/minikcm/apiserver/internal/watchcache"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/reference"
)

// serveWatch serves GET on a collection with watch=true: a chunked stream of events,
// which ends when the client disconnects, its timeout is over, the server stops, or the
// client is too slow.
func serveWatch(ctx context.Context, rq *Call) error {
	opts, err := rq.ListOptions()
	if err != nil {
		return err
	}
	revision, err := storage.ParseRevision(opts.ResourceVersion)
	if err != nil {
		return request.UnreadableVersion(err)
	}
	flusher, ok := rq.Writer.(http.Flusher)
	if !ok {
		return response.NotAcceptable()
	}
	encoder, err := newEventEncoder(rq)
	if err != nil {
		return err
	}
	ctx, cancel := rq.watchContext(ctx, opts)
	defer cancel()
	watcher, err := rq.watch(ctx, opts, revision)
	// If the watch cannot start, the error is sent as an event of the stream.
	refused := apierrors.IsResourceExpired(err) || apierrors.IsTimeout(err)
	if err != nil && !refused {
		return storage.Translate(err, rq.GroupResource(), "")
	}
	if watcher != nil {
		// Until the client has seen the end of the stream, the end of the watch is in flight.
		defer transport.AtStreamEnd(ctx, watcher.Stop)()
	}
	send := func(ctx context.Context, frames frameWriter) {
		if refused {
			rq.endStream(err, encoder, frames)
			return
		}
		quietSince := rq.stream(ctx, watcher, revision, encoder, frames)
		rq.lastWord(ctx, opts, quietSince, encoder, frames)
	}
	if rq.watchesBySocket() {
		return rq.serveSocket(ctx, cancel, send)
	}
	header := rq.Writer.Header()
	header.Set("Content-Type", rq.Target.Media.StreamContentType())
	compressed := response.AcceptsGzip(rq.HTTP) && opts.AllowWatchBookmarks && opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if compressed {
		header.Set("Content-Encoding", "gzip")
		header.Add("Vary", "Accept-Encoding")
	}
	rq.Writer.WriteHeader(http.StatusOK)
	flusher.Flush()
	out := slowclient.NewStream(ctx, rq.Writer)
	defer out.End()
	frames := frameWriter{Writer: out}
	if compressed {
		frames = newGzipFrames(out)
	}
	send(ctx, frames)
	return nil
}

// watch starts a watch according to resourceVersion and sendInitialEvents (Kubernetes
// documentation, "API Concepts: Semantics for watch").
func (rq *Call) watch(ctx context.Context, opts *request.ListOptions, revision int64) (*watchcache.Watcher, error) {
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		if err := rq.reach(ctx, revision); err != nil {
			return nil, err
		}
	}
	return rq.Objects.Cache().Watch(ctx, watchcache.WatchOptions{
		Prefix: rq.Prefix(), Label: opts.Label, Field: opts.Field, Revision: revision, Any: opts.ResourceVersion == "0",
		SendInitialEvents: opts.SendInitialEvents, Bookmarks: opts.AllowWatchBookmarks, Steadfast: transport.IsPart(ctx),
	})
}

// watchContext returns a context that ends the watch after the client's timeout, or else
// after the server's limit, randomized so that clients do not all reconnect at once. The
// limit is for connections whose client may be gone. An in-process watch has only the
// client's timeout, because in virtual time all informers would reconnect again and
// again.
func (rq *Call) watchContext(ctx context.Context, opts *request.ListOptions) (context.Context, context.CancelFunc) {
	limit := rq.backend.MaxWatchTime
	limit += time.Duration(rq.backend.Random.Float64() * float64(limit))
	named := opts.TimeoutSeconds != nil && *opts.TimeoutSeconds > 0
	if named {
		limit = time.Duration(*opts.TimeoutSeconds) * time.Second
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := func() {}
	if named || !rq.Local {
		by, ends := rq.backend.Clock, func() {}
		if rq.Row.Live { // which shows a clock, and must not set timers of it
			by = clock.Real()
		} else {
			ends = transport.Ending(ctx, rq.backend.Ledger)
		}
		timer := by.AfterFunc(limit, func() { ends(); cancel() })
		stop = func() { timer.Stop() }
		context.AfterFunc(ctx, stop)
	}
	go func() {
		select {
		case <-rq.backend.Stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { stop(); cancel() }
}

// streamChunk is the size of a write to a watch. The watch of a slow client holds one
// such copy; the later events it holds only by reference.
const streamChunk = 64 << 10

// stream writes batches of events until the watch ends. If the server ends it, the last
// event is an ERROR. stream returns the revision of the start of the watch, or of the
// end of its initial events, if no events followed, otherwise 0.
func (rq *Call) stream(ctx context.Context, watcher *watchcache.Watcher, from int64, encoder *eventEncoder, out frameWriter) (quietSince int64) {
	var buf []byte
	initial := true
	for {
		if initial && !watcher.Initial() {
			initial = false
			flow.WatchInitialized(ctx)
		}
		events, err := watcher.Next(ctx)
		if err != nil {
			rq.endStream(err, encoder, out)
			return from
		}
		for i := range events {
			if buf, err = encoder.append(buf, &events[i]); err != nil {
				rq.endStream(err, encoder, out)
				return 0
			}
			if len(buf) < streamChunk && i < len(events)-1 && !out.single {
				continue
			}
			if _, err := out.Write(buf); err != nil {
				return 0
			}
			buf = buf[:0]
			if cap(buf) > 2*streamChunk {
				buf = nil
			}
		}
		if n := len(events); n > 0 {
			from = 0
			if last := &events[n-1]; last.InitialEventsEnd {
				from = last.Entry.Revision
				out.settle()
			}
		}
	}
}

func (rq *Call) endStream(err error, encoder *eventEncoder, out frameWriter) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, watchcache.ErrClosed) {
		return
	}
	status := response.StatusOf(storage.Translate(err, rq.GroupResource(), ""))
	frame, encodeErr := encoder.appendError(nil, &status)
	if encodeErr != nil {
		rq.backend.Logger.Error(encodeErr, "Encoding the end of a watch", "resource", rq.GVR)
		return
	}
	_, _ = out.Write(frame)
}

// eventEncoder encodes events as frames of one media type. Each object is encoded once
// for all watchers with the same form.
type eventEncoder struct {
	rq     *Call
	form   string
	encode func(obj runtime.Object) ([]byte, error)
	// headers encodes a Table's first event, which includes the column definitions.
	headers       func(obj runtime.Object) ([]byte, error)
	headersNeeded bool
	// references, if not nil, get the objects in place of their encoding.
	references *reference.Stream
}

func newEventEncoder(rq *Call) (*eventEncoder, error) {
	kind, media := rq.Row.GroupVersionKind, rq.Target.Media
	if media == codec.YAML {
		return nil, response.NotAcceptableExcept(codec.Streamed())
	}
	e := &eventEncoder{rq: rq, form: kind.Group + "/" + kind.Version + ";" + rq.Target.Form()}
	switch rq.Target.As.Kind {
	case "":
		if media == codec.Protobuf {
			e.references = reference.StreamOf(rq.HTTP.Context())
		}
		e.encode = func(obj runtime.Object) ([]byte, error) { return codec.Encode(media, kind, rq.FromStored(obj)) }
	case request.KindTable:
		opts, err := rq.TableOptions()
		if err != nil {
			return nil, err
		}
		e.tableForms(*opts)
	default:
		e.encode = func(obj runtime.Object) ([]byte, error) {
			partial, err := request.PartialMetadata(obj)
			if err != nil {
				return nil, err
			}
			return codec.Encode(media, rq.Target.As.GroupVersion().WithKind("PartialObjectMetadata"), partial)
		}
	}
	return e, nil
}

// tableForms encodes objects as Tables of one row. The encodings are not shared,
// because they contain ages.
func (e *eventEncoder) tableForms(opts metav1.TableOptions) {
	rq := e.rq
	table := func(opts metav1.TableOptions) func(runtime.Object) ([]byte, error) {
		return func(obj runtime.Object) ([]byte, error) {
			obj = rq.FromStored(obj)
			t, err := rq.NewTable(&opts, metav1.ListMeta{ResourceVersion: request.ResourceVersionOf(obj)}, &request.Page{Objects: []runtime.Object{obj}})
			if err != nil {
				return nil, err
			}
			return codec.Encode(rq.Target.Media, rq.Target.As, t)
		}
	}
	e.form = ""
	e.headers, e.headersNeeded = table(opts), true
	opts.NoHeaders = true
	e.encode = table(opts)
}

func (e *eventEncoder) append(buf []byte, event *watchcache.Event) ([]byte, error) {
	if event.Type == watch.Bookmark {
		return e.appendBookmark(buf, event)
	}
	var object []byte
	var err error
	switch {
	case e.references != nil:
		object = e.references.Put(event.Entry.Shared(e.form, e.shared))
	case e.headersNeeded:
		e.headersNeeded = false
		object, err = e.headers(event.Entry.Object())
	case e.form == "":
		object, err = e.encode(event.Entry.Object())
	default:
		object, err = event.Entry.Encoded(e.form, e.encode)
	}
	if err != nil {
		return nil, err
	}
	return codec.AppendWatchFrame(buf, e.rq.Target.Media, event.Type, object)
}

// shared returns a stored object for the clients in this process that take references: without
// managed fields, which they do not keep, and without its kind, as decoding would leave it. Its
// content is the stored object's.
func (e *eventEncoder) shared(stored runtime.Object) runtime.Object {
	obj := storage.Shallow(e.rq.FromStored(stored))
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if m, ok := obj.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return obj
}

// appendBookmark appends a bookmark: an object of the kind that has only the revision
// up to which the client has received everything.
func (e *eventEncoder) appendBookmark(buf []byte, event *watchcache.Event) ([]byte, error) {
	obj := e.rq.Row.New()
	m, ok := obj.(metav1.Object)
	if !ok {
		return buf, nil
	}
	m.SetResourceVersion(strconv.FormatInt(event.Entry.Revision, 10))
	if event.InitialEventsEnd {
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	var object []byte
	var err error
	if e.rq.Target.As.Kind == "" {
		object, err = codec.Encode(e.rq.Target.Media, e.rq.Row.GroupVersionKind, obj)
	} else {
		object, err = e.bookmarkAs(obj)
	}
	if err != nil {
		return nil, err
	}
	return codec.AppendWatchFrame(buf, e.rq.Target.Media, watch.Bookmark, object)
}

// bookmarkAs encodes a bookmark in a transformed stream: a Table without rows, or
// partial metadata.
func (e *eventEncoder) bookmarkAs(obj runtime.Object) ([]byte, error) {
	if e.rq.Target.As.Kind != request.KindTable {
		return e.encode(obj)
	}
	t, err := e.rq.NewTable(&metav1.TableOptions{NoHeaders: true}, metav1.ListMeta{ResourceVersion: request.ResourceVersionOf(obj)}, &request.Page{Objects: []runtime.Object{obj}})
	if err != nil {
		return nil, err
	}
	return codec.Encode(e.rq.Target.Media, e.rq.Target.As, t)
}

func (e *eventEncoder) appendError(buf []byte, status *metav1.Status) ([]byte, error) {
	object, err := codec.Encode(e.rq.Target.Media, response.StatusKind, status)
	if err != nil {
		return nil, err
	}
	return codec.AppendWatchFrame(buf, e.rq.Target.Media, watch.Error, object)
}
