package box

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/network/secure"
)

// signed returns a certificate for web that is valid for an hour of the cluster's time, and the one of its authority; own: it signs itself.
func signed(t *testing.T, own bool) (cert *tls.Certificate, authority string) {
	t.Helper()
	begin := time.Unix(1e9, 0)
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: begin, NotAfter: begin.Add(1e6 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "x"}, DNSNames: []string{"web"}, NotBefore: begin.Add(-time.Minute), NotAfter: begin.Add(time.Hour)}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		t.Fatal(err)
	}
	parent, key := ca, caKey
	if own {
		parent = leaf
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, parent, key.Public(), caKey)
	if err != nil {
		t.Fatal(err)
	}
	if own {
		caDER = der
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}))
}

// wget is BusyBox 1.35's: it verifies nothing, and says so. Texts and codes of curl 7.88 were compared, except the second line of
// "how to fix it", which later versions spell otherwise, and the errors of a handshake, which are OpenSSL 3.5's.
func TestTLSPrograms(t *testing.T) {
	const note = "wget: note: TLS certificate validation not implemented\n"
	cert, authority := signed(t, false)
	lone, own := signed(t, true)
	trust := "cat > /ca.pem <<'END'\n" + authority + "END\n"
	for _, c := range []struct {
		name, script string
		cert         *tls.Certificate
		certErr      error
		out, err     string
		code         int
	}{
		{name: "curl -k", script: "curl -sk https://web:80/a", cert: cert, out: "GET /a\n"},
		{name: "a trusted authority", script: trust + "curl -s --cacert /ca.pem https://web:80/a", cert: cert, out: "GET /a\n"},
		{name: "the environment", script: trust + "SSL_CERT_FILE=/ca.pem curl -s https://web:80/a", cert: cert, out: "GET /a\n"},
		{name: "the image's authorities", script: trust + "mkdir -p /etc/ssl/certs; cp /ca.pem /etc/ssl/certs/ca-certificates.crt; curl -s https://web:80/a", cert: cert, out: "GET /a\n"},
		{name: "curl -k of an unknown authority", script: "curl -sko /dev/null -w '%{ssl_verify_result}' https://web:80/", cert: cert, out: "20"},
		{name: "the result of the check", script: "curl -so /dev/null -w '%{ssl_verify_result}' https://web:80/", cert: lone, code: 60, out: "18"},
		{name: "an unknown authority", script: "curl -sS https://web:80/", cert: cert, code: 60, err: "curl: (60) SSL certificate problem: unable to get local issuer certificate" + distrust + "\n"},
		{name: "no authority", script: "curl -sS https://web:80/", cert: lone, code: 60, err: "curl: (60) SSL certificate problem: self-signed certificate" + distrust + "\n"},
		{name: "a trusted one of its own", script: "cat > /own.pem <<'END'\n" + own + "END\ncurl -s --cacert /own.pem https://web:80/", cert: lone, out: "GET /\n"},
		{name: "another name", script: trust + "curl -sS --cacert /ca.pem https://web.default:80/", cert: cert, code: 60, err: "curl: (60) SSL: no alternative certificate subject name matches target host name 'web.default'" + distrust + "\n"},
		{name: "expired", script: trust + "sleep 4000; curl -sS --cacert /ca.pem https://web:80/", cert: cert, code: 60, err: "curl: (60) SSL certificate problem: certificate has expired" + distrust + "\n"},
		{name: "no file", script: "echo > /none; curl -sS --cacert /none https://web:80/", cert: cert, code: 77, err: "curl: (77) error setting certificate file: /none\n"},
		{name: "no TLS", script: "curl -sS https://web:80/", certErr: secure.ErrPlain, code: 35, err: "curl: (35) TLS connect error: error:0A0000C6:SSL routines::packet length too long\n"},
		{name: "no certificate", script: "curl -k -sS https://web:80/", certErr: secure.ErrNoCertificate, code: 35, err: "curl: (35) TLS connect error: error:0A000438:SSL routines::tlsv1 alert internal error\n"},
		{name: "an unknown server", script: "curl -sS https://web:80/", out: "GET /\n"},
		{name: "wget", script: "wget -qO- https://web:80/", cert: lone, out: "GET /\n", err: note},
		{name: "wget that does not check", script: "wget --no-check-certificate -qO- https://web:80/", cert: lone, out: "GET /\n"},
		{name: "wget without TLS", script: "wget -qO- https://web:80/ 2>&1 | grep -v '^wget: got\\|^ 48\\|^48'; exit 1", certErr: secure.ErrPlain, code: 1, out: note + "wget: error getting response: Connection reset by peer\n"},
	} {
		n := newFakeNetwork()
		n.certificate, n.certErr = c.cert, c.certErr
		out, errOut, code := runOn(t, n, true, c.script)
		if out != c.out || errOut != c.err || code != c.code {
			t.Errorf("%s: wrote %q and %q and exited with %d, want %q, %q and %d", c.name, out, errOut, code, c.out, c.err, c.code)
		}
	}
}
