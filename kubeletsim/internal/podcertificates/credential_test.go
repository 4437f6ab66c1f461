package podcertificates

import (
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOf(t *testing.T) {
	source := corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{SignerName: "x.test/s"}}
	token := corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}
	projected := func(sources ...corev1.VolumeProjection) corev1.VolumeSource {
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{
		{Name: "a", VolumeSource: projected(token, source)}, {Name: "b"}, {Name: "c", VolumeSource: projected(source)},
	}}}
	all := Of(pod)
	if len(all) != 2 || all[0].Volume != "a" || all[0].Index != 1 || all[1].Volume != "c" || all[1].Index != 0 {
		t.Errorf("the credentials are %+v", all)
	}
}

// A request that does not exist is abandoned after some time, and another one is due.
func TestDeletedRequest(t *testing.T) {
	begin := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	c := &Credential{}
	if due, _ := c.Due(begin); !due {
		t.Error("no request is due at first")
	}
	c.Requested("req-a", nil, begin)
	if due, _ := c.Due(begin); due {
		t.Error("a request is due beside the open one")
	}
	if again := c.Missing(begin.Add(time.Minute)); !again.Equal(begin.Add(abandonAfter)) || c.Open() != "req-a" {
		t.Errorf("it is looked for again at %v, open is %q", again, c.Open())
	}
	c.Missing(begin.Add(abandonAfter))
	if due, _ := c.Due(begin.Add(abandonAfter)); !due || c.Open() != "" {
		t.Error("the request is not abandoned")
	}
}

// A failed refresh is final: the certificate is not mounted any more.
func TestFailedRefresh(t *testing.T) {
	begin := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: begin.Add(d)} }
	result := func(of string) *certificatesv1.PodCertificateRequest {
		return &certificatesv1.PodCertificateRequest{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "r"},
			Status: certificatesv1.PodCertificateRequestStatus{
				Conditions:     []metav1.Condition{{Type: of, Reason: "Because", Message: "of it"}},
				BeginRefreshAt: at(time.Hour), NotAfter: at(2 * time.Hour),
			},
		}
	}
	c := &Credential{}
	c.Requested("req-a", []byte("key"), begin)
	if events := c.Observe(result(certificatesv1.PodCertificateRequestConditionTypeIssued), time.Minute); len(events) != 0 {
		t.Errorf("%+v", events)
	}
	if key, _, err := c.Bundle(); err != nil || string(key) != "key" {
		t.Errorf("the key is %q, %v", key, err)
	}
	if due, when := c.Due(begin); due || !when.Equal(begin.Add(61*time.Minute)) {
		t.Errorf("it is refreshed at %v", when)
	}
	c.Requested("req-b", nil, begin.Add(time.Hour))
	events := c.Observe(result(certificatesv1.PodCertificateRequestConditionTypeFailed), 0)
	if len(events) != 1 || events[0].Reason != "Failed" || events[0].Message != `PodCertificateRequest n/r failed, reason="Because", message="of it"` {
		t.Errorf("%+v", events)
	}
	if _, _, err := c.Bundle(); err == nil || err.Error() != `PodCertificateRequest was permanently failed: reason="Because" message="of it"` {
		t.Error(err)
	}
	if due, when := c.Due(begin.Add(3 * time.Hour)); due || !when.IsZero() {
		t.Error("another request is due")
	}
}
