package cleaner

import (
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDecide(t *testing.T) {
	noon := time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)
	with := func(certificate string, of certificatesv1.RequestConditionType, updated time.Time) *certificatesv1.CertificateSigningRequest {
		r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon)}}
		r.Status.Certificate = []byte(certificate)
		if of != "" {
			r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: of, LastUpdateTime: metav1.NewTime(updated)}}
		}
		return r
	}
	later := noon.Add(30 * time.Minute)
	for name, test := range map[string]struct {
		request *certificatesv1.CertificateSigningRequest
		want    time.Time
	}{
		"pending":       {with("", "", noon), noon.Add(24 * time.Hour)},
		"approved":      {with("", "Approved", later), later.Add(24 * time.Hour)},
		"issued":        {with("x", "Approved", later), later.Add(time.Hour)},
		"denied":        {with("", "Denied", later), later.Add(time.Hour)},
		"failed":        {with("", "Failed", later), later.Add(time.Hour)},
		"at no time":    {with("", "Denied", time.Time{}), time.Time{}},
		"what is that?": {with("", "Other", later), time.Time{}},
	} {
		goes, ok := Decide(test.request, noon, noon)
		if ok == test.want.IsZero() || !goes.Equal(test.want) {
			t.Errorf("%s: %v, %v", name, goes, ok)
		}
	}
}
