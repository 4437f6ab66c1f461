package minikcm

import (
	"encoding/json"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver/record"
)

// whyPath is where objects are explained.
const whyPath = ownPath + "/why"

// Why follows the causes of an object's writes back to where they began. The error is
// a *record.NeverWrittenError if the record has none of them.
func (c *Cluster) Why(query Query) (*Explanation, error) {
	log := c.Writes()
	forgotten := log.Forgotten()
	return record.Explain(log.Writes(nil), forgotten, query)
}

// serveWhy answers GET /minikcm/v1/why?resource=pods&namespace=default&name=web with
// an Explanation in JSON; group and kind narrow it, too. An object of which the
// record has no write is not found.
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
	explanation, err := c.Why(q)
	var never *record.NeverWrittenError
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

// answerStatus answers as the API does, so that every client can tell its user.
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
