package containers

import (
	"encoding/json"
	"net/http"

	"minikcm.dev/minikcm/kubeletsim/internal/responses"
)

// maxReviewBytes limits a review: two objects of the size of a request, or a list of objects.
const maxReviewBytes = 16 << 20

// review has the fields of an AdmissionReview or a ConversionReview, of any version, on which an answer depends.
type review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Request    *struct {
		UID               string                       `json:"uid"`
		DesiredAPIVersion string                       `json:"desiredAPIVersion"`
		Objects           []map[string]json.RawMessage `json:"objects"`
	} `json:"request"`
}

// serveReview answers a review of the API server.
func serveReview(w http.ResponseWriter, r *http.Request, a responses.HTTP) {
	kind := "AdmissionReview"
	if a.Review == responses.Convert {
		kind = "ConversionReview"
	}
	var asked review
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReviewBytes)).Decode(&asked)
	if err != nil || asked.Kind != kind || asked.Request == nil {
		article := "an "
		if a.Review == responses.Convert {
			article = "a "
		}
		http.Error(w, "the body is not "+article+kind+" with a request", http.StatusBadRequest)
		return
	}
	type object = map[string]any
	answer := object{"uid": asked.Request.UID}
	switch a.Review {
	case responses.Allow:
		answer["allowed"] = true
	case responses.Deny:
		answer["allowed"], answer["status"] = false, object{"code": http.StatusForbidden, "message": a.Body}
	case responses.Patch:
		answer["allowed"], answer["patchType"], answer["patch"] = true, "JSONPatch", []byte(a.Body)
	case responses.Convert:
		answer["convertedObjects"], answer["result"] = converted(&asked), object{"status": "Success"}
	}
	w.Header().Set("Content-Type", "application/json")
	// It fails only if the client is gone.
	_ = json.NewEncoder(w).Encode(object{"apiVersion": asked.APIVersion, "kind": asked.Kind, "response": answer})
}

// converted returns the objects of a ConversionReview in the version that is asked for. Nothing else changes.
func converted(asked *review) []map[string]json.RawMessage {
	version, err := json.Marshal(asked.Request.DesiredAPIVersion)
	if err != nil {
		return nil // a string has no error
	}
	for _, object := range asked.Request.Objects {
		if object != nil {
			object["apiVersion"] = version
		}
	}
	return asked.Request.Objects
}
