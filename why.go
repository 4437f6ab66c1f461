package minikcm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"minikcm.dev/minikcm/internal/writerecord"
)

// whyPath serves explanations of objects.
const whyPath = ownPath + "/why"

// Why explains an object: why it is not as expected now, and the chain of causes of its
// writes back to the first one. The error is a *NeverWrittenError if the object does
// not exist and the record has none of its writes.
func (c *Cluster) Why(ctx context.Context, query Query) (*Explanation, error) {
	log := c.Writes()
	forgotten := log.Forgotten()
	explanation, err := writerecord.Explain(log.Writes(nil), forgotten, query)
	var never *NeverWrittenError
	if err != nil && !errors.As(err, &never) {
		return nil, err
	}
	object, report, err := c.reasons(ctx, query)
	switch {
	case err == nil && never != nil:
		explanation = unwritten(object, never)
	case apierrors.IsNotFound(err) && never != nil:
		never.Absent = true
		never.Refuse(log.Refusals().All(nil))
		c.suggest(query, never)
		return nil, never
	case never != nil:
		return nil, err
	}
	explanation.Refuse(log.Refusals().All(nil), query)
	if err != nil { // the write record is enough
		return explanation, nil
	}
	explanation.Now = report
	return explanation, nil
}

// unwritten explains an existing object of which the record has no write.
func unwritten(o *unstructured.Unstructured, never *NeverWrittenError) *Explanation {
	return &Explanation{
		Object: Write{
			Resource: metav1.GroupVersionResource{Group: o.GroupVersionKind().Group, Version: o.GroupVersionKind().Version, Resource: never.Query.Resource},
			Kind:     o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
		},
		Since: never.Since, Forgotten: never.Forgotten,
	}
}

// suggest adds the existing objects of the kind to the error.
func (c *Cluster) suggest(query Query, never *NeverWrittenError) {
	for held := range c.server.Held("") {
		if query.Group != "" && query.Group != held.Kind.Group || query.Resource != "" && query.Resource != held.Resource || query.Resource == "" && query.Kind != held.Kind.Kind {
			continue
		}
		if m, err := meta.Accessor(held.Object); err == nil {
			never.Suggest(m.GetNamespace(), m.GetName())
		}
	}
}

// serveWhy serves GET /minikcm/v1/why?resource=pods&namespace=default&name=web: an
// Explanation in JSON. The parameters group and kind select further. The response is 404
// for an object that Why does not find.
func (c *Cluster) serveWhy(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	q := Query{
		Group: query.Get("group"), Resource: query.Get("resource"), Kind: query.Get("kind"),
		Namespace: query.Get("namespace"), Name: query.Get("name"),
	}
	if q.Name == "" || q.Resource == "" && q.Kind == "" {
		answerStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, q, "name, and one of resource and kind, must be given: they say what to explain")
		return
	}
	explanation, err := c.Why(r.Context(), q)
	var never *NeverWrittenError
	switch {
	case errors.As(err, &never):
		answerStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, q, err.Error())
	case err != nil:
		answerStatus(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, q, err.Error())
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(explanation) // fails only if the client is gone
	}
}

// answerStatus responds with a Status, which every client can print.
func answerStatus(w http.ResponseWriter, code int, reason metav1.StatusReason, q Query, message string) {
	writeStatus(w, &metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Group: q.Group, Kind: q.Resource, Name: q.Name},
	})
}

func writeStatus(w http.ResponseWriter, status *metav1.Status) {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status) // fails only if the client is gone
}
