package request

import (
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver/internal/response"
)

// DedupOwners removes duplicate owner references and warns the client.
func (rq *Request) DedupOwners(m metav1.Object) {
	refs := m.GetOwnerReferences()
	if len(refs) < 2 {
		return
	}
	var kept []metav1.OwnerReference
	var duplicates []string
	for _, ref := range refs {
		if containsOwner(kept, ref) {
			duplicates = append(duplicates, string(ref.UID))
			continue
		}
		kept = append(kept, ref)
	}
	if len(duplicates) == 0 {
		return
	}
	m.SetOwnerReferences(kept)
	response.Warn(rq.Writer, ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "+strings.Join(duplicates, ", "))
}

func containsOwner(refs []metav1.OwnerReference, ref metav1.OwnerReference) bool {
	for i := range refs {
		if refs[i].UID == ref.UID && apiequality.Semantic.DeepEqual(refs[i], ref) {
			return true
		}
	}
	return false
}
