package writeexport

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"minikcm.dev/minikcm"
)

// The annotations of audit events.
const (
	// CausesAnnotation lists the revisions whose events caused the write.
	CausesAnnotation = "minikcm.dev/causes"
	// EffectAnnotation is the annotation with the effect of the write on its object: created,
	// changed or removed.
	EffectAnnotation = "minikcm.dev/effect"
)

// Audit writes an event of audit.k8s.io/v1 for each write, a line of JSON each, as
// kube-apiserver's log backend does at the level Metadata: the record has neither groups nor
// addresses of users, nor the objects.
func Audit(w io.Writer, writes []minikcm.Write) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for i := range writes {
		if err := encoder.Encode(auditEvent(&writes[i])); err != nil {
			return fmt.Errorf("writing audit events: %w", err)
		}
	}
	return nil
}

func auditEvent(write *minikcm.Write) *auditv1.Event {
	code := int32(http.StatusOK)
	if write.Verb == "create" {
		code = http.StatusCreated
	}
	event := &auditv1.Event{
		TypeMeta:   metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Event"},
		Level:      auditv1.LevelMetadata,
		AuditID:    types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", write.Revision)),
		Stage:      auditv1.StageResponseComplete,
		RequestURI: requestURI(write),
		Verb:       write.Verb,
		User:       authenticationv1.UserInfo{Username: write.Actor},
		UserAgent:  write.UserAgent,
		ObjectRef: &auditv1.ObjectReference{
			Resource: write.Resource.Resource, Subresource: write.Subresource, Namespace: write.Namespace, Name: write.Name, UID: write.UID,
			APIGroup: write.Resource.Group, APIVersion: write.Resource.Version, ResourceVersion: strconv.FormatInt(write.Revision, 10),
		},
		ResponseStatus:           &metav1.Status{Code: code},
		RequestReceivedTimestamp: metav1.NewMicroTime(write.Time.UTC()),
		StageTimestamp:           metav1.NewMicroTime(write.Time.UTC()),
		Annotations:              map[string]string{},
	}
	if len(write.Causes) > 0 {
		event.Annotations[CausesAnnotation] = revisions(write.Causes)
	}
	if write.Effect != "" {
		event.Annotations[EffectAnnotation] = string(write.Effect)
	}
	return event
}

// requestURI returns the path of the write's request.
func requestURI(write *minikcm.Write) string {
	var path []string
	if write.Resource.Group == "" {
		path = []string{"", "api", write.Resource.Version}
	} else {
		path = []string{"", "apis", write.Resource.Group, write.Resource.Version}
	}
	if write.Namespace != "" {
		path = append(path, "namespaces", write.Namespace)
	}
	path = append(path, write.Resource.Resource)
	if write.Verb != "create" || write.Subresource != "" {
		path = append(path, write.Name)
	}
	if write.Subresource != "" {
		path = append(path, write.Subresource)
	}
	return strings.Join(path, "/")
}

func revisions(all []int64) string {
	texts := make([]string, len(all))
	for i, revision := range all {
		texts[i] = strconv.FormatInt(revision, 10)
	}
	return strings.Join(texts, ",")
}
