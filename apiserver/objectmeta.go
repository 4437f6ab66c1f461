package apiserver

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/writerecord"
)

// clearTypeMeta removes kind and apiVersion: inside the apiserver, the row determines
// an object's kind. Custom objects keep theirs, which are part of their content.
func clearTypeMeta(obj runtime.Object) {
	if _, untyped := obj.(runtime.Unstructured); untyped {
		return
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
}

// recordWrite records the writer and the causes of a revision.
func (rq *request) recordWrite(result storage.Result) {
	rq.recordOther(rq.GVR, rq.row.Kind, rq.Subresource, result)
}

// recordOther is recordWrite for an object that a request writes in addition to its
// own.
func (rq *request) recordOther(resource schema.GroupVersionResource, kind, subresource string, result storage.Result) {
	m, err := meta.Accessor(result.Object)
	if err != nil {
		return
	}
	revision, err := storage.ParseRevision(m.GetResourceVersion())
	if err != nil {
		return
	}
	if ttl := rq.objects.TTL(); ttl > 0 && m.GetDeletionTimestamp() == nil && rq.Verb != verbDelete {
		rq.server.expirer.wrote(ttl, rq.objects, rq.key(), revision)
	}
	rq.server.log.Add(writerecord.Write{
		Revision: revision, Time: rq.server.opts.Clock.Now(), Actor: rq.user.Name, UserAgent: rq.r.UserAgent(),
		Verb: rq.Verb, Resource: metav1.GroupVersionResource(resource), Subresource: subresource,
		Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(), Causes: rq.causes,
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
