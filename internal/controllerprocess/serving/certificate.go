package serving

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// pairName is upstream's base name of the files in --cert-dir.
const pairName = "kube-controller-manager"

// certificate returns the serving certificate and the controller that keeps it up to date
// (nil: the certificate does not change).
func (o *Options) certificate() (dynamiccertificates.CertKeyContentProvider, dynamiccertificates.ControllerRunner, error) {
	certFile, keyFile := o.CertFile, o.KeyFile
	if certFile == "" && o.CertDir == "" {
		cert, key, err := o.selfSigned()
		if err != nil {
			return nil, nil, err
		}
		static, err := dynamiccertificates.NewStaticCertKeyContent("self-signed", cert, key)
		return static, nil, err
	}
	if certFile == "" {
		certFile, keyFile = filepath.Join(o.CertDir, pairName+".crt"), filepath.Join(o.CertDir, pairName+".key")
		if err := o.ensurePair(certFile, keyFile); err != nil {
			return nil, nil, err
		}
	}
	files, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving-cert", certFile, keyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the certificate to serve with: %w", err)
	}
	return files, files, nil
}

func (o *Options) selfSigned() (cert, key []byte, err error) {
	ip := net.ParseIP(o.BindAddress)
	if ip == nil || ip.IsUnspecified() {
		ip = net.IPv4(127, 0, 0, 1)
	}
	if cert, key, err = certutil.GenerateSelfSignedCertKey(ip.String(), nil, []string{"localhost", "kubernetes.default.svc"}); err != nil {
		return nil, nil, fmt.Errorf("making a certificate to serve with: %w", err)
	}
	return cert, key, nil
}

// ensurePair creates the files unless they exist and can be read.
func (o *Options) ensurePair(certFile, keyFile string) error {
	if there, err := certutil.CanReadCertAndKey(certFile, keyFile); there || err != nil {
		return err
	}
	cert, key, err := o.selfSigned()
	if err != nil {
		return err
	}
	if err := certutil.WriteCert(certFile, cert); err != nil {
		return fmt.Errorf("writing the self-signed certificate: %w", err)
	}
	if err := keyutil.WriteKey(keyFile, key); err != nil {
		return fmt.Errorf("writing the key of the self-signed certificate: %w", err)
	}
	return os.Chmod(keyFile, 0o600)
}
