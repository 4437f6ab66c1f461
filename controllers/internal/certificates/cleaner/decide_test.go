package cleaner

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
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

// TestExpired checks that a request is deleted when its certificate expires by the
// machine's time.
func TestExpired(t *testing.T) {
	noon := time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)
	machine := noon.Add(100 * 24 * time.Hour)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: machine.Add(10 * time.Minute)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	r := &certificatesv1.CertificateSigningRequest{Status: certificatesv1.CertificateSigningRequestStatus{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Conditions:  []certificatesv1.CertificateSigningRequestCondition{{Type: "Approved", LastUpdateTime: metav1.NewTime(noon)}},
	}}
	if goes, ok := Decide(r, noon, machine); !ok || !goes.Equal(noon.Add(10*time.Minute)) {
		t.Errorf("%v, %v", goes, ok)
	}
}
