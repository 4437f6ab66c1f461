package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	caValidity   = 10 * 365 * 24 * time.Hour
	leafValidity = 365 * 24 * time.Hour
	// clockSkew is how long before its issue a certificate becomes valid.
	clockSkew = time.Hour
)

// KeyPair is a certificate and its private key.
type KeyPair struct {
	Certificate *x509.Certificate
	Key         *ecdsa.PrivateKey
}

// Authority is the cluster's certificate authority. Other programs check certificates
// against real time, so their dates are real time, whatever clock the cluster runs on.
type Authority struct {
	KeyPair
	now time.Time
}

// NewAuthority returns an authority with a new key. now is real time.
func NewAuthority(commonName string, now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the certificate authority's key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: commonName},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(caValidity),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		DNSNames:              []string{commonName},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{KeyPair: KeyPair{cert, key}, now: now}, nil
}

// LoadAuthority reads an authority that was saved in PEM.
func LoadAuthority(certPEM, keyPEM []byte, now time.Time) (*Authority, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority: %w", err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("reading the certificate authority: the key is a %T, not ECDSA", pair.PrivateKey)
	}
	return &Authority{KeyPair: KeyPair{pair.Leaf, key}, now: now}, nil
}

// Server issues a serving certificate for hosts (names and addresses).
func (a *Authority) Server(hosts ...string) (*KeyPair, error) {
	template := a.leaf(pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageServerAuth)
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.sign(template)
}

// Client issues a client certificate for a user with groups.
func (a *Authority) Client(user string, groups ...string) (*KeyPair, error) {
	return a.sign(a.leaf(pkix.Name{CommonName: user, Organization: groups}, x509.ExtKeyUsageClientAuth))
}

func (a *Authority) leaf(subject pkix.Name, usage x509.ExtKeyUsage) *x509.Certificate {
	return &x509.Certificate{
		Subject:     subject,
		NotBefore:   a.now.Add(-clockSkew),
		NotAfter:    a.now.Add(leafValidity),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
}

func (a *Authority) sign(template *x509.Certificate) (*KeyPair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 63))
	if err != nil {
		return nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	template.SerialNumber = serial
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the key of %s: %w", template.Subject.CommonName, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.Certificate, key.Public(), a.Key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", template.Subject.CommonName, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &KeyPair{cert, key}, nil
}

// CertPEM returns the certificate in PEM.
func (p *KeyPair) CertPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate.Raw})
}

// KeyPEM returns the private key in PEM.
func (p *KeyPair) KeyPEM() ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(p.Key)
	if err != nil {
		return nil, fmt.Errorf("encoding the key of %s: %w", p.Certificate.Subject.CommonName, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// TLS converts the pair for crypto/tls.
func (p *KeyPair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.Certificate.Raw}, PrivateKey: p.Key, Leaf: p.Certificate}
}
