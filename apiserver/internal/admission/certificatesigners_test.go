package admission

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/internal/auth"
)

// signerRights is an Authorizer that allows a list of "verb signer".
type signerRights []string

func (r signerRights) Authorize(_ context.Context, a auth.Attributes) (auth.Decision, string, error) {
	for _, allowed := range r {
		if a.Plural == "signers" && a.Group == "certificates.k8s.io" && allowed == a.Verb+" "+a.Name {
			return auth.Allow, "", nil
		}
	}
	return auth.NoOpinion, "", nil
}

func (signerRights) RulesFor(context.Context, *auth.User, string) (auth.Rules, error) {
	return auth.Rules{}, nil
}

func TestCertificateSigners(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request := func(signer string, groups ...string) *certificatesv1.CertificateSigningRequest {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "x", Organization: groups}}, key)
		if err != nil {
			t.Fatal(err)
		}
		r := &certificatesv1.CertificateSigningRequest{}
		r.Spec.SignerName, r.Spec.Request = signer, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
		return r
	}
	pending, issued := request("example.com/a"), request("example.com/a")
	issued.Status.Certificate = []byte("x")
	const client = certificatesv1.KubeAPIServerClientSignerName
	for name, test := range map[string]struct {
		rights  signerRights
		op      Operation
		sub     string
		now     *certificatesv1.CertificateSigningRequest
		before  *certificatesv1.CertificateSigningRequest
		refusal string
	}{
		"approve":               {signerRights{"approve example.com/a"}, Update, "approval", pending, pending, ""},
		"approve a domain":      {signerRights{"approve example.com/*"}, Update, "approval", pending, pending, ""},
		"approve another's":     {signerRights{"approve example.com/b", "sign example.com/a"}, Update, "approval", pending, pending, `user not permitted to approve requests with signerName "example.com/a"`},
		"sign":                  {signerRights{"sign example.com/a"}, Update, "status", issued, pending, ""},
		"sign without leave":    {signerRights{"approve example.com/a"}, Update, "status", issued, pending, `user not permitted to sign requests with signerName "example.com/a"`},
		"status as it was":      {nil, Update, "status", issued, issued, ""},
		"metadata":              {nil, Update, "", issued, pending, ""},
		"ask":                   {nil, Create, "", request(client, "dev"), nil, ""},
		"ask for everything":    {nil, Create, "", request(client, "dev", "system:masters"), nil, "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"},
		"of another signer":     {nil, Create, "", request("example.com/a", "system:masters"), nil, ""},
		"what cannot be parsed": {nil, Create, "", &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: client, Request: []byte("x")}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := &Attributes{
				Operation: test.op, Subresource: test.sub, Name: "r", User: &auth.User{Name: "jane"}, Object: test.now,
				Resource: &resources.Resource{GroupVersionKind: certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), Plural: "certificatesigningrequests"},
			}
			if test.before != nil {
				a.Old = test.before
			}
			err := NewChain(CertificateApproval{test.rights}, CertificateSigning{test.rights}, CertificateSubjectRestriction{}).Check(t.Context(), a)
			if test.refusal == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), "is forbidden: "+test.refusal) {
				t.Errorf("%v", err)
			}
		})
	}
}
