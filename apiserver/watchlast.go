package apiserver

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/watch"

	"minikcm.dev/minikcm/apiserver/faults"
	"minikcm.dev/minikcm/apiserver/watchcache"
)

// lastWord ends a watch that a fault has dropped in virtual time with a bookmark of the
// revision that its client has anyway. client-go takes a watch that was told nothing
// within a second of the machine's time for a sign that the server is not well, and
// waits for half a minute of it in the end, while the cluster's time stands still: in
// virtual time a watch may well have lived for hours within that second.
func (rq *request) lastWord(ctx context.Context, opts *listOptions, quietSince int64, encoder *eventEncoder, out frameWriter) {
	if !rq.local || !rq.server.isVirtual() || !opts.AllowWatchBookmarks || quietSince == 0 || !errors.Is(context.Cause(ctx), faults.ErrDropped) {
		return
	}
	frame, err := encoder.append(nil, &watchcache.Event{Type: watch.Bookmark, Entry: &watchcache.Entry{Revision: quietSince}})
	if err != nil {
		rq.server.opts.Logger.Error(err, "Encoding the end of a watch", "resource", rq.GVR)
		return
	}
	_, _ = out.Write(frame)
}
