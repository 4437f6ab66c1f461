package apiserver

import (
	"encoding/json"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/writerecord"
	"minikcm.dev/minikcm/store"
)

// serveWrites serves GET /minikcm/v1/writes: the write record as one JSON array, in the order
// of revisions. The parameters since (the writes that a reader of that revision may have missed: Log.Since),
// resource (the plural name), namespace and name filter it.
func (s *Server) serveWrites(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	since := int64(0)
	if text := query.Get("since"); text != "" {
		var err error
		if since, err = strconv.ParseInt(text, 10, 64); err != nil || since < 0 {
			response.Error(w, r, apierrors.NewBadRequest("since must be a revision, a number that is not negative: "+strconv.Quote(text)))
			return
		}
	}
	fits := func(parameter, value string) bool {
		wanted := query.Get(parameter)
		return wanted == "" || wanted == value
	}
	writes := s.log.Since(since, func(write *writerecord.Write) bool {
		return fits("resource", write.Resource.Resource) &&
			fits("namespace", write.Namespace) && fits("name", write.Name)
	})
	if writes == nil {
		writes = []writerecord.Write{}
	}
	data, err := json.Marshal(writes)
	if err != nil {
		response.Error(w, r, err)
		return
	}
	response.Bytes(w, r, http.StatusOK, "application/json", append(data, '\n'))
}

// serveRevisions serves GET /minikcm/v1/revisions: the oldest and the newest revision at which objects
// can be listed.
func (s *Server) serveRevisions(w http.ResponseWriter, r *http.Request) {
	oldest, newest, err := store.Oldest(r.Context(), s.opts.Store)
	if err != nil {
		response.Error(w, r, storage.Translate(err, schema.GroupResource{}, ""))
		return
	}
	data, err := json.Marshal(map[string]int64{"oldest": oldest, "newest": newest})
	if err != nil {
		response.Error(w, r, err)
		return
	}
	response.Bytes(w, r, http.StatusOK, "application/json", append(data, '\n'))
}

// serveRefusals serves GET /minikcm/v1/refusals: the requests that were refused as one JSON array, those
// of the first refusals first. The parameters resource (the plural name), namespace, name and user
// filter it.
func (s *Server) serveRefusals(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	fits := func(parameter, value string) bool {
		wanted := query.Get(parameter)
		return wanted == "" || wanted == value
	}
	refusals := s.log.Refusals().All(func(refusal *writerecord.Refusal) bool {
		return fits("resource", refusal.Resource.Resource) && fits("namespace", refusal.Namespace) && fits("name", refusal.Name) && fits("user", refusal.Actor)
	})
	if refusals == nil {
		refusals = []writerecord.Refusal{}
	}
	data, err := json.Marshal(refusals)
	if err != nil {
		response.Error(w, r, err)
		return
	}
	response.Bytes(w, r, http.StatusOK, "application/json", append(data, '\n'))
}
