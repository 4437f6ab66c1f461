package verbs

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/watch"

	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/watchcache"
	"minikcm.dev/minikcm/internal/faults"
)

// lastWord sends a bookmark at the end of a watch that an injected fault drops in
// virtual time, with a revision that the client already has. Without it client-go takes
// a watch without events that lasted less than a second of real time as a sign of an
// unhealthy server, and backs off for up to half a minute of real time, while virtual
// time stands still. In virtual time the watch may have lasted for hours within that
// second.
func (rq *Call) lastWord(ctx context.Context, opts *request.ListOptions, quietSince int64, encoder *eventEncoder, out frameWriter) {
	if !rq.Local || !rq.backend.Virtual || !opts.AllowWatchBookmarks || quietSince == 0 || !errors.Is(context.Cause(ctx), faults.ErrDropped) {
		return
	}
	frame, err := encoder.append(nil, &watchcache.Event{Type: watch.Bookmark, Entry: &watchcache.Entry{Revision: quietSince}})
	if err != nil {
		rq.backend.Logger.Error(err, "Encoding the end of a watch", "resource", rq.GVR)
		return
	}
	_, _ = out.Write(frame)
}
