package reasons_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"minikcm.dev/minikcm/internal/reasons"
)

// FuzzOf checks that the answer about any object is short.
func FuzzOf(f *testing.F) {
	f.Add([]byte(`{"kind":"Pod","metadata":{"name":"a","uid":"u"},"status":{"conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"state":{"waiting":{}}}]}}`))
	f.Add([]byte(`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"deletionTimestamp":7,"finalizers":"a"},"spec":{"replicas":"x"},"status":[1]}`))
	f.Add([]byte(`{"kind":"PodDisruptionBudget","apiVersion":"policy/v1","spec":{"selector":{"matchExpressions":[{"operator":"?"}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := &unstructured.Unstructured{}
		if json.Unmarshal(data, &o.Object) != nil || o.Object == nil {
			return
		}
		index := reasons.NewIndex()
		index.Add(o.GroupVersionKind(), o)
		for _, report := range []reasons.Report{reasons.Of(index.Subject(o)), reasons.Present(index.Subject(o))} {
			if len(report.Lines()) > 5 {
				t.Errorf("%d lines", len(report.Lines()))
			}
			for _, r := range report.Reasons {
				if utf8.RuneCountInString(r.Message) > 300 {
					t.Errorf("a message of %d characters", len(r.Message))
				}
			}
		}
	})
}
