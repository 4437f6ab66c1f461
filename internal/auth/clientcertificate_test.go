package auth

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
)

func TestClientCertificates(t *testing.T) {
	now := clock.Real().Now()
	authority, err := NewAuthority("test", now)
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewAuthority("other", now)
	if err != nil {
		t.Fatal(err)
	}
	uid := pkix.Name{CommonName: "jane", ExtraNames: []pkix.AttributeTypeAndValue{{Type: uidType(), Value: "7"}}}
	two := uid
	two.ExtraNames = append(two.ExtraNames, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}, Value: "8"})
	for name, test := range map[string]struct {
		by      *Authority
		change  func(template *x509.Certificate)
		user    string
		uid     string
		refused bool
	}{
		"ours":       {by: authority, user: "jane"},
		"another's":  {by: other, refused: true},
		"expired":    {by: authority, change: func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Minute) }, refused: true},
		"a server's": {by: authority, change: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }, refused: true},
		"nameless":   {by: authority, change: func(c *x509.Certificate) { c.Subject = pkix.Name{} }},
		"with a UID": {by: authority, change: func(c *x509.Certificate) { c.Subject = uid }, user: "jane", uid: "7"},
		"with two":   {by: authority, change: func(c *x509.Certificate) { c.Subject = two }, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			template := test.by.leaf(pkix.Name{CommonName: "jane", Organization: []string{"dev"}}, x509.ExtKeyUsageClientAuth)
			if test.change != nil {
				test.change(template)
			}
			pair, err := test.by.sign(template)
			if err != nil {
				t.Fatal(err)
			}
			certificates := NewClientCertificates(authority)
			state := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{pair.Certificate}}
			for range 2 { // the second time it is cached
				got, err := certificates.User(state)
				switch {
				case (err != nil) != test.refused:
					t.Fatalf("%v, %v", got, err)
				case (got == nil) != (test.user == ""):
					t.Fatalf("it is of %v", got)
				case got != nil && (got.Name != test.user || got.UID != test.uid):
					t.Errorf("it is of %v", got)
				}
			}
		})
	}
	if got, err := NewClientCertificates(authority).User(&tls.ConnectionState{}); got != nil || err != nil {
		t.Errorf("none: %v, %v", got, err)
	}
}
