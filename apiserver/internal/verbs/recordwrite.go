package verbs

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/fieldmanager"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/heartbeats"
	"minikcm.dev/minikcm/internal/writerecord"
)

// RecordWrite records the writer and the causes of a revision.
func (rq *Call) RecordWrite(result storage.Result) {
	rq.RecordOther(rq.GVR, rq.Row.Kind, rq.Subresource, result)
}

// RecordOther is RecordWrite for an object that a request writes in addition to its
// own.
func (rq *Call) RecordOther(resource schema.GroupVersionResource, kind, subresource string, result storage.Result) {
	m, err := meta.Accessor(result.Object)
	if err != nil || rq.Row.Live {
		return
	}
	revision, err := storage.ParseRevision(m.GetResourceVersion())
	if err != nil {
		return
	}
	if ttl := rq.Objects.TTL(); ttl > 0 && m.GetDeletionTimestamp() == nil && rq.Verb != request.VerbDelete {
		rq.backend.Expires(ttl, rq.Objects, rq.Key(), revision)
	}
	rq.backend.Writes.Add(writerecord.Write{
		Revision: revision, Time: rq.backend.Clock.Now(), Actor: rq.User.Name, UserAgent: rq.HTTP.UserAgent(),
		Verb: rq.Verb, Resource: metav1.GroupVersionResource(resource), Subresource: subresource,
		Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(), Causes: rq.Causes,
		Kind: kind, Effect: effectOf(result),
	}, result.Old, result.Object)
}

func effectOf(result storage.Result) writerecord.Effect {
	switch {
	case result.Deleted:
		return writerecord.Removed
	case result.Created, result.Old == nil:
		return writerecord.Created
	}
	return writerecord.Changed
}

// fieldWrite describes the request's write to the field managers. manager is the owner of
// the fields.
func (rq *Call) fieldWrite(manager string) *fieldmanager.Write {
	now := rq.backend.Preparer.Now()
	if t := heartbeats.TraceOf(rq.HTTP.Context()); t != nil && !t.At.IsZero() {
		now = metav1.NewTime(t.At.UTC().Truncate(time.Second))
	}
	return &fieldmanager.Write{
		Row: rq.Row, Subresource: rq.Subresource, Kind: rq.Kind(), Scale: rq.Sub != nil && rq.Sub.Replicas != nil,
		Manager: manager, Now: now,
	}
}
