package approving

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
)

func TestDecide(t *testing.T) {
	request := func(user string, conditions ...certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequest {
		r := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
			Username: user, SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages: []certificatesv1.KeyUsage{"client auth", "digital signature"},
		}}
		for _, of := range conditions {
			r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: of})
		}
		return r
	}
	node := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:n", Organization: []string{"system:nodes"}}}
	issued, others := request("system:node:n"), request("system:node:n")
	issued.Status.Certificate = []byte("x")
	others.Spec.SignerName = certificatesv1.KubeAPIServerClientSignerName
	for name, test := range map[string]struct {
		request *certificatesv1.CertificateSigningRequest
		parsed  *x509.CertificateRequest
		want    []string
	}{
		"a node for itself":        {request("system:node:n"), node, []string{"selfnodeclient", "nodeclient"}},
		"another for a node":       {request("system:bootstrap:abc"), node, []string{"nodeclient"}},
		"approved":                 {request("system:node:n", "Approved"), node, nil},
		"denied":                   {request("system:node:n", "Denied"), node, nil},
		"issued":                   {issued, node, nil},
		"to another signer":        {others, node, nil},
		"what is no node's":        {request("jane"), &x509.CertificateRequest{Subject: pkix.Name{CommonName: "jane"}}, nil},
		"a failure decides not so": {request("system:node:n", "Failed"), node, []string{"selfnodeclient", "nodeclient"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, permission := range Decide(test.request, test.parsed) {
				got = append(got, permission.Subresource)
				if permission.Message == "" {
					t.Error("it says nothing")
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
